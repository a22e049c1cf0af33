//! The byte scanner for tokens of `web` and `code`: a fast path for ASCII and for simple characters beyond it.
//!
//! Simple characters are letters and digits that stand for themselves, ideographs and kana, punctuation and spaces. A
//! stretch with a mark, a joiner or anything else that NFC might change takes the general path.
//!
//! The scanner's rules of words are for texts in which one character, and the one after a joining mark, decide. The
//! classes beyond ASCII are asked of the general path's own tables, by what becomes of a character between others, once
//! per block of 256 characters that a text makes use of.
#![expect(
    clippy::indexing_slicing,
    reason = "tables have an entry for every byte, cursors stay within the length tested"
)]

use super::WordRules;
use super::folding::fold;
use super::general::{is_format, is_pictograph, is_unspaced, lower_case};
use std::sync::OnceLock;
use unicode_normalization::char::{canonical_combining_class, is_combining_mark};
use unicode_normalization::{IsNormalized, is_nfc_quick};
use unicode_segmentation::UnicodeSegmentation;

/// The lower-case text, and the class of each of its bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct SimpleBuffers {
    lower: Vec<u8>,
    classes: Vec<u8>,
}

impl SimpleBuffers {
    pub(super) fn shrink(&mut self, bytes: usize) {
        self.lower.clear();
        self.lower.shrink_to(bytes);
        self.classes.clear();
        self.classes.shrink_to(bytes);
    }
}

/// Calls `sink` with every token of `text` and returns true; or returns false, having done nothing, if
/// the text is not simple.
pub(super) fn tokens(
    text: &str,
    rules: WordRules,
    buffers: &mut SimpleBuffers,
    sink: &mut impl FnMut(&[u8]),
) -> bool {
    let SimpleBuffers { lower, classes } = buffers;
    lower.clear();
    classes.clear();
    lower.reserve(text.len() + 4);
    classes.reserve(text.len() + 4);
    let mut page = CharPage::of(0, rules);
    let mut before = CharKind::Class(0);
    for character in text.chars() {
        if character.is_ascii() {
            let byte = u8::try_from(character).unwrap_or_default().to_ascii_lowercase();
            if byte == b'_' && before == CharKind::Katakana {
                return false;
            }
            lower.push(byte);
            classes.push(class(byte));
            before = CharKind::Class(0);
            continue;
        }
        let code = u32::from(character);
        if code >> 8 != page.number {
            page = CharPage::of(code >> 8, rules);
        }
        let entry = page.entry(code);
        let class = match entry.kind {
            CharKind::Class(class) => class,
            CharKind::Katakana => SINGLE,
            CharKind::PassedOver => continue,
            CharKind::Complex => return false,
        };
        let rest = if class & WORD != 0 { class } else { CONTINUED };
        // Four bytes each; the character keeps as many as it has.
        let end = lower.len() + usize::from(entry.length);
        lower.extend_from_slice(&entry.lower);
        lower.truncate(end);
        classes.extend_from_slice(&[class, rest, rest, rest]);
        classes.truncate(end);
        before = entry.kind;
    }
    let class = |at: usize| classes.get(at).copied().unwrap_or(0);
    match rules {
        WordRules::Web | WordRules::Web2 => web(lower, class, sink),
        WordRules::Code => code(lower, class, sink),
    }
    true
}

/// What a character is to the scanner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CharKind {
    Class(u8),
    /// A token by itself, unless an underscore follows.
    Katakana,
    /// No part of the text.
    PassedOver,
    /// Needs the general path.
    Complex,
}

#[derive(Clone, Copy, Debug)]
struct CharEntry {
    /// UTF-8 of what it is folded to, and zeros.
    lower: [u8; 4],
    /// Bytes of it.
    length: u8,
    kind: CharKind,
}

const COMPLEX: CharEntry = CharEntry { lower: [0; 4], length: 0, kind: CharKind::Complex };

/// Pages that are made when a text makes use of them.
type CharTable<const PAGES: usize> = [OnceLock<Box<[CharEntry; 256]>>; PAGES];

/// 256 characters whose codes differ only in the low byte.
struct CharPage {
    number: u32,
    entries: &'static [CharEntry; 256],
}

impl CharPage {
    fn of(number: u32, rules: WordRules) -> Self {
        /// The first two planes.
        const PAGES: usize = 512;
        static TABLE: CharTable<PAGES> = [const { OnceLock::new() }; PAGES];
        static FOLDED_IN_FULL: CharTable<PAGES> = [const { OnceLock::new() }; PAGES];
        static BEYOND: [CharEntry; 256] = [COMPLEX; 256];
        let (table, classify): (_, fn(char) -> CharEntry) = match rules {
            WordRules::Web | WordRules::Code => (&TABLE, classify),
            WordRules::Web2 => (&FOLDED_IN_FULL, classify_folded),
        };
        let entries = table.get(number as usize).map_or(&BEYOND, |page| {
            page.get_or_init(|| {
                let mut entries = Box::new([COMPLEX; 256]);
                for (code, entry) in (number << 8..).zip(entries.iter_mut()) {
                    *entry = char::from_u32(code).map_or(COMPLEX, classify);
                }
                entries
            })
        });
        Self { number, entries }
    }

    fn entry(&self, code: u32) -> CharEntry {
        self.entries[(code & 0xff) as usize]
    }
}

