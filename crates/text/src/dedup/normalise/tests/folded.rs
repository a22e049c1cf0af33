//! Tests of version 2 of `web`: which spellings have the same tokens, and which differences it keeps.

use super::super::folding::{fold, is_as_it_is, is_seen, is_unseen};
use super::{Web, Web2, general, mixed, words};
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

fn folded(text: &str) -> String {
    let mut folded = String::new();
    text.chars().for_each(|character| fold(character, &mut |part| folded.push(part)));
    folded
}

/// Characters whose full case folding (C and F of `CaseFolding.txt`, Unicode 14) is not their lower case, each with it;
/// without Cherokee. Those behind the bar are folded further, as apostrophes.
#[rustfmt::skip]
const CASES: &str = "µ=μ ß=ss ſ=s ǰ=ǰ ͅ=ι ΐ=ΐ ΰ=ΰ ς=σ ϐ=β ϑ=θ ϕ=φ ϖ=π ϰ=κ ϱ=ρ ϵ=ε և=եւ ᲀ=в ᲁ=д ᲂ=о ᲃ=с ᲄ=т ᲅ=т ᲆ=ъ ᲇ=ѣ ᲈ=ꙋ ẖ=ẖ ẗ=ẗ ẘ=ẘ ẙ=ẙ ẛ=ṡ ẞ=ss ὐ=ὐ ὒ=ὒ ὔ=ὔ ὖ=ὖ \
ᾀ=ἀι ᾁ=ἁι ᾂ=ἂι ᾃ=ἃι ᾄ=ἄι ᾅ=ἅι ᾆ=ἆι ᾇ=ἇι ᾈ=ἀι ᾉ=ἁι ᾊ=ἂι ᾋ=ἃι ᾌ=ἄι ᾍ=ἅι ᾎ=ἆι ᾏ=ἇι ᾐ=ἠι ᾑ=ἡι ᾒ=ἢι ᾓ=ἣι ᾔ=ἤι ᾕ=ἥι ᾖ=ἦι ᾗ=ἧι ᾘ=ἠι ᾙ=ἡι ᾚ=ἢι ᾛ=ἣι ᾜ=ἤι ᾝ=ἥι ᾞ=ἦι ᾟ=ἧι \
ᾠ=ὠι ᾡ=ὡι ᾢ=ὢι ᾣ=ὣι ᾤ=ὤι ᾥ=ὥι ᾦ=ὦι ᾧ=ὧι ᾨ=ὠι ᾩ=ὡι ᾪ=ὢι ᾫ=ὣι ᾬ=ὤι ᾭ=ὥι ᾮ=ὦι ᾯ=ὧι ᾲ=ὰι ᾳ=αι ᾴ=άι ᾶ=ᾶ ᾷ=ᾶι ᾼ=αι \u{1fbe}=ι ῂ=ὴι ῃ=ηι ῄ=ήι ῆ=ῆ ῇ=ῆι ῌ=ηι ῒ=ῒ \u{1fd3}=ΐ ῖ=ῖ ῗ=ῗ ῢ=ῢ \u{1fe3}=ΰ ῤ=ῤ ῦ=ῦ ῧ=ῧ \
ῲ=ὼι ῳ=ωι ῴ=ώι ῶ=ῶ ῷ=ῶι ῼ=ωι ﬀ=ff ﬁ=fi ﬂ=fl ﬃ=ffi ﬄ=ffl ﬅ=st ﬆ=st ﬓ=մն ﬔ=մե ﬕ=մի ﬖ=վն ﬗ=մխ | ŉ='n ẚ=a'";

#[test]
fn case_is_folded_in_full() {
    let mut listed = std::collections::BTreeSet::new();
    for pair in CASES.split(' ').filter(|pair| *pair != "|") {
        let (from, to) = pair.split_once('=').unwrap();
        // The editor that saved this file may have composed what the table spells in parts.
        assert_eq!(folded(from).nfc().to_string(), to.nfc().to_string(), "{from:?}");
        listed.extend(from.chars());
    }
    assert_eq!(listed.len(), 125);
    let is_other = |c: &char| matches!(*c, '\u{fb00}'..='\u{feff}' | '\u{ff00}'..='\u{ffef}');
    for character in (char::MIN..=char::MAX).filter(|c| !listed.contains(c) && !is_other(c)) {
        let lower: String = character.to_lowercase().collect();
        let found = folded(&character.to_string());
        let quoted = found == "'" || found == "\"" || found.is_empty();
        assert!(found == lower || quoted, "{character:?} is folded to {found:?}");
        // What is folded is folded no further, by capitals neither.
        assert_eq!(folded(&found), found, "{character:?}");
        if !matches!(character, 'ı' | 'İ') {
            assert_eq!(folded(&character.to_uppercase().to_string()), found, "{character:?}");
        }
    }
}

