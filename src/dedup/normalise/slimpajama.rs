//! Tokens of SlimPajama: characters of the text in NFC and lower case, without ASCII punctuation, with
//! one space for every run of white space and none at the ends, in this order.

use std::borrow::Cow;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Calls `sink` with every token of `text`.
pub(super) fn tokens(text: &str, sink: &mut impl FnMut(&[u8])) {
    let mut begun = false;
    let mut space = false;
    let mut bytes = [0; 4];
    for character in composed(text).to_lowercase().chars() {
        if is_space(character) {
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

/// As Python's `\s`, which the four separators of ASCII belong to.
fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

#[cfg(test)]
mod tests {
    use crate::dedup::words;
    use crate::model::Normaliser::Slimpajama;
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
