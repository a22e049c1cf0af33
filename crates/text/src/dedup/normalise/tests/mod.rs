//! Tests of `web` and `code` on texts in many scripts, and of the laws that the fast paths and the general one keep.

use super::folding::{is_seen, is_uncased};
use super::general::{GeneralBuffers, tokens as general_tokens};
use super::simple::{SimpleBuffers, tokens as simple_tokens};
use super::{TextStretch, TextStretches, WordRules, words};
use model::Normaliser;
use model::Normaliser::{Code, Web, Web2};
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

mod folded;
mod scripts;

fn rules(normaliser: Normaliser) -> WordRules {
    match normaliser {
        Code => WordRules::Code,
        Web2 => WordRules::Web2,
        _ => WordRules::Web,
    }
}

/// The whole text by the general path.
fn general(text: &str, normaliser: Normaliser) -> Vec<String> {
    let mut words = Vec::new();
    general_tokens(text, rules(normaliser), &mut GeneralBuffers::default(), &mut |token| {
        words.push(String::from_utf8(token.to_vec()).unwrap());
    });
    if normaliser == Web2 && words.is_empty() && is_seen(text) {
        words.push(text.to_owned());
    }
    words
}

#[test]
fn web_words_of_many_scripts() {
    let table: &[(&str, &[&str])] = &[
        ("", &[]),
        (" \r\n\t", &[]),
        ("?!... --- ___", &[]),
        ("The CAT sat; the cat SAT.", &["the", "cat", "sat", "the", "cat", "sat"]),
        ("can't don't 'quoted' rock'n'roll'", &["can't", "don't", "quoted", "rock'n'roll"]),
        (
            "3.14 1,000,000;5 v1.2 a.b a,b x:y 12:30 1.a",
            &["3.14", "1,000,000;5", "v1.2", "a.b", "a", "b", "x:y", "12", "30", "1", "a"],
        ),
        ("snake_case __init__ _ a__ 2_000", &["snake_case", "__init__", "a__", "2_000"]),
        ("well-known e-mail: me@example.com", &["well", "known", "e", "mail", "me", "example.com"]),
        ("Crème BRÛLÉE naïve Straße ẞ", &["crème", "brûlée", "naïve", "straße", "ß"]),
        ("«Œuvre», dit-il\u{202f}! 10\u{202f}000", &["œuvre", "dit", "il", "10\u{202f}000"]),
        ("don’t", &["don’t"]),
        ("ΟΔΟΣ οδος οδός", &["οδοσ", "οδοσ", "οδόσ"]),
        ("Привет, МИР! Ёлка", &["привет", "мир", "ёлка"]),
        ("İstanbul KELVIN \u{212a}", &["i\u{307}stanbul", "kelvin", "k"]),
        ("مرحبا بالعالم، ١٢٣", &["مرحبا", "بالعالم", "١٢٣"]),
        ("שלום עולם צה\"ל", &["שלום", "עולם", "צה\"ל"]),
        ("नमस्ते दुनिया।", &["नमस्ते", "दुनिया"]),
        ("ที่นี่ ๑๒๓", &["ที่", "นี่", "๑๒๓"]),
        ("ສະບາຍ", &["ສ", "ະ", "ບ", "າ", "ຍ"]),
        ("ខ្មែរ", &["ខ្", "មែ", "រ"]),
        ("བོད་ཡིག", &["བོ", "ད", "ཡི", "ག"]),
        ("我爱北京。2024年 ABC公司", &["我", "爱", "北", "京", "2024", "年", "abc", "公", "司"]),
        ("カタカナとひらがなー", &["カ", "タ", "カ", "ナ", "と", "ひ", "ら", "が", "な", "ー"]),
        ("カ_a", &["カ_", "a"]),
        ("안녕하세요 세계 한국어", &["안녕하세요", "세계", "한국어"]),
        ("\u{1112}\u{1161}\u{11ab}", &["한"]),
        ("😀 👍🏽👨‍👩‍👧 🇩🇪🇫🇷 ★ ⠃", &["😀", "👍🏽", "👨‍👩‍👧", "🇩🇪", "🇫🇷", "★", "⠃"]),
        ("e\u{301}te\u{301} h\u{331} H\u{331}", &["été", "\u{1e96}", "\u{1e96}"]),
        ("a \u{93e}b \u{301}", &["a", "\u{93e}", "b"]),
        ("\u{feff}Hello\u{2028}World\u{85}x", &["hello", "world", "x"]),
        ("∀x ∈ ℝ € © §", &["x", "ℝ"]),
        ("a\r\n\u{301}b", &["a", "b"]),
    ];
    for (text, expected) in table {
        assert_eq!(&words(text, Web), expected, "web of {text:?}");
        assert_eq!(&general(text, Web), expected, "general path, web of {text:?}");
    }
}

