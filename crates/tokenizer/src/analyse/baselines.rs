//! The granularities beside subwords: what the same texts cost as words, as characters and as bytes.

use super::counts::{TextCounts, TextWords};
use crate::sampled::SampledCounts;
use std::collections::BTreeSet;

/// Counts texts by their words, characters and bytes; merges in any order.
///
/// Words are those of [`TextWords`]: what stands between them is no token here, though it is one of the others.
pub struct BaselineTally {
    words: TextCounts,
    characters: TextCounts,
    bytes: TextCounts,
    distinct_words: SampledCounts<u64>,
    distinct_characters: BTreeSet<char>,
    distinct_bytes: BTreeSet<u8>,
}

impl BaselineTally {
    /// An empty tally that counts at most `limit` distinct words (about 100 bytes each).
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            words: TextCounts::default(),
            characters: TextCounts::default(),
            bytes: TextCounts::default(),
            distinct_words: SampledCounts::new(1, limit),
            distinct_characters: BTreeSet::new(),
            distinct_bytes: BTreeSet::new(),
        }
    }

    /// Counts one text.
    pub fn add_text(&mut self, text: &TextWords<'_>) {
        let base = TextCounts {
            documents: 1,
            bytes: text.text.len() as u64,
            characters: text.characters,
            words: text.words.len() as u64,
            ..TextCounts::default()
        };
        let of_units = |tokens: u64, units: &dyn Fn(&str) -> usize| {
            let mut counts = TextCounts { tokens, ..base };
            for word in text.each() {
                let units = units(word);
                counts.word_tokens += units as u64;
                counts.single_token_words += u64::from(units == 1);
                counts.continued_words += u64::from(units > 1);
            }
            counts
        };
        self.words.add(&of_units(base.words, &|_| 1));
        self.characters.add(&of_units(base.characters, &|word| word.chars().count()));
        self.bytes.add(&of_units(base.bytes, &str::len));
        self.distinct_words.add_text(0, text.text, |counts| {
            text.each().for_each(|word| counts.add(word, 1));
        });
        self.distinct_characters.extend(text.text.chars());
        self.distinct_bytes.extend(text.text.bytes());
    }

    /// Adds what another tally counted.
    #[must_use]
    pub fn merge(mut self, mut other: Self) -> Self {
        self.words.add(&other.words);
        self.characters.add(&other.characters);
        self.bytes.add(&other.bytes);
        self.distinct_characters.append(&mut other.distinct_characters);
        self.distinct_bytes.append(&mut other.distinct_bytes);
        Self { distinct_words: self.distinct_words.merge(other.distinct_words), ..self }
    }

    /// Words, characters and bytes: the name, how many distinct ones, and the counts.
    pub(super) fn finish(self) -> [(&'static str, Option<u64>, TextCounts); 3] {
        let table = self.distinct_words.finish();
        let is_whole = table.sampled_one_in == 1 && table.skipped() == 0;
        let words = table.groups.iter().map(|group| group.len() as u64).sum();
        [
            ("words", is_whole.then_some(words), self.words),
            ("characters", Some(self.distinct_characters.len() as u64), self.characters),
            ("bytes", Some(self.distinct_bytes.len() as u64), self.bytes),
        ]
    }
}