/// Texts that are one text.
#[rustfmt::skip]
const SAME: &[&[&str]] = &[
    &["don't", "don’t", "don‘t", "donʼt", "don＇t", "don´t", "don′t", "DON’T", "do\u{ad}n’t"],
    &["l'eau n'est", "l’eau n’est", "L’EAU N’EST"],
    &["П'ять сім'я", "П’ять сімʼя", "п′ять СІМ’Я"],
    &["o'zbek o'", "oʻzbek oʻ", "o‘zbek o‘", "oʼzbek oʼ"],
    &["Qur'an ta'rikh", "Qurʾan taʾrikh", "Qur’an taʿrikh"],
    &["ג'ירפה צה\"ל", "ג׳ירפה צה״ל", "ג’ירפה צה”ל"],
    &["Straße", "STRASSE", "STRAẞE", "strasse", "Stra\u{ad}ße", "Ｓｔｒａｓｓｅ"],
    &["office ﬁne ﬂat ﬃ", "oﬃce fine flat ffi", "OFFICE FINE FLAT FFI"],
    &["ᾳ ΐ", "ΑΙ Ϊ́", "αι ΐ"],
    &["soft hyphen", "so\u{ad}ft hyp\u{200b}hen", "\u{feff}soft \u{202a}hyphen\u{202c}", "soft\u{2060} \u{2066}hyphen\u{2069}\u{200e}"],
    &["می‌خواهم", "میخواهم"],
    &["क्\u{200d}ष", "क्ष", "क्\u{200c}ष"],
    &["❤ 👨👩", "❤\u{fe0f} 👨\u{200d}👩"],
    &["葛", "葛\u{e0100}"],
    &["abc 123 1.5", "ａｂｃ　１２３　１．５", "ＡＢＣ １２３ 1.5"],
    &["カタカナ ガ パ", "ｶﾀｶﾅ ｶﾞ ﾊﾟ"],
    &["가", "ﾡￂ"],
    &["السلام", "ﺍﻟﺴﻼﻡ", "\u{200f}السلام\u{200f}"],
    &["صلى الله عليه وسلم", "ﷺ"],
    &["\u{644}\u{651}", "\u{644}\u{fe7c}"],
    &["אב", "ﬡב"],
];

#[test]
fn twins_have_the_same_tokens() {
    for same in SAME {
        let of: Vec<Vec<String>> = same.iter().map(|text| words(text, Web2)).collect();
        assert!(of.iter().all(|found| *found == of[0]), "{same:?}: {of:?}");
        assert!(!of[0].is_empty());
        let one: Vec<Vec<String>> = same.iter().map(|text| words(text, Web)).collect();
        assert!(one.iter().any(|found| *found != one[0]), "version 1 tells {same:?} apart");
    }
}

#[test]
fn meaningful_differences_stay_apart() {
    for (a, b) in [
        ("x²", "x2"),
        ("½", "1/2"),
        ("ı", "i"),
        ("dont", "don't"),
        ("année", "annee"),
        ("②", "2"),
        ("Ⅳ", "iv"),
        ("we're", "were"),
        ("a b", "ab"),
        ("ℝ", "r"),
        ("ي", "ى"),
        ("か", "カ"),
    ] {
        assert_ne!(words(a, Web2), words(b, Web2), "{a} {b}");
    }
}

#[test]
fn a_text_of_signs_is_one_token_and_white_space_no_token() {
    for nothing in
        ["", " \r\n\t", "\u{a0}\u{3000}", "\u{200b}", "\u{feff} \u{ad}\n", "\0\u{7f}", "\u{3164}"]
    {
        assert_eq!(words(nothing, Web2), Vec::<String>::new(), "{nothing:?}");
    }
    for text in ["∑?", "!!!", " -- \n", "___", "𝄞𝄢", "\u{200b}=\u{200b}", "→", "\u{6dd}", "、。"]
    {
        assert_eq!(words(text, Web2), [text], "{text:?}");
        assert_eq!(words(text, Web), Vec::<String>::new(), "{text:?}");
    }
    assert_eq!(words("a ∑?", Web2), ["a"]);
    let formula = "∫∂∇=".repeat(5000);
    assert_eq!(words(&formula, Web2), [formula]);
}

#[test]
fn unchanged_blocks_are_neither_folded_nor_skipped() {
    for character in (char::MIN..=char::MAX).filter(|c| is_as_it_is(*c)) {
        assert!(!is_unseen(character), "{character:?}");
        assert!(character.to_uppercase().eq([character]), "{character:?}");
        assert!(character.to_lowercase().eq([character]), "{character:?}");
    }
}

#[test]
fn ascii_is_the_same_in_both_versions() {
    let text = "It's a \"test\": `don't`, 3.14 x_y rock'n'roll' '90s a.b\x0c\x00z";
    assert_eq!(words(text, Web2), words(text, Web));
}

#[test]
fn invisible_characters_are_in_no_token() {
    let unseen: Vec<char> = (char::MIN..=char::MAX).filter(|c| is_unseen(*c)).collect();
    // Default_Ignorable_Code_Point of Unicode 16 (4174), and three anchors of annotations.
    assert_eq!(unseen.len(), 4174 + 3);
    for character in unseen {
        assert!(!is_seen(&character.to_string()));
        let text = format!(
            "be{character}fore 漢{character} {character}1{character}2 caf{character}e\u{301}"
        );
        assert_eq!(words(&text, Web2), ["before", "漢", "12", "café"], "{character:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testing::cases(4000), failure_persistence: None, ..ProptestConfig::default() })]

    /// A reference that shares neither paths nor stretches: the whole text folded character by character.
    #[test]
    fn tokens_are_those_of_the_text_folded_naively(text in mixed()) {
        let seen: String = text.chars().filter(|c| !is_unseen(*c)).collect();
        let whole: String = folded(&seen.nfc().to_string()).nfc().collect();
        // What is folded already is folded no further, and version 1 cuts it into the same words.
        prop_assert_eq!(folded(&whole).nfc().to_string(), whole.clone());
        let cut = general(&whole, Web);
        if !cut.is_empty() {
            prop_assert_eq!(words(&text, Web2), cut);
        }
    }

    #[test]
    fn capitals_are_the_same_text(text in mixed()) {
        // The dotted and the dotless letter have capitals of other letters.
        let text = text.replace(['ı', 'İ'], "i");
        let seen = text.chars().filter(|c| !is_unseen(*c)).nfc().to_string();
        let capitals = seen.to_uppercase();
        if general(&seen, Web2) != [seen.clone()] {
            prop_assert_eq!(words(&text, Web2), words(&capitals, Web2), "{:?}", capitals);
        }
    }
}