#[test]
fn code_words_keep_punctuation_and_ignore_space() {
    let table: &[(&str, &[&str])] = &[
        ("", &[]),
        (" \r\n\t\u{0}", &[]),
        ("x+=a.b[3.14];", &["x", "+", "=", "a", ".", "b", "[", "3", ".", "14", "]", ";"]),
        ("fn Main_2() {}", &["fn", "main_2", "(", ")", "{", "}"]),
        ("// naïve “λ” ∀x²", &["/", "/", "naïve", "“", "λ", "”", "∀", "x²"]),
        ("s = '我爱é'", &["s", "=", "'", "我", "爱", "é", "'"]),
        ("a\u{200b}b \u{301}c", &["a\u{200b}b", "\u{301}", "c"]),
        ("!\u{301} 😀👍🏽", &["!\u{301}", "😀", "👍", "🏽"]),
    ];
    for (text, expected) in table {
        assert_eq!(&words(text, Code), expected, "code of {text:?}");
        assert_eq!(&general(text, Code), expected, "general path, code of {text:?}");
    }
}

#[test]
fn case_twins_and_normal_forms_are_one_text() {
    for (a, b) in [
        ("Crème brûlée à la carte", "CRÈME BRÛLÉE À LA CARTE"),
        ("ὈΔΥΣΣΕΎΣ", "ὀδυσσεύς"),
        ("Việt Nam", "VIỆT NAM"),
        ("한국어 가나다", "한국어 가나다"),
    ] {
        for form in [a.nfd().collect::<String>(), b.nfc().collect(), b.nfd().collect()] {
            assert_eq!(words(a, Web), words(&form, Web));
            assert_eq!(words(a, Code), words(&form, Code));
        }
    }
}

#[test]
fn blocks_called_uncased_have_no_case_but_by_nfc() {
    for character in ('\0'..=char::MAX).filter(|c| is_uncased(*c)) {
        assert!(character.to_lowercase().eq([character]), "{character:?}");
    }
}

#[test]
fn both_paths_agree_on_every_character() {
    // Between and beyond these no characters are assigned, or they are for private use.
    for character in ('\u{80}'..='\u{3ffff}').chain('\u{e0000}'..='\u{e0fff}') {
        for text in [
            format!("ab {character} cd"),
            format!("ab{character}cd. {character}"),
            format!("a  {character}1\n{character}\t {character}'b"),
        ] {
            for normaliser in [Web, Web2, Code] {
                assert_eq!(words(&text, normaliser), general(&text, normaliser), "{text:?}");
            }
        }
    }
}

#[test]
fn one_foreign_word_does_not_take_a_page_off_the_fast_path() {
    let page = format!("{} naïve café {}", "plain words ".repeat(50), "more words ".repeat(50));
    let general: usize = TextStretches::new(&page)
        .map(|stretch| if let TextStretch::General(text) = stretch { text.len() } else { 0 })
        .sum();
    assert!(general > 0 && general < 40, "{general} bytes took the general path");
}

/// Dense in what the rules of words look at.
fn ascii() -> impl Strategy<Value = String> {
    let common = prop::sample::select(b" aZ9_.':,;\"-\r\n\t\0\x0b\x7f".to_vec());
    let byte = prop_oneof![4 => common, 1 => 0..128_u8];
    prop::collection::vec(byte, 0..80).prop_map(|bytes| bytes.into_iter().map(char::from).collect())
}

