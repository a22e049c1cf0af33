//! The tokenizers of published pipelines (BigCode, FineWeb, SlimPajama), whatever they do to other scripts.
//!
//! **BigCode**: the text split at every character but ASCII letters, digits and underscores, as Python's
//! `re.split("[^A-Za-z_0-9]", text)` does. Case is kept, and so are the empty pieces between two such characters: they
//! are part of the published n-grams. Text in other scripts is nothing but empty pieces. A text of nothing but white
//! space has no token here, so that it counts as empty.
//!
//! **FineWeb**: what datatrove's `simplify_text` leaves of a text, split at spaces. In this order: lower case (a final
//! sigma stays one); numbers, with at most one decimal separator inside, become `0`; listed punctuation and controls
//! become spaces; NFD, and non-spacing marks are dropped. Which words a language's own tokenizer would find within that
//! is not followed: tokens are what stands between spaces. Text of scripts written without spaces is few tokens, or
//! one.
//!
//! **SlimPajama**: characters of the text in NFC and lower case, without ASCII punctuation, with one space for every
//! run of white space and none at the ends, in this order.

use super::categories::{is_decimal, is_nonspacing};
use std::borrow::Cow;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Calls `sink` with every piece of `text` for BigCode, empty ones too.
pub(super) fn bigcode_tokens(text: &str, sink: &mut impl FnMut(&[u8])) {
    if text.trim().is_empty() {
        return;
    }
    for piece in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        sink(piece.as_bytes());
    }
}

/// What a text and a word become on the way.
#[derive(Clone, Debug, Default)]
pub(super) struct FinewebBuffers {
    simplified: String,
    word: String,
}

impl FinewebBuffers {
    pub(super) fn shrink(&mut self, bytes: usize) {
        for buffer in [&mut self.simplified, &mut self.word] {
            buffer.clear();
            buffer.shrink_to(bytes);
        }
    }
}

/// Calls `sink` with every token of `text`.
pub(super) fn fineweb_tokens(
    text: &str,
    buffers: &mut FinewebBuffers,
    sink: &mut impl FnMut(&[u8]),
) {
    let FinewebBuffers { simplified, word } = buffers;
    simplified.clear();
    let lower = text.to_lowercase();
    let mut rest = lower.chars();
    while let Some(character) = rest.next() {
        simplified.push(if is_decimal(character) {
            number(&mut rest);
            '0'
        } else if is_fineweb_space(character) {
            ' '
        } else {
            character
        });
    }
    // Nothing decomposes across a space, and no mark is one.
    for piece in simplified.split(' ') {
        let bytes = if piece.is_ascii() {
            piece.as_bytes()
        } else {
            word.clear();
            word.extend(piece.nfd().filter(|character| !is_nonspacing(*character)));
            word.as_bytes()
        };
        if !bytes.is_empty() {
            sink(bytes);
        }
    }
}

/// Takes what belongs to a number after its first digit.
fn number(rest: &mut std::str::Chars<'_>) {
    digits(rest);
    let mut ahead = rest.clone();
    let separated =
        ahead.next().is_some_and(is_decimal_separator) && ahead.next().is_some_and(is_decimal);
    if separated {
        *rest = ahead;
        digits(rest);
    }
}

fn digits(rest: &mut std::str::Chars<'_>) {
    let after = rest.as_str().trim_start_matches(is_decimal);
    *rest = after.chars();
}

fn is_decimal_separator(character: char) -> bool {
    matches!(character, '.' | ',' | '،' | '٫' | '⎖' | '⎗' | '⎘')
}

/// White space, and what datatrove lists as punctuation: the controls, the ASCII marks, some others.
fn is_fineweb_space(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || character.is_ascii_punctuation()
        || matches!(
            character,
            '—' | '”'
                | '％'
                | '〈'
                | '、'
                | '━'
                | '【'
                | '「'
                | '」'
                | '，'
                | '】'
                | '；'
                | '“'
                | '《'
                | '„'
                | '’'
                | '∶'
                | '´'
                | '．'
                | '（'
                | '–'
                | '？'
                | '！'
                | '：'
                | '～'
                | '«'
                | '〉'
                | '》'
                | '）'
                | '。'
                | '…'
                | '►'
                | '»'
        )
}

