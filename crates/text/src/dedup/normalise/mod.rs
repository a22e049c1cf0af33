//! Text to tokens, in a form that case, spacing and (for `web`) punctuation do not change.
//!
//! `web` and `code` are ours, the others those of published pipelines (`published`).
//!
//! Our two work on the lower-cased text in NFC. Lower case comes first, since a lower-case
//! letter may compose with a mark where its capital does not; it is taken letter by letter, and a
//! final sigma counts as a sigma, so that case makes no difference.
//!
//! `web` takes the words of UAX-29: a segment with at least one alphanumeric character is a token,
//! without white space at its ends. Digits and diacritics stay. In scripts written without spaces
//! every character is a token, with the marks upon it. Other segments are dropped as
//! punctuation and space, except pictographs and Braille cells: a text of emoji is not empty.
//!
//! Version 2 of `web` folds more (`folding`): case in full, presentation forms, apostrophes; and skips characters that
//! nobody sees. A text in which there is something to see and no word is one token, itself: it has no near duplicates,
//! and equal ones meet. Version 1 has no token of it, and of a text of white space neither has one.
//!
//! `code` takes runs of letters, digits, marks and underscores, so `a.b` and `a .b` are the same three
//! tokens; every other character is a token, except white space and controls, which are dropped.
//! Scripts written without spaces are treated as in `web`.
//!
//! ASCII is most of most corpora and has a path of its own; so has text of `simple` characters. Property tests hold
//! both to the general one, which alone defines the tokens. A text is cut into ASCII and general stretches at ASCII
//! white space, where no rule of lower case, NFC or UAX-29 that could change a token looks across: nothing composes
//! with white space; a mark after it belongs to the stretch that begins with that white space, and is trimmed of it.

mod categories;
mod folding;
mod general;
mod published;
mod simple;
#[cfg(test)]
mod tests;

pub(crate) use categories::is_decimal;

use model::Normaliser;
use model::invariant::part;

/// Buffers that one text leaves to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct NormaliserBuffers {
    ascii: Vec<u8>,
    simple: simple::SimpleBuffers,
    general: general::GeneralBuffers,
    fineweb: published::FinewebBuffers,
}

impl NormaliserBuffers {
    /// Gives memory beyond `bytes` per buffer back, after an unusually long text.
    pub(super) fn shrink(&mut self, bytes: usize) {
        self.ascii.clear();
        self.ascii.shrink_to(bytes);
        self.simple.shrink(bytes);
        self.general.shrink(bytes);
        self.fineweb.shrink(bytes);
    }
}

/// The rules of our own normalisers, which share their paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordRules {
    Web,
    /// Version 2 of `Web`.
    Web2,
    Code,
}

/// The tokens of `text` in order, as the dedup policy sees them: for reports, differences and tests.
#[must_use]
pub fn words(text: &str, normaliser: Normaliser) -> Vec<String> {
    let mut words = Vec::new();
    tokens(text, normaliser, &mut NormaliserBuffers::default(), &mut |token| {
        words.push(String::from_utf8_lossy(token).into_owned());
    });
    words
}

/// Calls `sink` with the UTF-8 bytes of every token of `text` in order.
pub(super) fn tokens(
    text: &str,
    normaliser: Normaliser,
    scratch: &mut NormaliserBuffers,
    sink: &mut impl FnMut(&[u8]),
) {
    if normaliser != Normaliser::Web2 {
        return word_tokens(text, normaliser, scratch, sink);
    }
    let mut has_words = false;
    word_tokens(text, normaliser, scratch, &mut |token| {
        has_words = true;
        sink(token);
    });
    if !has_words && folding::is_seen(text) {
        sink(text.as_bytes());
    }
}

/// Gives the tokens of [`tokens`], but none for a text without words: so, in both versions of `web`, a text that is cut
/// at ASCII white space has the tokens of its pieces.
pub(super) fn word_tokens(
    text: &str,
    normaliser: Normaliser,
    scratch: &mut NormaliserBuffers,
    sink: &mut impl FnMut(&[u8]),
) {
    match normaliser {
        Normaliser::Web => by_rules(text, WordRules::Web, scratch, sink),
        Normaliser::Web2 => by_rules(text, WordRules::Web2, scratch, sink),
        Normaliser::Code => by_rules(text, WordRules::Code, scratch, sink),
        Normaliser::Bigcode => published::bigcode_tokens(text, sink),
        Normaliser::Fineweb => published::fineweb_tokens(text, &mut scratch.fineweb, sink),
        Normaliser::Slimpajama => published::slimpajama_tokens(text, sink),
    }
}

fn by_rules(
    text: &str,
    rules: WordRules,
    scratch: &mut NormaliserBuffers,
    sink: &mut impl FnMut(&[u8]),
) {
    for stretch in TextStretches::new(text) {
        match stretch {
            TextStretch::Ascii(bytes) => {
                simple::ascii_tokens(bytes, rules, &mut scratch.ascii, sink)
            }
            TextStretch::General(text) => {
                if !simple::tokens(text, rules, &mut scratch.simple, sink) {
                    general::tokens(text, rules, &mut scratch.general, sink);
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextStretch<'t> {
    Ascii(&'t [u8]),
    General(&'t str),
}

/// A text's stretches in order. A general one holds every character that is not ASCII, begins with
/// the white space before it (or where the text does) and ends before white space (or with the text).
struct TextStretches<'t> {
    rest: &'t str,
}

impl<'t> TextStretches<'t> {
    /// A general stretch ends only where this many bytes of ASCII follow: in a text of another script
    /// it would otherwise end at every word. Has no influence on the tokens.
    const GAP: usize = 32;

    fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    /// Cuts `at` bytes off the front; the places asked for are ASCII characters, hence boundaries.
    fn cut(&mut self, at: usize) -> &'t str {
        let (front, rest) = self.rest.split_at_checked(at).unwrap_or((self.rest, ""));
        self.rest = rest;
        front
    }
}

impl<'t> Iterator for TextStretches<'t> {
    type Item = TextStretch<'t>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.rest.as_bytes();
        if bytes.is_empty() {
            return None;
        }
        let Some(first) = first_general(bytes) else {
            return Some(TextStretch::Ascii(self.cut(bytes.len()).as_bytes()));
        };
        let before = part(bytes, ..first);
        let open = before.iter().rposition(is_space).unwrap_or(0);
        if open > 0 {
            return Some(TextStretch::Ascii(self.cut(open).as_bytes()));
        }
        let mut end = first;
        loop {
            let tail = part(bytes, end..);
            let Some(space) = tail.iter().position(is_space) else {
                return Some(TextStretch::General(self.cut(bytes.len())));
            };
            let after = part(tail, space..);
            // In a text of another script most words begin with one of its letters.
            if after.get(1).is_some_and(|byte| !byte.is_ascii()) {
                end += space + 1;
                continue;
            }
            match first_general(after.get(..Self::GAP).unwrap_or(after)) {
                Some(next) => end += space + next,
                None => return Some(TextStretch::General(self.cut(end + space))),
            }
        }
    }
}

fn is_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Position of the first byte that is not ASCII.
fn first_general(bytes: &[u8]) -> Option<usize> {
    const STEP: usize = 64;
    let mut base = 0;
    for chunk in bytes.chunks(STEP) {
        if !chunk.is_ascii() {
            return chunk.iter().position(|byte| !byte.is_ascii()).map(|at| base + at);
        }
        base += chunk.len();
    }
    None
}
