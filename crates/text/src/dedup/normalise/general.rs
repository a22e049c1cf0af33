//! The general tokenizer of `web` and `code`, by the Unicode tables: it defines the tokens that fast paths must give.

use super::WordRules;
use super::folding::{self, is_uncased};
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use unicode_segmentation::UnicodeSegmentation;

/// The stretch in lower case, and that in NFC.
#[derive(Clone, Debug, Default)]
pub(super) struct GeneralBuffers {
    lower: String,
    composed: String,
}

impl GeneralBuffers {
    pub(super) fn shrink(&mut self, bytes: usize) {
        for buffer in [&mut self.lower, &mut self.composed] {
            buffer.clear();
            buffer.shrink_to(bytes);
        }
    }
}

/// Calls `sink` with every token of `text`.
pub(super) fn tokens(
    text: &str,
    rules: WordRules,
    buffers: &mut GeneralBuffers,
    sink: &mut impl FnMut(&[u8]),
) {
    let text =
        if rules == WordRules::Web2 { fold_in_full(text, buffers) } else { fold(text, buffers) };
    match rules {
        WordRules::Web | WordRules::Web2 => web(text, sink),
        WordRules::Code => code(text, sink),
    }
}

/// Lower case, then NFC.
fn fold<'b>(text: &str, buffers: &'b mut GeneralBuffers) -> &'b str {
    let GeneralBuffers { lower, composed } = buffers;
    lower.clear();
    for character in text.chars() {
        if character.is_ascii() {
            lower.push(character.to_ascii_lowercase());
        } else if is_uncased(character) {
            lower.push(character);
        } else {
            lower.extend(lower_case(character));
        }
    }
    compose(lower, composed)
}

/// The folding of version 2, then NFC.
fn fold_in_full<'b>(text: &str, buffers: &'b mut GeneralBuffers) -> &'b str {
    let GeneralBuffers { lower, composed } = buffers;
    lower.clear();
    let mut has_iota = false;
    for character in text.chars() {
        has_iota |= is_with_iota(character);
        folding::fold(character, &mut |part| lower.push(part));
    }
    // A mark behind it would stand upon another letter than in the composed text.
    if has_iota && is_nfc_quick(text.chars()) != IsNormalized::Yes {
        lower.clear();
        let seen = text.chars().filter(|character| !folding::is_unseen(*character));
        seen.nfc().for_each(|character| folding::fold(character, &mut |part| lower.push(part)));
    }
    compose(lower, composed)
}

/// Whether the character is the iota below, which is folded to a letter, or has it.
const fn is_with_iota(character: char) -> bool {
    matches!(character, '\u{345}' | '\u{1f80}'..='\u{1ffc}')
}

/// The text in NFC, in `composed` unless it is already.
fn compose<'b>(text: &'b str, composed: &'b mut String) -> &'b str {
    if is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return text;
    }
    composed.clear();
    composed.extend(text.nfc());
    composed
}

/// The lower case of a character wherever it stands: a final sigma is a sigma.
pub(super) fn lower_case(character: char) -> impl Iterator<Item = char> {
    character.to_lowercase().map(|c| if c == 'ς' { 'σ' } else { c })
}

fn web(text: &str, sink: &mut impl FnMut(&[u8])) {
    for segment in text.split_word_bounds() {
        let segment = segment.trim();
        if segment.contains(char::is_alphanumeric) {
            web_segment(segment, sink);
        } else if segment.contains(is_pictograph) {
            sink(segment.as_bytes());
        }
    }
}

/// A segment is one token, except that every letter of an unspaced script begins another, and so
/// does what follows such letters in a script with spaces.
fn web_segment(segment: &str, sink: &mut impl FnMut(&[u8])) {
    let mut rest = segment;
    let mut unspaced = false;
    let mut emit = |token: &str| {
        if token.contains(char::is_alphanumeric) {
            sink(token.as_bytes());
        }
    };
    for (at, character) in segment.char_indices() {
        let letter = is_unspaced(character);
        if !(letter || (unspaced && character.is_alphanumeric())) || is_combining_mark(character) {
            continue;
        }
        unspaced = letter;
        let done = segment.len() - rest.len();
        if let Some((token, tail)) = rest.split_at_checked(at - done) {
            emit(token);
            rest = tail;
        }
    }
    emit(rest);
}

/// What a character does to the token before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CodeClass {
    /// Nothing open: white space and controls.
    Gap,
    /// Continues a run of letters, digits and underscores.
    Word,
    /// Is a token with the marks upon it: punctuation, symbols, letters of unspaced scripts.
    Alone,
}

fn code(text: &str, sink: &mut impl FnMut(&[u8])) {
    let mut open = CodeClass::Gap;
    let mut start = 0;
    let mut emit = |open: CodeClass, token: Option<&str>| {
        if let (CodeClass::Word | CodeClass::Alone, Some(token)) = (open, token) {
            sink(token.as_bytes());
        }
    };
    for (at, character) in text.char_indices() {
        if is_format(character) || (is_combining_mark(character) && open != CodeClass::Gap) {
            continue;
        }
        let now = if character.is_whitespace() || character.is_control() {
            CodeClass::Gap
        } else if is_unspaced(character) || !(character.is_alphanumeric() || character == '_') {
            CodeClass::Alone
        } else {
            CodeClass::Word
        };
        if !(now == CodeClass::Word && open == CodeClass::Word) {
            emit(open, text.get(start..at));
            start = at;
            open = now;
        }
    }
    emit(open, text.get(start..));
}

/// Whether the character belongs to a script that is written without spaces between words, so that
/// each of its letters is a token. Hangul is not among them: Korean has spaces.
pub(super) fn is_unspaced(character: char) -> bool {
    let listed = match character {
        // Nothing below Thai; the bulk of text stops here.
        '\0'..='\u{dff}' => return false,
        // Thai, Lao, Tibetan, Myanmar, Khmer
        '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        // Tai Le, New Tai Lue, Tai Tham, Balinese
        | '\u{1950}'..='\u{19df}' | '\u{1a20}'..='\u{1aaf}' | '\u{1b00}'..='\u{1b7f}'
        // Ideographic marks and numerals, Hiragana, Katakana, Bopomofo
        | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303c}'
        | '\u{3041}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}'
        // Han
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}'
        // Javanese, Myanmar extended, Tai Viet
        | '\u{a980}'..='\u{a9ff}' | '\u{aa60}'..='\u{aadf}'
        // Half-width Katakana, old Kana
        | '\u{ff66}'..='\u{ff9f}' | '\u{1aff0}'..='\u{1b16f}' => true,
        _ => false,
    };
    listed && character.is_alphabetic()
}

/// Whether the character is a symbol that means something by itself: an emoji or other pictograph,
/// a dingbat, a Braille cell. Given by blocks, which never change.
pub(super) fn is_pictograph(character: char) -> bool {
    matches!(
        character,
        '\u{2600}'..='\u{27bf}' | '\u{2801}'..='\u{28ff}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}'
    )
}

/// Whether the character is invisible and changes only how its neighbours are shown or joined.
pub(super) fn is_format(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}