fn classify(character: char) -> CharEntry {
    let mut letters = lower_case(character);
    let (Some(lower), None) = (letters.next(), letters.next()) else {
        return COMPLEX;
    };
    if composes(lower) || is_format(lower) {
        return COMPLEX;
    }
    let mut bytes = [0; 4];
    let length = lower.encode_utf8(&mut bytes).len();
    CharEntry { lower: bytes, length: u8::try_from(length).unwrap_or_default(), kind: kind(lower) }
}

/// The entry of a character by the folding of version 2. A letter that folds to several has the class that they have
/// one after another.
fn classify_folded(character: char) -> CharEntry {
    let mut folded = String::new();
    fold(character, &mut |part| folded.push(part));
    let length = folded.len();
    let mut kinds = folded.chars().map(|part| match u8::try_from(part) {
        // A token of Katakana ends otherwise before an underscore.
        Ok(b'_') => CharKind::Complex,
        Ok(byte) if byte.is_ascii() => CharKind::Class(class(byte)),
        _ => classify(part).kind,
    });
    let Some(first) = kinds.next() else {
        return CharEntry { kind: CharKind::PassedOver, ..COMPLEX };
    };
    let is_one = kinds.all(|kind| kind == first && kind == CharKind::Class(LETTER));
    let mut lower = [0; 4];
    let (true, false, Some(bytes)) = (is_one, composes(character), lower.get_mut(..length)) else {
        return COMPLEX;
    };
    bytes.copy_from_slice(folded.as_bytes());
    CharEntry { lower, length: u8::try_from(length).unwrap_or_default(), kind: first }
}

/// Whether the character may change by NFC, or among others, or is a mark.
fn composes(character: char) -> bool {
    is_nfc_quick(std::iter::once(character)) != IsNormalized::Yes
        || canonical_combining_class(character) != 0
        || is_combining_mark(character)
}

/// The class of a character without marks and joiners, from the segments of texts it stands in.
fn kind(character: char) -> CharKind {
    let segments = |before: &str, after: &str| {
        let text: String = before.chars().chain([character]).chain(after.chars()).collect();
        text.split_word_bounds().count()
    };
    let alphanumeric = character.is_alphanumeric();
    let unspaced = is_unspaced(character);
    let hebrew = || segments("א\"", "") == 1;
    if alphanumeric && !unspaced && segments("a:", ":a") == 1 && !hebrew() {
        return CharKind::Class(LETTER);
    }
    if alphanumeric && !unspaced && segments("1,", ",1") == 1 {
        return CharKind::Class(DIGIT);
    }
    // Joins nothing on either side.
    let loose = ["a", "1", "_", "א", "ア", " "].into_iter().all(|other| {
        character.is_whitespace() || (segments(other, "") == 2 && segments("", other) == 2)
    });
    if unspaced && segments("ア", "ア") == 1 && segments("a", "a") == 3 {
        return CharKind::Katakana;
    }
    let spread = segments("a", "a") == 3 && segments("1", "1") == 3 && segments("_", "_") == 3;
    let alone = character.is_whitespace() || segments(&character.to_string(), "") == 2;
    match (loose, spread) {
        (true, true) if alone && (unspaced || (!alphanumeric && is_pictograph(character))) => {
            CharKind::Class(SINGLE)
        }
        (true, true) if alone && !alphanumeric => {
            let shown = !(character.is_whitespace() || character.is_control());
            CharKind::Class(if shown { MARK } else { 0 })
        }
        (true, false)
            if !alphanumeric && !is_pictograph(character) && !character.is_whitespace() =>
        {
            let letters = if segments("a", "a") == 1 { JOINS_LETTERS } else { 0 };
            let digits = if segments("1", "1") == 1 { JOINS_DIGITS } else { 0 };
            if letters | digits == 0 || segments("_", "_") != 3 {
                return CharKind::Complex;
            }
            CharKind::Class(letters | digits | MARK)
        }
        _ => CharKind::Complex,
    }
}

/// Class of every byte of ASCII; capitals are letters too, though the text is lower-cased before.
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
pub(super) fn ascii_tokens(
    text: &[u8],
    rules: WordRules,
    lower: &mut Vec<u8>,
    sink: &mut impl FnMut(&[u8]),
) {
    lower.clear();
    lower.extend_from_slice(text);
    lower.make_ascii_lowercase();
    let class = |at: usize| lower.get(at).map_or(0, |byte| class(*byte));
    match rules {
        WordRules::Web | WordRules::Web2 => web(lower, class, sink),
        WordRules::Code => code(lower, class, sink),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_characters_are_simple() {
        let joins = JOINS_LETTERS | JOINS_DIGITS | MARK;
        for (characters, kind) in [
            ("éßяЯωΣعम한", CharKind::Class(LETTER)),
            ("٣५", CharKind::Class(DIGIT)),
            ("漢字ひก★😀⠃", CharKind::Class(SINGLE)),
            ("カー", CharKind::Katakana),
            ("“”«»—…。、·€", CharKind::Class(MARK)),
            ("’․", CharKind::Class(joins)),
            ("\u{a0}\u{3000}\u{2003}\u{85}\u{2028}", CharKind::Class(0)),
            ("\u{301}\u{200d}\u{93e}א²İ\u{ad}\u{202f}🇩🏽\u{1161}བ", CharKind::Complex),
        ] {
            for character in characters.chars() {
                let expected = match character {
                    '·' => CharKind::Class(JOINS_LETTERS | MARK),
                    _ => kind,
                };
                let code = u32::from(character);
                assert_eq!(
                    CharPage::of(code >> 8, WordRules::Web).entry(code).kind,
                    expected,
                    "{character:?}"
                );
            }
        }
    }
}
