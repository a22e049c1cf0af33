//! Languages: their ISO codes, their stop words, and the detection of a text's language by whatlang from its prose.

use super::characters::{is_letter, is_space};
use super::han;
use super::words::words;
use model::invariant::text_part;
use std::borrow::Cow;
use std::collections::BTreeSet;
use unicode_script::{Script, UnicodeScript};

/// Bytes of prose that are examined: more changes few answers, and costs as much again.
const SAMPLE: usize = 4096;
/// One foreign letter in so many says that a text is in another language.
const LETTERS_A_STRANGER: usize = 200;

/// Codes of languages: that of ISO 639-1, then those of ISO 639-2 and 639-3, of the language that a corpus means by a
/// macrolanguage (`arb`, `cmn`, `nob`), and those that were retired (`iw`, `in`).
const CODES: &str = "af afr; ak aka; am amh; ar ara arb; az aze azj; be bel; bg bul; bn ben; ca cat; \
    cs ces cze; da dan; de deu ger; el ell gre; en eng; eo epo; es spa; et est ekk; \
    fa pes fas per; fi fin; fr fra fre; gu guj; he heb iw; hi hin; hr hrv; hu hun; \
    hy hye arm; id ind in; it ita; ja jpn; jv jav jw; ka kat geo; km khm; kn kan; ko kor; \
    la lat; lt lit; lv lav lvs; mk mkd mac; ml mal; mr mar; my mya bur; ne nep npi; \
    nl nld dut; no nob nb nor; or ori ory; pa pan; pl pol; pt por; ro ron rum mo mol; \
    ru rus; si sin; sk slk slo; sl slv; sn sna; sr srp; sv swe; ta tam; te tel; th tha; \
    tk tuk; tl tgl fil; tr tur; uk ukr; ur urd; uz uzb uzn; vi vie; yi yid ydd ji; \
    zh cmn zho chi; zu zul";

/// By language: the eight words that nearly every page of it has. Those of English are Gopher's; the others are as
/// frequent.
const STOP_WORDS: &str = "\
ar في من على أن إلى عن التي هذا
bg и на да се за от в с
ca de la i el que en per amb
cs a se na je v že to s
da og i at det er en til af
de der die und in zu den das mit
el και το να του η της με για
en the be to of and that have with
es de la que el en y los con
fa و در به از که این را با
fi ja on ei että se hän oli myös
fr de la le et les des en que
hi के में की है और से को का
hu a az és hogy nem is egy meg
id yang dan di untuk dengan ini dari dalam
it di e che la il in per con
nl de het een van en in is dat
no og i det er på til som en
pl w i na z się do to jest
pt de a o que e do da com
ro de și în la a cu pe care
ru и в не на что с по как
sr и у је да се на за од
sv och i att det som en är på
tr ve bir bu da de için ile çok
uk і в на не що до з як";

/// Half-width katakana, U+FF66 to U+FF9D, as they stand in full width.
const KATAKANA: &str = "ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン";

/// The code of ISO 639-1 of a language by its name in data: by a code of ISO 639 in any case, alone or with what tags
/// have behind it (`en-US`, `eng_Latn`, `de_AT.UTF-8`), or by a list of them, of which the first counts. None for a
/// language that is not in the table.
fn language_code(tag: &str) -> Option<&'static str> {
    let primary = tag.trim().split(|sign: char| !sign.is_ascii_alphabetic()).next()?;
    if !(2..=3).contains(&primary.len()) {
        return None;
    }
    CODES.split("; ").find_map(|codes| {
        let mut codes = codes.split(' ');
        let short = codes.clone().next()?;
        codes.any(|code| code.eq_ignore_ascii_case(primary)).then_some(short)
    })
}

/// The script that a tag names, by its code of ISO 15924 (`sr-Latn`, `srp_Cyrl`).
fn tagged_script(tag: &str) -> Option<Script> {
    let first = tag.split([',', ';', ' ', '.', '@']).find(|part| !part.is_empty())?;
    first.split(['-', '_']).skip(1).filter(|part| part.len() == 4).find_map(|part| {
        let mut name = part.to_ascii_lowercase();
        name.get_mut(..1)?.make_ascii_uppercase();
        Script::from_short_name(&name)
    })
}

/// How many of the eight most frequent words of a language a text has, each counted once and as it is spelled; none for
/// a language without a list, or in another script than that of its list.
pub fn stopword_count(text: &str, language: &str) -> Option<u64> {
    let code = language_code(language)?;
    let list = STOP_WORDS.lines().find_map(|line| line.strip_prefix(code)?.strip_prefix(' '))?;
    let is_other = |script: Script| {
        list.chars().filter(|letter| is_letter(*letter)).all(|letter| letter.script() != script)
    };
    if tagged_script(language).is_some_and(is_other) {
        return None;
    }
    let stops: Vec<&str> = list.split(' ').collect();
    let mut found = BTreeSet::new();
    for word in words(text) {
        found.extend(stops.iter().position(|stop| *stop == word));
        if found.len() == stops.len() {
            break;
        }
    }
    Some(found.len() as u64)
}

