//! A table of texts in many scripts with the tokens that `web` and `code` make of them, separated by bars.

use super::{general, words};
use model::Normaliser::{Code, Web};
use unicode_normalization::UnicodeNormalization;

/// Script or matter; text; tokens of `web`; tokens of `code`.
type Row = (&'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("Latin", "The CAT sat; don't “quote” 3.14 e-mail_x", "the|cat|sat|don't|quote|3.14|e|mail_x", "the|cat|sat|;|don|'|t|“|quote|”|3|.|14|e|-|mail_x"),
    ("Latin", "Crème BRÛLÉE, Straße ẞ ŒUVRE ﬁn", "crème|brûlée|straße|ß|œuvre|ﬁn", "crème|brûlée|,|straße|ß|œuvre|ﬁn"),
    ("Latin", "İstanbul ISPARTA ıssız K", "i\u{307}stanbul|isparta|ıssız|k", "i\u{307}stanbul|isparta|ıssız|k"),
    ("Latin", "Tiếng VIỆT đẹp", "tiếng|việt|đẹp", "tiếng|việt|đẹp"),
    ("Greek", "ΟΔΥΣΣΕΎΣ, ὁ Ὀδυσσεύς· ΣΑΣ;", "οδυσσεύσ|ὁ|ὀδυσσεύσ|σασ", "οδυσσεύσ|,|ὁ|ὀδυσσεύσ|·|σασ|;"),
    ("Cyrillic", "Ёлка, ПРИВЕТ – мир! їжак д’Артаньян", "ёлка|привет|мир|їжак|д’артаньян", "ёлка|,|привет|–|мир|!|їжак|д|’|артаньян"),
    ("Armenian", "Բարեւ ՁԵԶ։", "բարեւ|ձեզ", "բարեւ|ձեզ|։"),
    ("Georgian", "ᲡᲐᲥᲐᲠᲗᲕᲔᲚᲝ საქართველო", "საქართველო|საქართველო", "საქართველო|საქართველო"),
    ("Arabic", "مَرْحَبًا بالعالَم، ١٢٫٥ لا؟", "مَرْحَبًا|بالعالَم|١٢٫٥|لا", "مَرْحَبًا|بالعالَم|،|١٢|٫|٥|لا|؟"),
    ("Persian", "می\u{200c}خواهم ۱۲", "می\u{200c}خواهم|۱۲", "می\u{200c}خواهم|۱۲"),
    ("Hebrew", "שָׁלוֹם, צה\"ל ג'ירפה־x", "שָׁלוֹם|צה\"ל|ג'ירפה|x", "שָׁלוֹם|,|צה|\"|ל|ג|'|ירפה|־|x"),
    ("Devanagari", "नमस्ते दुनिया। क्षत्रिय ५५", "नमस्ते|दुनिया|क्षत्रिय|५५", "नमस्ते|दुनिया|।|क्षत्रिय|५५"),
    ("Tamil", "தமிழ் மொழி", "தமிழ்|மொழி", "தமிழ்|மொழி"),
    ("Thai", "ที่นี่ กำลัง ๑๒", "ที่|นี่|ก|ำ|ลั|ง|๑๒", "ที่|นี่|ก|ำ|ลั|ง|๑๒"),
    ("Khmer", "ខ្មែរ", "ខ្|មែ|រ", "ខ្|មែ|រ"),
    ("Chinese", "我爱北京。2024年ABC公司", "我|爱|北|京|2024|年|abc|公|司", "我|爱|北|京|。|2024|年|abc|公|司"),
    ("Chinese", "𠮷野家、〇一", "𠮷|野|家|〇|一", "𠮷|野|家|、|〇|一"),
    ("Japanese", "カタカナとガ漢字、ｶﾞ ー", "カ|タ|カ|ナ|と|ガ|漢|字|ｶ|ﾞ|ー", "カ|タ|カ|ナ|と|ガ|漢|字|、|ｶ|ﾞ|ー"),
    ("Korean", "안녕하세요, 세계! 한국어2", "안녕하세요|세계|한국어2", "안녕하세요|,|세계|!|한국어2"),
    ("emoji", "👨\u{200d}👩\u{200d}👧\u{200d}👦👍🏽 🇩🇪🇫🇷 ❤\u{fe0f} 1\u{fe0f}\u{20e3}", "👨\u{200d}👩\u{200d}👧\u{200d}👦|👍🏽|🇩🇪|🇫🇷|❤\u{fe0f}|1\u{fe0f}\u{20e3}", "👨\u{200d}|👩\u{200d}|👧\u{200d}|👦|👍|🏽|🇩|🇪|🇫|🇷|❤\u{fe0f}|1\u{fe0f}\u{20e3}"),
    ("marks", "e\u{301}a\u{323}\u{307} q\u{303}\u{323} \u{301}x", "éạ\u{307}|q\u{323}\u{303}|x", "éạ\u{307}|q\u{323}\u{303}|\u{301}|x"),
    ("symbols", "∀x ∈ ℝ: x² ≥ 0 € ½ №5", "x|ℝ|x|²|0|½|5", "∀|x|∈|ℝ|:|x²|≥|0|€|½|№|5"),
    ("joiners", "soft\u{ad}hyphen zero\u{200b}width word\u{2060}joiner", "soft\u{ad}hyphen|zero|width|word\u{2060}joiner", "soft\u{ad}hyphen|zero\u{200b}width|word\u{2060}joiner"),
    ("full width", "ＡＢＣ\u{3000}１２３，", "ａｂｃ|１２３", "ａｂｃ|１２３|，"),
    ("mixed", "GPT-4は2023年、Москва и Paris", "gpt|4|は|2023|年|москва|и|paris", "gpt|-|4|は|2023|年|、|москва|и|paris"),
];

#[test]
fn tokens_of_every_script() {
    for (script, text, web, code) in TABLE {
        for (normaliser, expected) in [(Web, web), (Code, code)] {
            assert_eq!(
                &words(text, normaliser).join("|"),
                expected,
                "{script}, {normaliser:?} of {text:?}"
            );
            assert_eq!(&general(text, normaliser).join("|"), expected, "{script}, general path");
        }
    }
}

#[test]
fn twins_in_other_normal_forms_have_the_same_tokens() {
    for (script, text, web, code) in TABLE {
        for twin in [text.nfc().collect::<String>(), text.nfd().collect()] {
            assert_eq!(&words(&twin, Web).join("|"), web, "{script}, {twin:?}");
            assert_eq!(&words(&twin, Code).join("|"), code, "{script}, {twin:?}");
        }
    }
}

#[test]
fn twins_in_other_case_have_the_same_tokens() {
    // Not those whose capitals are other letters: ß, ﬁ, ı, İ.
    for (script, text, web, code) in
        TABLE.iter().filter(|row| !row.1.contains(['ß', 'ﬁ', 'ı', 'İ']))
    {
        for twin in [text.to_lowercase(), text.to_uppercase()] {
            assert_eq!(&words(&twin, Web).join("|"), web, "{script}, {twin:?}");
            assert_eq!(&words(&twin, Code).join("|"), code, "{script}, {twin:?}");
        }
    }
}

#[test]
fn every_row_stays_the_same_among_other_rows() {
    let (mut text, mut web, mut code) = (String::new(), Vec::new(), Vec::new());
    for row in TABLE.iter().chain(TABLE.iter().rev()) {
        text.push_str(row.1);
        text.push('\n');
        web.push(row.2);
        code.push(row.3);
    }
    assert_eq!(words(&text, Web).join("|"), web.join("|"));
    assert_eq!(words(&text, Code).join("|"), code.join("|"));
}