/// Calls `sink` with every token of `text`.
pub(super) fn slimpajama_tokens(text: &str, sink: &mut impl FnMut(&[u8])) {
    let mut begun = false;
    let mut space = false;
    let mut bytes = [0; 4];
    for character in composed(text).to_lowercase().chars() {
        if is_python_space(character) {
            space = begun;
        } else if !character.is_ascii_punctuation() {
            if space {
                sink(b" ");
            }
            (begun, space) = (true, false);
            sink(character.encode_utf8(&mut bytes).as_bytes());
        }
    }
}

fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

/// Whether Python's `\s` matches a character; it matches the four separators of ASCII, too.
fn is_python_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

#[cfg(test)]
mod bigcode_tests {
    use crate::dedup::words;
    use model::Normaliser::Bigcode;

    /// Made with `re.split("[^A-Za-z_0-9]", text)`.
    #[test]
    fn pieces_of_many_texts() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            (" \r\n\t\u{3000}", &[]),
            ("one", &["one"]),
            ("a.b", &["a", "b"]),
            (".a", &["", "a"]),
            ("a, B!", &["a", "", "B", ""]),
            ("x_1+=Y[0];\n", &["x_1", "", "Y", "0", "", "", ""]),
            ("...", &["", "", "", ""]),
            ("naïve", &["na", "ve"]),
            ("e\u{301}x", &["e", "x"]),
            ("我爱 GPT4", &["", "", "", "GPT4"]),
            ("漢字", &["", "", ""]),
            ("٣ λ", &["", "", "", ""]),
            ("👍🏽a", &["", "", "a"]),
        ];
        for (text, expected) in table {
            assert_eq!(&words(text, Bigcode), expected, "{text:?}");
        }
    }
}

#[cfg(test)]
mod fineweb_tests {
    use crate::dedup::words;
    use model::Normaliser::Fineweb;
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    /// Made with `simplify_text` of datatrove 0.10.0.
    #[test]
    fn words_of_many_scripts() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            (" \r\n\t", &[]),
            ("?!... --- ___", &[]),
            (
                "The CAT's 3.14 cats, 1,000,000 of 12:30; v1.2.3 a1b2",
                &["the", "cat", "s", "0", "cats", "0", "0", "of", "0", "0", "v0", "0", "a0b0"],
            ),
            (
                "Crème BRÛLÉE – naïve Straße “quoted” «Œuvre»…",
                &["creme", "brulee", "naive", "straße", "quoted", "œuvre"],
            ),
            ("ΟΔΟΣ ὈΔΥΣΣΕΎΣ Σ ΑΣ.", &["οδος", "οδυσσευς", "σ", "ας"]),
            ("Привет, МИР! Ёлка й", &["привет", "мир", "елка", "и"]),
            ("مَرْحَبًا بالعالم، ١٢٣٫٤٥ ؟", &["مرحبا", "بالعالم،", "0", "؟"]),
            ("שָׁלוֹם עולם", &["שלום", "עולם"]),
            ("नमस्ते दुनिया। ५५", &["नमसत", "दनिया।", "0"]),
            ("ที่นี่ ๑๒๓", &["ทน", "0"]),
            ("我爱北京。２０２４年，ABC公司【一】", &["我爱北京", "0年", "abc公司", "一"]),
            ("カタカナ ガ ﾊﾞ", &["カタカナ", "カ", "ﾊﾞ"]),
            ("😀 👍🏽👨\u{200d}👩\u{200d}👧 🇩🇪", &["😀", "👍🏽👨\u{200d}👩\u{200d}👧", "🇩🇪"]),
            ("e\u{301}te\u{301} \u{301} x", &["ete", "x"]),
            (
                "a\u{1c}b\u{85}c\u{a0}d\u{3000}e\u{200b}f\u{2028}g",
                &["a", "b", "c", "d", "e\u{200b}f", "g"],
            ),
            ("İstanbul \u{212a} \u{1fef} ² Ⅳ", &["istanbul", "k", "`", "²", "ⅳ"]),
            ("1, 2 3. 4.5.6,7", &["0", "0", "0", "0", "0"]),
        ];
        for (text, expected) in table {
            assert_eq!(&words(text, Fineweb), expected, "{text:?}");
        }
        let syllables: Vec<String> =
            "한국어 가나다".nfd().collect::<String>().split(' ').map(str::to_owned).collect();
        assert_eq!(words("한국어 가나다", Fineweb), syllables);
    }

    proptest! {
        #[test]
        fn words_are_words_again(text in "[a-zA-Z0-9 .,;éΣ٣漢]{0,60}|\\PC{0,30}") {
            let once = words(&text, Fineweb);
            prop_assert!(once.iter().all(|word| !word.is_empty() && !word.contains(' ')));
            let normal: String = text.nfd().collect();
            if text.chars().all(|c| c.is_ascii() || "éΣ٣漢".contains(c)) {
                prop_assert_eq!(&words(&normal, Fineweb), &once);
                prop_assert_eq!(words(&once.join(" "), Fineweb), once);
            }
        }
    }
}