/// The language of a text as a code of ISO 639-1, told from the first 4 KiB of its prose; none where most letters are
/// of scripts without a known language, or of Han alone without a character that one language alone spells so.
pub fn language(text: &str) -> Option<&'static str> {
    detect_language(text).map(|(language, _)| language)
}

/// How much better the language fits than the next one, 0 to 1; 1 where its script is of one language alone.
pub fn language_score(text: &str) -> Option<f64> {
    detect_language(text).map(|(_, score)| score)
}

pub(super) fn detect_language(text: &str) -> Option<(&'static str, f64)> {
    let sample = prose(text);
    let sample = if sample.is_ascii() {
        sample.contains(|letter: char| letter.is_ascii_alphabetic()).then_some(sample)?
    } else {
        without_unknown_scripts(in_usual_width(sample))?
    };
    let found = whatlang::detect(&sample)?;
    // whatlang takes all that is in Han alone for Chinese, and is sure.
    let code = match found.script() {
        whatlang::Script::Mandarin if han::is_alone(&sample) => han::language(&sample)?,
        _ => language_code(found.lang().code())?,
    };
    let strangers = match code {
        "bn" | "am" | "my" => sample.chars().filter(|letter| is_stranger(code, *letter)).count(),
        _ => 0,
    };
    let letters = || sample.chars().filter(|letter| is_letter(*letter)).count();
    if strangers > 0 && strangers * LETTERS_A_STRANGER > letters() {
        return None;
    }
    Some((code, found.confidence()))
}

/// The letters of full width as those of ASCII, and katakana of half width in full: whatlang takes both for Korean.
fn in_usual_width(sample: Cow<'_, str>) -> Cow<'_, str> {
    // All of these begin with this byte.
    const FIRST: u8 = 0xef;
    let usual = |character: char| match character {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character)
        }
        '\u{ff66}'..='\u{ff9d}' => {
            KATAKANA.chars().nth(character as usize - 0xff66).unwrap_or(character)
        }
        _ => character,
    };
    if sample.as_bytes().contains(&FIRST) { sample.chars().map(usual).collect() } else { sample }
}