/// What the scanner takes, dense in what its rules look at.
fn simple() -> impl Strategy<Value = String> {
    let simple =
        "  \n\r aB1_.':,;=é’’·…“”ßяЯΣςعم한٣٣５漢ひアー_★😀\u{a0}\u{3000}\u{2003}\u{85}。！：；․";
    let simple = prop::sample::select(simple.chars().collect::<Vec<_>>());
    prop::collection::vec(simple, 0..60).prop_map(|c| c.into_iter().collect())
}

/// Marks, joiners, spaces and letters that compose, change with case or have rules of their own.
fn mixed() -> impl Strategy<Value = String> {
    let special = "  \n\r\t aBk1_.':,;=\"\u{85}\u{a0}\u{ad}\u{b7}\u{2003}\u{200b}\u{200c}\u{200d}\u{2019}\u{202f}\u{203f}\
        \u{feff}\u{300}\u{301}\u{307}\u{323}\u{331}\u{338}\u{345}\u{fe0f}\u{20e3}éÉİıſßẞΣςσ\u{212a}\u{37e}\u{93e}न्ไทยำ\u{e49}\
        བ་က္ខ្ア゙カー漢字ひがﾊﾞ한\u{1112}\u{1161}\u{11ab}אב״😀👍🏽👨❤🇩🇪★²Ⅳ١٢\
        ʼ‘´ﬁŉＡ１．＿＇ﾡￂﺍﻟﻻ\u{fe71}\u{fc5e}ﷺ\u{600}\u{6dd}\u{115f}\u{1160}\u{e0061}\u{34f}αᾳᾼΐ\u{334}\u{308}";
    let special = prop::sample::select(special.chars().collect::<Vec<_>>());
    let character = prop_oneof![8 => special, 1 => any::<char>()];
    let piece = prop_oneof![
        6 => prop::collection::vec(character, 0..12).prop_map(|c| c.into_iter().collect()),
        1 => "[a-c .']{30,45}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testing::cases(4000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ascii_equals_general(text in ascii()) {
        prop_assert_eq!(words(&text, Web), general(&text, Web));
        prop_assert_eq!(words(&text, Web2), general(&text, Web2));
        prop_assert_eq!(words(&text, Code), general(&text, Code));
        let uax: Vec<String> = text.to_lowercase().split_word_bounds()
            .filter(|s| s.contains(char::is_alphanumeric)).map(str::to_owned).collect();
        prop_assert_eq!(words(&text, Web), uax);
    }

    #[test]
    fn simple_equals_general(text in simple()) {
        for normaliser in [Web, Web2, Code] {
            let mut fast = Vec::new();
            let taken = simple_tokens(&text, rules(normaliser), &mut SimpleBuffers::default(), &mut |token| {
                fast.push(String::from_utf8(token.to_vec()).unwrap());
            });
            prop_assert!(taken || text.contains("ア_") || text.contains("ー_"), "{:?} is not simple", text);
            if taken && !(fast.is_empty() && is_seen(&text)) {
                prop_assert_eq!(fast, general(&text, normaliser));
            }
        }
    }

    #[test]
    fn stretches_make_no_difference(text in mixed()) {
        prop_assert_eq!(words(&text, Web), general(&text, Web));
        prop_assert_eq!(words(&text, Web2), general(&text, Web2));
        prop_assert_eq!(words(&text, Code), general(&text, Code));
        let whole: String = TextStretches::new(&text).map(|stretch| match stretch {
            TextStretch::Ascii(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            TextStretch::General(text) => text.to_owned(),
        }).collect();
        prop_assert_eq!(whole, text);
    }

    #[test]
    fn canonical_equivalents_are_one_text(text in mixed()) {
        let (composed, decomposed) = (text.nfc().collect::<String>(), text.nfd().collect::<String>());
        // A text without words is itself, whatever its form.
        let is_worded = general(&text, Web2) != [text.clone()];
        for normaliser in [Web, Code].into_iter().chain(is_worded.then_some(Web2)) {
            prop_assert_eq!(words(&text, normaliser), words(&composed, normaliser));
            prop_assert_eq!(words(&text, normaliser), words(&decomposed, normaliser));
        }
    }
}
