//! Which other split pattern would give half as many tokens for the texts of a script.
//!
//! A token never crosses the border of a pre-token, so a pattern that cuts words apart keeps a vocabulary of any size from
//! learning them: GPT-2's ends a run of letters at each vowel sign of Devanagari.

use super::usage::script_of_letter;
use crate::error::TokenizerError;
use crate::file::pattern::{NAMED_PATTERNS, PretokenPattern};
use crate::train::{
    PretokenCounter, PretokenTable, TrainOptions, pretokenizer_file, tokens_by_group, train,
};
use model::show;
use model::{Context, NoProgress};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

/// Bytes of a script's texts below which nothing is said of it.
const LEAST_BYTES: usize = 8 << 10;
/// Bytes of a script's texts that are looked at: more would say the same, and take as long as a small training.
const MOST_BYTES: usize = 64 << 10;

/// A split pattern by which the texts of a script are at most half as many tokens as by the one that was trained with.
///
/// Both were measured: with either pattern, and all other options alike, a tokenizer was trained on a sample of these
/// texts alone, and the sample encoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PatternHint {
    /// The script, by its name in Unicode: that of most letters of each of the texts.
    pub script: String,
    /// Bytes of the texts that were sampled.
    pub bytes: u64,
    /// The name of the pattern.
    pub pattern: String,
    /// Bytes of text for a token, by that pattern.
    pub bytes_per_token: f64,
    /// Bytes of text for a token, by the pattern that the tokenizer was trained with.
    pub bytes_per_token_as_trained: f64,
}

impl fmt::Display for PatternHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { script, bytes, pattern, bytes_per_token, bytes_per_token_as_trained } = self;
        write!(
            f,
            "texts in {script} would have {} bytes a token, not {}, with `pattern={pattern}` (each trained on {} of them alone)",
            show::decimals(*bytes_per_token),
            show::decimals(*bytes_per_token_as_trained),
            show::size(*bytes)
        )
    }
}

/// What other split patterns would do for the texts of each script, by the name of the script: a hint where one cuts them
/// into at most half as many pre-tokens as the pattern of the options, and a training with it needs at most half as many
/// tokens. Of several patterns it is the one with the fewest pre-tokens. The same texts give the same hints.
///
/// # Errors
/// As [`TrainOptions::check`] and [`train`].
pub fn pattern_hints(
    texts: &[String],
    options: &TrainOptions,
    context: &Context<'_>,
) -> Result<Vec<PatternHint>, TokenizerError> {
    let mut hints = Vec::new();
    let scripts = by_script(texts);
    if !options.takes_pattern() || scripts.is_empty() {
        return Ok(hints);
    }
    let alike = TrainOptions {
        alpha: 1.0,
        weights: BTreeMap::new(),
        seed_tokens: Vec::new(),
        ..options.clone()
    };
    let own = TriedPattern::new(options.pattern.clone().unwrap_or_default(), &alike)?;
    let mut known = vec![own.pattern.regex()?.to_owned()];
    let mut others = Vec::new();
    for (name, regex) in NAMED_PATTERNS {
        if !known.iter().any(|known| known == regex) {
            known.push(regex.to_owned());
            let pattern = PretokenPattern::Named(name.to_owned());
            others.push((name, TriedPattern::new(pattern, &alike)?));
        }
    }
    let quiet = context.with_progress(&NoProgress);
    for (script, texts) in scripts {
        context.check_interrupt().map_err(model::Error::from)?;
        let as_trained = own.count(&texts)?;
        let mut best: Option<(&str, &TriedPattern, PretokenTable)> = None;
        for (name, other) in &others {
            let table = other.count(&texts)?;
            // What is too long to be counted is no gain.
            let is_whole = table.skipped() <= as_trained.skipped();
            if is_whole
                && best.as_ref().is_none_or(|(.., best)| pretokens(&table) < pretokens(best))
            {
                best = Some((*name, other, table));
            }
        }
        let Some((name, other, table)) = best else { continue };
        if pretokens(&as_trained) < pretokens(&table).saturating_mul(2) {
            continue;
        }
        let (ours, theirs) = (own.tokens(&as_trained, &quiet)?, other.tokens(&table, &quiet)?);
        if theirs > 0 && ours >= theirs.saturating_mul(2) {
            let bytes: u64 = table.masses.iter().map(|mass| mass.bytes).sum();
            hints.push(PatternHint {
                script: script.to_owned(),
                bytes,
                pattern: name.to_owned(),
                bytes_per_token: bytes as f64 / theirs as f64,
                bytes_per_token_as_trained: bytes as f64 / ours as f64,
            });
        }
    }
    Ok(hints)
}

