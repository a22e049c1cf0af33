//! Tells Chinese from Japanese in texts of Han characters alone, by frequent characters that only one of them uses.
//!
//! Chinese, Japanese and Korean are all written in Han alone in many headlines, names and lists.

use super::characters::is_letter;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use unicode_script::{Script, UnicodeScript};

/// Frequent characters of the simplified standard that no other one has (in GB 2312, not in JIS X 0208, KS X 1001 or
/// Big5).
const SIMPLIFIED: &str = concat!(
    "们这说时对过还见让给问间关开门东车长书样现头经发动进实应该两边钱买卖读语话课题电脑络视频线级组织结统计项约为爱业",
    "产义务员资费赛质购总济营报纸刘陈张杨吴郑华战军队师汉历观处难虽谁谢请认识记试调谈论议设许诉词误诚谓谱贝财责败货贵",
    "贷贸贺贾赏赖赢转轮软轻载较辆辉输达迁运远连迟选递邮邻铁银链销锁错键镇闭闻阅阳阴阵阶际陆险隐页顶顺须顾顿领颗额风飞",
    "饭饮马驶验骗鱼鲜鸟鸡鸣龙龄丝严丧丽举乌乐习乡亏亚亲亿仅仓仪众伟传伤伦伪侧侨债倾偿储兰兴养兽冈农冯冻净减凤凯击创删",
    "剧劝办劳势勋协单卢卫厅厉压厌县变叠叹吓吗启呜响哑唤围图圆场块坚坛坟坠垄垦执扩扫扬抢护拟拥择拦挡挣挤挥损换",
);
/// Frequent traditional characters that Japanese spells otherwise, or has no use for.
const TRADITIONAL: &str = concat!(
    "說對發點變當黨參雙號處將總續傳價戰權覺轉驗這們沒麼嗎呢吧你妳她您很哪啊啦氣邊條歷齊齒嚴壓戲樣樂歸殘每單圖團圍擔據",
    "擴檢歡濟滿狀獨禮稱穩纖縣繼聲聽臺舊蟲裝覽觸譯譽賴賺辦遲遷遼鄉醫釋鑄險隨隱雜靈顯餘騷驅髒鬥鹽麵",
);
/// Frequent characters in the form of Japan alone (in JIS X 0208, not in GB 2312 or Big5).
const JAPANESE: &str = concat!(
    "働児処剣剤労効勧単厳収営団囲図圏圧塁塩増壊壌売変奨嬢実寛対専帯帰庁広廃従徳徴応恵悩悪懐戦戯戸戻払択拝拠拡挙挿捜掲",
    "揺摂撃斉斎暁枠栃栄桜桟検楽槇様権歓歩歯歳歴殻毎気沢浄涙渇済渉渋渓渕満滝瀬焼犠猟獣畑畳県発砕稲穏穂穣竜粋粛経絵継続",
    "総緑縁縄縦繊聴脳臓舗舎荘薫薬蔵蛍覚覧観訳説読謡譲賛転軽辺込遅郷酔醸釈鉄鉱銭鋭録錬関闘陥険隠雑霊頼顕駄駅駆騒験髄鶏",
    "麺黒黙齢円仏辻峠匂",
);

/// By character: whether it is Japanese, else Chinese.
static STANDARDS: LazyLock<BTreeMap<char, bool>> = LazyLock::new(|| {
    let chinese = SIMPLIFIED.chars().chain(TRADITIONAL.chars()).map(|letter| (letter, false));
    chinese.chain(JAPANESE.chars().map(|letter| (letter, true))).collect()
});

/// Whether a text has characters of Han, and none of the scripts that stand beside them in one language only.
pub(super) fn is_alone(text: &str) -> bool {
    let is_beside = |script: Script| {
        matches!(script, Script::Hiragana | Script::Katakana | Script::Hangul | Script::Bopomofo)
    };
    !text
        .chars()
        .any(|letter| !letter.is_ascii() && is_letter(letter) && is_beside(letter.script()))
}

/// The language of a text in Han alone: that of most characters which one language spells so; none where there is no
/// such character, or as many of both.
pub(super) fn language(text: &str) -> Option<&'static str> {
    let (mut chinese, mut japanese) = (0_usize, 0_usize);
    for is_japanese in text.chars().filter_map(|letter| STANDARDS.get(&letter)) {
        japanese += usize::from(*is_japanese);
        chinese += usize::from(!*is_japanese);
    }
    match chinese.cmp(&japanese) {
        std::cmp::Ordering::Greater => Some("zh"),
        std::cmp::Ordering::Less => Some("ja"),
        std::cmp::Ordering::Equal => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_is_of_one_standard() {
        let all = [SIMPLIFIED, TRADITIONAL, JAPANESE].concat();
        assert!(all.chars().all(|letter| letter.script() == Script::Han));
        assert_eq!(STANDARDS.len(), all.chars().count());
        assert!(is_alone("北京大学 and more") && !is_alone("東京の空") && !is_alone("大韓민국"));
    }
}