/// A sample without the letters of scripts of which whatlang knows no language (it counts those of Dhivehi as Arabic);
/// none where there are as many of these as of others, or no letter at all.
fn without_unknown_scripts(sample: Cow<'_, str>) -> Option<Cow<'_, str>> {
    let is_unknown = |character: char| is_letter(character) && is_known(character) == Some(false);
    let (mut known, mut unknown) = (0_usize, 0_usize);
    for letter in sample.chars().filter(|character| is_letter(*character)) {
        match is_known(letter) {
            Some(true) => known += 1,
            Some(false) => unknown += 1,
            None => {}
        }
    }
    match unknown {
        _ if known <= unknown => None,
        0 => Some(sample),
        _ => Some(sample.replace(is_unknown, " ").into()),
    }
}

/// Whether whatlang knows a language of the script of a letter; none for letters that are of no script.
fn is_known(letter: char) -> Option<bool> {
    // Most letters are Latin or Cyrillic and need no table.
    if letter.is_ascii() || matches!(letter, '\u{c0}'..='\u{24f}' | '\u{400}'..='\u{481}') {
        return Some(true);
    }
    Some(match letter.script() {
        Script::Common | Script::Inherited | Script::Unknown => return None,
        Script::Latin | Script::Cyrillic | Script::Greek | Script::Armenian | Script::Georgian => {
            true
        }
        Script::Arabic | Script::Hebrew | Script::Ethiopic => true,
        Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul => true,
        Script::Devanagari | Script::Bengali | Script::Gurmukhi | Script::Gujarati => true,
        Script::Oriya | Script::Tamil | Script::Telugu | Script::Kannada | Script::Malayalam => {
            true
        }
        Script::Sinhala | Script::Thai | Script::Myanmar | Script::Khmer => true,
        _ => false,
    })
}

/// Whether a letter is of a script that whatlang knows by one language alone, which does not use it: Assamese beside
/// Bengali, Tigrinya beside Amharic, Shan, Mon and Karen beside Burmese.
const fn is_stranger(code: &str, letter: char) -> bool {
    match code.as_bytes() {
        b"bn" => matches!(letter, '\u{9f0}' | '\u{9f1}'),
        b"am" => matches!(letter, '\u{1250}'..='\u{125d}'),
        b"my" => {
            matches!(letter, '\u{1050}'..='\u{108f}' | '\u{a9e0}'..='\u{a9fe}' | '\u{aa60}'..='\u{aa7f}')
        }
        _ => false,
    }
}

/// The first words of a text that are prose: no code between backticks, no addresses, names of files, numbers. Where
/// there are none, its beginning.
fn prose(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut is_code = false;
    for word in words(text) {
        let ticks = word.bytes().filter(|byte| *byte == b'`').count();
        let was_code = is_code;
        is_code ^= ticks % 2 == 1;
        if was_code || ticks > 0 || !is_prose(word) {
            continue;
        }
        if out.len() + word.len() >= SAMPLE {
            if out.is_empty() {
                return head(word).into();
            }
            break;
        }
        out.push_str(word);
        out.push(' ');
    }
    if out.is_empty() { head(text.trim_start_matches(is_space)).into() } else { out.into() }
}

/// No signs nor digits of ASCII in it, those at the ends aside.
fn is_prose(word: &str) -> bool {
    let core = word.trim_matches(|character: char| !character.is_alphanumeric());
    let of_prose =
        |byte: u8| !byte.is_ascii() || byte.is_ascii_alphabetic() || b"-',".contains(&byte);
    !core.is_empty() && core.bytes().all(of_prose)
}

fn head(text: &str) -> &str {
    text_part(text, ..text.floor_char_boundary(SAMPLE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_of_the_detector_has_its_short_code() {
        for language in whatlang::Lang::all() {
            let short = language_code(language.code());
            assert!(short.is_some_and(|short| short.len() == 2), "{language}");
        }
        let mut codes: Vec<&str> =
            CODES.split([';', ' ']).filter(|code| !code.is_empty()).collect();
        let all = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), all, "a code names one language");
        for line in STOP_WORDS.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(words.len(), 9, "{line}");
            assert_eq!(language_code(words[0]), Some(words[0]));
        }
    }

    #[test]
    fn a_language_is_known_by_every_code_and_tag_that_names_it() {
        for tag in [
            "en",
            "eng",
            "EN",
            "en-US",
            "en_GB.UTF-8",
            "eng_Latn",
            "ENG-latn-us",
            " eng,deu",
            "en; q=0.8",
        ] {
            assert_eq!(stopword_count("the be to", tag), Some(3), "{tag}");
        }
        for (tag, code) in [
            ("ger", "de"),
            ("nb-NO", "no"),
            ("arb_Arab", "ar"),
            ("zh-Hant", "zh"),
            ("fas", "fa"),
            ("iw", "he"),
        ] {
            assert_eq!(language_code(tag), Some(code), "{tag}");
        }
        for tag in ["", "e", "english", "xx", "tlh", "-en", "nn", "12", "é"] {
            assert_eq!(language_code(tag), None, "{tag}");
        }
        // A list is of one script.
        assert_eq!(stopword_count("и у је", "sr-Cyrl"), Some(3));
        assert_eq!(stopword_count("i u je", "srp_Latn"), None);
        assert_eq!(stopword_count("the be", "en_Latn_US"), Some(2));
    }

    #[test]
    fn scripts_without_a_language_give_no_language() {
        let english =
            "The old ferry has not been seen in the harbour since the storm of last winter";
        let wide: String = english
            .chars()
            .map(|c| match c {
                ' ' => '\u{3000}',
                _ => char::from_u32(u32::from(c) + 0xfee0).unwrap(),
            })
            .collect();
        assert_eq!(detect_language(&wide), detect_language(english));
        assert_eq!(language("ｺﾝﾆﾁﾊ ｾｶｲ ﾃﾞﾝｼｬ ﾊ ｷﾏｼﾀ"), Some("ja"));
        assert_eq!(KATAKANA.chars().count(), 0xff9d - 0xff66 + 1);
        for text in [
            "ދިވެހި ބަހަކީ ދިވެހިރާއްޖޭގެ ރަސްމީ ބަހެވެ",
            "ߒߞߏ ߦߋ߫ ߛߓߍߛߎ߲ ߠߎ߬ ߘߌ߫",
            "ພາສາລາວ ແມ່ນພາສາທາງການ with a word",
            "བོད་སྐད་ནི་བོད་ཀྱི་སྐད་ཡིག་ཡིན། Tibet",
            "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
            "ⵜⴰⵎⴰⵣⵉⵖⵜ",
            "ܠܫܢܐ ܣܘܪܝܝܐ",
            "𝐇𝐞𝐥𝐥𝐨 𝐰𝐨𝐫𝐥𝐝",
            "12 + 34",
            "",
            "অসমীয়া ভাষা অসমৰ ৰাজ্যিক ভাষা আৰু ইয়াক ভাৰতৰ সংবিধানে স্বীকৃতি দিছে",
            "ትግርኛ ቋንቋ ቐዳም ሰንበት ኣብ ኤርትራ ይዝረብ",
        ] {
            assert_eq!(detect_language(text), None, "{text}");
        }
        // Titles of Japan and Korea were Chinese with a score of 1.
        for (text, code) in [
            ("東京都知事選挙結果発表", Some("ja")),
            ("日本国憲法前文", None),
            ("大韓民國憲法", None),
            ("北京大学", None),
            ("东京都知事选举结果公布", Some("zh")),
            ("行政院今天表示，該項法案將於明年施行。", Some("zh")),
            ("我的书在哪里？", Some("zh")),
            ("東京の空は青い", Some("ja")),
        ] {
            assert_eq!(detect_language(text).map(|(language, _)| language), code, "{text}");
        }
        assert_eq!(language("বাংলা ভাষা বাংলাদেশের রাষ্ট্রভাষা এবং ভারতের একটি সরকারি ভাষা"), Some("bn"));
    }
}