#[cfg(test)]
mod slimpajama_tests {
    use crate::dedup::words;
    use model::Normaliser::Slimpajama;
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    /// Made with `unicodedata.normalize("NFC", text)` and `get_features` of the published pipeline, width 1.
    #[test]
    fn characters_of_many_scripts() {
        for (text, expected) in [
            ("", ""),
            (" \r\n\t", ""),
            ("?!... --- ___", ""),
            (
                "The CAT's 3.14 cats, 1,000,000 of 12:30; v1.2.3",
                "the cats 314 cats 1000000 of 1230 v123",
            ),
            ("Crème BRÛLÉE – “quoted” «Œuvre»…", "crème brûlée – “quoted” «œuvre»…"),
            ("ΟΔΟΣ ὈΔΥΣΣΕΎΣ Σ ΑΣ.", "οδος ὀδυσσεύς σ ας"),
            ("Привет, МИР! Ёлка", "привет мир ёлка"),
            ("مَرْحَبًا بالعالم،", "مَرْحَبًا بالعالم،"),
            ("नमस्ते दुनिया।", "नमस्ते दुनिया।"),
            ("我爱北京。ABC公司【一】", "我爱北京。abc公司【一】"),
            ("한국어", "한국어"),
            ("👍🏽 🇩🇪", "👍🏽 🇩🇪"),
            ("e\u{301}te\u{301} \u{301} x", "été \u{301} x"),
            ("a\u{1c}b\u{85}c\u{a0}d\u{3000}e\u{200b}f\u{2028}g", "a b c d e\u{200b}f g"),
            ("İstanbul \u{212a} \u{1fef} ²", "i\u{307}stanbul k ²"),
            ("a - b\t\tc  ", "a b c"),
        ] {
            let characters: Vec<String> = expected.chars().map(String::from).collect();
            assert_eq!(words(text, Slimpajama), characters, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn forms_and_ends_make_no_difference(text in "[a-zA-Z .,;\t\nΣ漢e\u{301}ö]{0,60}|\\PC{0,30}") {
            let characters = words(&text, Slimpajama);
            prop_assert_eq!(&words(&text.nfd().collect::<String>(), Slimpajama), &characters);
            prop_assert_eq!(&words(&format!(" .{text}\n "), Slimpajama), &characters);
            let spaces = characters.windows(2).filter(|pair| pair[0] == " " && pair[1] == " ");
            prop_assert_eq!(spaces.count(), 0);
        }
    }
}
