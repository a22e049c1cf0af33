//! Tokens by the class of every byte: the rules of words for texts in which one character, and the one
//! after a joining mark, decide. Serves ASCII and whatever `simple.rs` can class.
#![expect(clippy::indexing_slicing, reason = "cursors stay within the length tested")]

pub(super) const LETTER: u8 = 1;
pub(super) const DIGIT: u8 = 2;
pub(super) const UNDERSCORE: u8 = 4;
/// Any two of these stay together (WB5, WB8 to WB10, WB13a, WB13b).
pub(super) const WORD: u8 = LETTER | DIGIT | UNDERSCORE;
/// Joins two letters (WB6, WB7).
pub(super) const JOINS_LETTERS: u8 = 8;
/// Joins two digits (WB11, WB12).
pub(super) const JOINS_DIGITS: u8 = 16;
/// A token in code only.
pub(super) const MARK: u8 = 32;
/// A token by itself.
pub(super) const SINGLE: u8 = 64;
/// A byte of a character that began before; bytes of letters and digits repeat their class instead.
pub(super) const CONTINUED: u8 = 128;

/// Tokens of `web`; `class` gives the class of a byte of `text`, and 0 beyond its end.
pub(super) fn web(text: &[u8], class: impl Fn(usize) -> u8, sink: &mut impl FnMut(&[u8])) {
    let after = |at: usize| after(at, &class);
    let mut at = 0;
    while at < text.len() {
        let start = at;
        let mut seen = class(at);
        if seen & (WORD | SINGLE) == 0 {
            at += 1;
            continue;
        }
        if seen == SINGLE {
            at = after(at);
            sink(&text[start..at]);
            continue;
        }
        let mut last = seen;
        loop {
            at += 1;
            let next = class(at);
            if next & WORD != 0 {
                last = next;
                seen |= next;
                continue;
            }
            let joins = (next & JOINS_LETTERS != 0 && last == LETTER)
                || (next & JOINS_DIGITS != 0 && last == DIGIT);
            if !(joins && class(after(at)) == last) {
                break;
            }
            at = after(at) - 1;
        }
        if seen != UNDERSCORE {
            sink(&text[start..at]);
        }
    }
}

/// Tokens of `code`, in the same way.
pub(super) fn code(text: &[u8], class: impl Fn(usize) -> u8, sink: &mut impl FnMut(&[u8])) {
    let mut at = 0;
    while at < text.len() {
        let start = at;
        let first = class(at);
        if first & WORD != 0 {
            while class(at) & WORD != 0 {
                at += 1;
            }
        } else {
            at = after(at, &class);
        }
        if first & (WORD | MARK | SINGLE) != 0 {
            sink(&text[start..at]);
        }
    }
}

/// Where the character after the one at `at` begins.
fn after(at: usize, class: impl Fn(usize) -> u8) -> usize {
    let mut at = at + 1;
    while class(at) == CONTINUED {
        at += 1;
    }
    at
}
