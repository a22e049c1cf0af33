//! Tokens of an ASCII stretch: what the general path does, by byte classes.
#![expect(clippy::indexing_slicing, reason = "the class table has an entry for every byte")]

use super::Rules;
use super::scan::{DIGIT, JOINS_DIGITS, JOINS_LETTERS, LETTER, MARK, UNDERSCORE, code, web};

/// Class of every byte; capitals are letters too, though the text is lower-cased before.
static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        let class = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'.' | b'\'' => JOINS_LETTERS | JOINS_DIGITS | MARK,
            b':' => JOINS_LETTERS | MARK,
            b',' | b';' => JOINS_DIGITS | MARK,
            b'!'..=b'~' => MARK,
            _ => 0,
        };
        classes[byte as usize] = class;
        byte += 1;
    }
    classes
}

/// Class of an ASCII byte; 0 for others.
pub(super) fn class(byte: u8) -> u8 {
    CLASS[usize::from(byte)]
}

/// Calls `sink` with every token of an ASCII stretch; `lower` is scratch.
pub(super) fn tokens(text: &[u8], rules: Rules, lower: &mut Vec<u8>, sink: &mut impl FnMut(&[u8])) {
    lower.clear();
    lower.extend_from_slice(text);
    lower.make_ascii_lowercase();
    let class = |at: usize| lower.get(at).map_or(0, |byte| class(*byte));
    match rules {
        Rules::Web => web(lower, class, sink),
        Rules::Code => code(lower, class, sink),
    }
}