/// The texts of each script that has enough of them.
fn by_script(texts: &[String]) -> BTreeMap<&'static str, Vec<&str>> {
    let mut scripts: BTreeMap<&'static str, (usize, Vec<&str>)> = BTreeMap::new();
    for text in texts {
        if let Some(script) = main_script(text) {
            let (bytes, of_script) = scripts.entry(script).or_default();
            if *bytes < MOST_BYTES {
                of_script.push(text);
                *bytes += text.len();
            }
        }
    }
    scripts.retain(|_, (bytes, _)| *bytes >= LEAST_BYTES);
    scripts.into_iter().map(|(script, (_, texts))| (script, texts)).collect()
}

/// The script of most letters.
fn main_script(text: &str) -> Option<&'static str> {
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    let letters = text.chars().filter(|character| character.is_alphabetic());
    for script in letters.filter_map(script_of_letter) {
        *counts.entry(script.full_name()).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(script, count)| (*count, Reverse(*script))).map(|most| most.0)
}

/// A split pattern with the options of a training by it.
struct TriedPattern {
    pattern: PretokenPattern,
    options: TrainOptions,
    /// Holds no counts.
    counter: PretokenCounter,
}

impl TriedPattern {
    fn new(pattern: PretokenPattern, alike: &TrainOptions) -> Result<Self, TokenizerError> {
        let options = TrainOptions { pattern: Some(pattern.clone()), ..alike.clone() };
        // The texts were bounded, so none is to be left out.
        let counter = PretokenCounter::new(&pretokenizer_file(&options)?, 1, usize::MAX)?;
        Ok(Self { pattern, options, counter })
    }

    fn count(&self, texts: &[&str]) -> Result<PretokenTable, TokenizerError> {
        let mut counter = self.counter.empty_like();
        texts.iter().try_for_each(|text| counter.add_text(0, text))?;
        Ok(counter.finish())
    }

    /// Tokens of the texts of a table, by a tokenizer that is trained on it.
    fn tokens(&self, table: &PretokenTable, context: &Context<'_>) -> Result<u64, TokenizerError> {
        let trained = train(table, &[String::new()], &self.options, context)?;
        Ok(tokens_by_group(&trained.json, table)?.into_iter().sum())
    }
}

