//! Scores of words: their number and mean length, the share with a letter, and symbols and line feeds per word.

use super::characters::{is_letter, is_punctuation, is_space};

/// The words of a text: what stands between white space, as Python's `str.split` cuts it.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// What one walk over the words of a text counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WordStatistics {
    /// Words.
    all: u64,
    /// Words that are not of punctuation alone.
    spoken: u64,
    /// Characters of these.
    spoken_chars: u64,
    /// Words with a letter.
    lettered: u64,
    /// Number signs in the text.
    hashes: u64,
    /// Ellipses in the text, of one character or of three.
    ellipses: u64,
    /// Line feeds in the text.
    newlines: u64,
}

impl WordStatistics {
    pub(super) fn of(text: &str) -> Self {
        let mut counts = Self::default();
        for word in words(text) {
            let (mut chars, mut is_spoken, mut is_lettered) = (0, false, false);
            for character in word.chars() {
                chars += 1;
                is_spoken = is_spoken || !is_punctuation(character);
                is_lettered = is_lettered || is_letter(character);
            }
            counts.all += 1;
            counts.lettered += u64::from(is_lettered);
            counts.spoken += u64::from(is_spoken);
            counts.spoken_chars += if is_spoken { chars } else { 0 };
        }
        let count = |sign: u8| text.bytes().filter(|byte| *byte == sign).count() as u64;
        counts.hashes = count(b'#');
        counts.newlines = count(b'\n');
        counts.ellipses = (text.matches("...").count() + text.matches('…').count()) as u64;
        counts
    }

    pub(super) const fn word_count(&self) -> u64 {
        self.spoken
    }

    pub(super) fn mean_word_length(&self) -> f64 {
        share(self.spoken_chars, self.spoken)
    }

    pub(super) fn symbol_ratio(&self) -> f64 {
        share(self.hashes.max(self.ellipses), self.all)
    }

    pub(super) fn alpha_ratio(&self) -> f64 {
        share(self.lettered, self.all)
    }

    pub(super) fn newline_ratio(&self) -> f64 {
        share(self.newlines, self.all)
    }
}

/// A share; 0 of nothing.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Words that are not of punctuation alone.
pub fn word_count(text: &str) -> u64 {
    WordStatistics::of(text).word_count()
}

/// Mean length in characters of the words that are not of punctuation alone.
pub fn mean_word_length(text: &str) -> f64 {
    WordStatistics::of(text).mean_word_length()
}

/// Number signs, or ellipses where these are more, a word.
pub fn symbol_ratio(text: &str) -> f64 {
    WordStatistics::of(text).symbol_ratio()
}

/// Share of the words that have a letter.
pub fn alpha_ratio(text: &str) -> f64 {
    WordStatistics::of(text).alpha_ratio()
}

/// Line feeds a word.
pub fn newline_ratio(text: &str) -> f64 {
    WordStatistics::of(text).newline_ratio()
}
