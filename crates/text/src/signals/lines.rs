//! Scores of lines and paragraphs: those that begin or end with a mark, repeat one before them, or are short or long.

use super::characters::{is_line_end, is_space, is_terminal};
use super::words::share;
use model::invariant::part;
use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use xxhash_rust::xxh3::xxh3_64;

/// The lines of a text as Python's `str.splitlines` cuts it: a line end at the end begins none.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text).filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let from = rest?;
        let Some((at, end)) = from.char_indices().find(|(_, character)| is_line_end(*character))
        else {
            rest = None;
            return Some(from);
        };
        let (line, after) = from.split_at(at);
        let after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix(end));
        rest = after.filter(|after| !after.is_empty());
        Some(line)
    })
}

/// Share of the lines that begin with a bullet, `•` or `-`, white space before it aside.
pub fn bullet_fraction(text: &str) -> f64 {
    of_lines(text, |line| line.trim_start_matches(is_space).starts_with(['•', '-']))
}

/// Share of the lines that end with an ellipsis, `…` or three full stops, white space behind it aside.
pub fn ellipsis_fraction(text: &str) -> f64 {
    of_lines(text, |line| {
        let line = line.trim_end_matches(is_space);
        line.ends_with("...") || line.ends_with('…')
    })
}

fn of_lines(text: &str, is: impl Fn(&str) -> bool) -> f64 {
    let (mut part, mut whole) = (0, 0);
    for line in lines(text) {
        whole += 1;
        part += u64::from(is(line));
    }
    share(part, whole)
}

/// A text whose lines end where their last sign is: no carriage return, nor other white space, before a line feed and
/// at the end. Scores of lines between line feeds are those of this text, whichever editor wrote it.
pub(super) fn trimmed(text: &str) -> Cow<'_, str> {
    if !text.split('\n').any(|line| line.ends_with(is_space)) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        out.push_str(line.trim_end_matches(is_space));
    }
    out.into()
}

/// Lines between line feeds that are not blank.
fn unblank(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').filter(|line| !line.chars().all(is_space))
}

/// Share of the lines that are not blank which end with what ends a sentence.
pub fn terminal_punctuation_fraction(text: &str) -> f64 {
    let (mut part, mut whole) = (0, 0);
    for line in unblank(&trimmed(text)) {
        whole += 1;
        part += u64::from(line.ends_with(is_terminal));
    }
    share(part, whole)
}

/// Share of the lines that are not blank which have at most so many characters.
pub fn short_line_fraction(text: &str, chars: u64) -> f64 {
    let (mut part, mut whole) = (0, 0);
    for line in unblank(&trimmed(text)) {
        whole += 1;
        part += u64::from(length(line) <= chars);
    }
    share(part, whole)
}

/// Lines between line feeds that have at least so many characters.
pub fn long_line_count(text: &str, chars: u64) -> u64 {
    trimmed(text).split('\n').filter(|line| length(line) >= chars).count() as u64
}

/// Share of the characters, line feeds aside, in lines that are not blank and equal one before them.
pub fn char_dup_fraction(text: &str) -> f64 {
    let text = trimmed(text);
    let all = text.chars().filter(|character| *character != '\n').count() as u64;
    share(RepeatedPieces::of(unblank(&text)).chars, all)
}

/// Share of the lines that equal one before them; lines are cut at runs of line feeds.
pub fn dup_line_fraction(text: &str) -> f64 {
    RepeatedPieces::of_lines(&trimmed(text)).fraction()
}

/// Share of the characters in lines that equal one before them; lines are cut at runs of line feeds.
pub fn dup_line_char_fraction(text: &str) -> f64 {
    let text = trimmed(text);
    share(RepeatedPieces::of_lines(&text).chars, length(&text))
}

/// Share of the paragraphs that equal one before them; they are cut at two line feeds or more.
pub fn dup_paragraph_fraction(text: &str) -> f64 {
    RepeatedPieces::of_paragraphs(&trimmed(text)).fraction()
}

/// Share of the characters in paragraphs that equal one before them.
pub fn dup_paragraph_char_fraction(text: &str) -> f64 {
    let text = trimmed(text);
    share(RepeatedPieces::of_paragraphs(&text).chars, length(&text))
}

/// Characters.
pub(super) fn length(text: &str) -> u64 {
    text.chars().count() as u64
}

/// What of a sequence of pieces came before in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RepeatedPieces {
    pieces: u64,
    repeated: u64,
    /// Characters of the repeated ones.
    pub(super) chars: u64,
}

impl RepeatedPieces {
    fn of<'t>(pieces: impl Iterator<Item = &'t str>) -> Self {
        let (mut found, mut seen) = (Self::default(), SeenHashes::default());
        for piece in pieces {
            found.pieces += 1;
            // A hash of 64 bits stands for a piece.
            if !seen.insert(xxh3_64(piece.as_bytes())) {
                found.repeated += 1;
                found.chars += length(piece);
            }
        }
        found
    }

    /// The scores of the lines of a text that is [`trimmed`].
    pub(super) fn of_lines(text: &str) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        Self::of(cut(text, 1))
    }

    /// The scores of the paragraphs of a text that is [`trimmed`].
    pub(super) fn of_paragraphs(text: &str) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        Self::of(cut(text.trim_matches(is_space), 2))
    }

    pub(super) fn fraction(&self) -> f64 {
        share(self.repeated, self.pieces)
    }
}

/// The pieces between runs of so many line feeds or more, empty ones at the ends included.
fn cut(text: &str, least: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let from = rest?;
        let bytes = from.as_bytes();
        let mut at = 0;
        while let Some(found) = bytes.get(at..).and_then(|b| b.iter().position(|b| *b == b'\n')) {
            let start = at + found;
            let tail = part(bytes, start..);
            let run = tail.iter().take_while(|byte| **byte == b'\n').count();
            if run >= least {
                rest = from.get(start + run..);
                return from.get(..start);
            }
            at = start + run;
        }
        rest = None;
        Some(from)
    })
}

/// Hashes that were seen.
pub(super) type SeenHashes = HashSet<u64, BuildHasherDefault<PassThroughHasher>>;

/// The hasher of what is a hash already.
#[derive(Default)]
pub(super) struct PassThroughHasher(u64);

impl Hasher for PassThroughHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