/// Pre-tokens of the texts of a table.
fn pretokens(table: &PretokenTable) -> u64 {
    table.groups.iter().flat_map(|group| group.values()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HINDI: &str = "अभिलेख फ़ाइलें निर्देशिका दिखाएँ नई बनाएँ संपीड़ित सूची हटाएँ वर्तमान प्रक्रिया उपयोगकर्ता \
        अनुमतियाँ बदलें किसी दूरस्थ सर्वर से प्रतिलिपि करें विवरण सहित पंक्तियाँ खोजें";
    const THAI: &str = "แสดง รายชื่อ ไฟล์ ที่ซ่อนอยู่ สร้าง ไดเรกทอรี ใหม่ ลบ ข้อมูล ทั้งหมด คัดลอก ไปยัง เซิร์ฟเวอร์ \
        เปลี่ยน สิทธิ์ ผู้ใช้ ค้นหา บรรทัด ที่ตรงกับ รูปแบบ ติดตั้ง แพ็กเกจ";
    const CHINESE: &str = "列出 当前目录 中的 所有文件 创建 压缩存档 显示 隐藏文件 复制到 远程服务器 修改 用户权限 \
        搜索 匹配的行 安装 软件包 删除 旧版本 更新 索引";
    const ENGLISH: &str = "list all files in the current directory create a compressed archive show hidden \
        files copy to remote server change permissions of user search matching lines install a package";

    /// Pages of words in an order that does not repeat.
    fn pages(words: &str, pages: u32) -> Vec<String> {
        let words: Vec<&str> = words.split_whitespace().collect();
        let mut state = 1_u64;
        let mut page = || {
            let word = |_| {
                state = model::mix64(state.wrapping_add(model::GOLDEN));
                words[usize::try_from(state % words.len() as u64).unwrap()]
            };
            (0..40).map(word).collect::<Vec<_>>().join(" ")
        };
        (0..pages).map(|_| page()).collect()
    }

    fn hints(texts: &[String], pattern: &str, vocab_size: u32) -> Vec<PatternHint> {
        let pattern = Some(PretokenPattern::parse(pattern).unwrap());
        let options = TrainOptions { vocab_size, pattern, ..TrainOptions::default() };
        pattern_hints(texts, &options, &Context::new()).unwrap()
    }

    #[test]
    fn scripts_with_marks_are_hinted_at_and_others_are_not() {
        let texts = [HINDI, THAI, CHINESE, ENGLISH].map(|words| pages(words, 60)).concat();
        let found = hints(&texts, "gpt2", 2000);
        let scripts: Vec<&str> = found.iter().map(|hint| hint.script.as_str()).collect();
        assert_eq!(scripts, ["Devanagari", "Thai"]);
        for hint in &found {
            assert_eq!(hint.pattern, "o200k");
            assert!(hint.bytes_per_token >= 2.0 * hint.bytes_per_token_as_trained, "{hint:?}");
        }
        // Every word is a token by the one, and by the other at least as many tokens as it has runs of letters or marks.
        let hindi = &found[0];
        let spaced = pages(HINDI, 60).concat();
        assert!(hindi.bytes == spaced.len() as u64, "{hindi:?}");
        let (words, runs) = (spaced_words(&spaced), runs(&spaced));
        assert!(hindi.bytes_per_token >= 0.9 * spaced.len() as f64 / words as f64, "{hindi:?}");
        assert!(hindi.bytes_per_token_as_trained <= spaced.len() as f64 / runs as f64, "{hindi:?}");
        assert!(hints(&texts, "o200k", 2000).is_empty());
        // A vocabulary that has hardly more than the bytes is no better by any pattern.
        assert_eq!(hints(&texts, "gpt2", 258), []);
    }

    fn spaced_words(text: &str) -> usize {
        text.split(' ').count()
    }

    /// Runs of letters, and of marks: what GPT-2's pattern cuts words into.
    fn runs(text: &str) -> usize {
        let words = text.split(' ').map(|word| {
            let kinds: Vec<bool> = word.chars().map(char::is_alphabetic).collect();
            kinds.chunk_by(|a, b| a == b).count()
        });
        words.sum()
    }

    #[test]
    fn few_texts_and_models_without_a_pattern_have_no_hint() {
        let pages = pages(HINDI, 60);
        assert_eq!(hints(&pages, "gpt2", 2000).len(), 1);
        assert_eq!(hints(&pages[..5], "gpt2", 2000), []);
        // As one run of letters and marks a page is too long to be counted, and has not one token.
        let run = pages[0].replace(' ', "");
        assert_eq!(hints(&[run.repeat(100)], "gpt2", 2000), []);
        let options = TrainOptions { end_of_word: true, ..TrainOptions::default() };
        assert_eq!(pattern_hints(&pages, &options, &Context::new()).unwrap(), []);
    }
}
