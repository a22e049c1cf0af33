//! How long pre-tokens are in every smaller vocabulary of a WordPiece.
//!
//! A WordPiece takes the longest piece that it has, from the left. With the single characters and the first longer
//! pieces of its vocabulary it gives what training to that size would have given: the trainer makes the pieces one
//! behind the other. A word is cut otherwise only where a piece comes in that is longer than the one taken at a place
//! of its path, so it is examined once for each of these.

use super::subject::{AnalysedTokenizer, VocabularyToken};
use rayon::prelude::*;
use std::collections::HashMap;
use tokenizers::models::wordpiece::WordPiece;

/// Words per piece of parallel work.
const PIECE: usize = 4096;

/// The longer pieces of a WordPiece by id, and what is in every vocabulary.
pub(super) struct GreedySegmenter<'s> {
    /// By spelling at the beginning of a word: how many longer pieces there are when it comes in.
    first: HashMap<&'s str, u32>,
    /// The same inside of a word, without the mark.
    inside: HashMap<&'s str, u32>,
    /// Bytes of the longest.
    longest: usize,
    /// Longer words are unknown, in characters.
    most: usize,
    /// Longer pieces.
    pub(super) pieces: u32,
}

/// Tokens that each longer piece adds to the groups: mostly it takes some away.
pub(super) struct SizeChanges {
    /// Tokens before the first longer piece, by group.
    pub(super) tokens: Vec<u64>,
    /// By longer piece, then by group.
    pub(super) added: Vec<i64>,
}

impl<'s> GreedySegmenter<'s> {
    pub(super) fn of(subject: &'s AnalysedTokenizer<'_>, model: &WordPiece) -> Self {
        let prefix = model.continuing_subword_prefix.as_str();
        let most = model.max_input_chars_per_word;
        let (first, inside) = (HashMap::new(), HashMap::new());
        let mut greedy = Self { first, inside, longest: 0, most, pieces: 0 };
        for (_, token) in subject.iter() {
            let rest = token.spelled.strip_prefix(prefix);
            let is_single = |token: &VocabularyToken| {
                let text = rest.filter(|rest| !rest.is_empty()).unwrap_or(&token.spelled);
                text.chars().nth(1).is_none()
            };
            let comes_in = if token.is_added() || is_single(token) {
                0
            } else {
                greedy.pieces += 1;
                greedy.pieces
            };
            greedy.longest = greedy.longest.max(token.spelled.len());
            greedy.first.insert(&token.spelled, comes_in);
            if let Some(rest) = rest {
                greedy.inside.insert(rest, comes_in);
            }
        }
        greedy
    }

    /// What every longer piece does to words with their counts by group. The result does not depend on the
    /// number of threads. Memory: 8 bytes a piece, group and thread.
    pub(super) fn changes(&self, words: &[(String, Vec<u64>)], groups: usize) -> SizeChanges {
        let empty = || SizeChanges {
            tokens: vec![0; groups],
            added: vec![0; self.pieces as usize * groups],
        };
        let piece = words.len().div_ceil(4 * rayon::current_num_threads().max(1)).max(PIECE);
        let count = |words: &[(String, Vec<u64>)]| {
            let mut changes = empty();
            let mut steps = Vec::new();
            for (word, counts) in words {
                self.steps(word, &mut steps);
                let mut before = 0_i64;
                for (comes_in, tokens) in &steps {
                    changes.add(*comes_in, *tokens - before, counts);
                    before = *tokens;
                }
            }
            changes
        };
        words.par_chunks(piece).map(count).reduce_with(SizeChanges::and).unwrap_or_else(empty)
    }

    /// How many tokens the word has from how many longer pieces on; the first is for none.
    fn steps(&self, word: &str, steps: &mut Vec<(u32, i64)>) {
        steps.clear();
        if word.chars().nth(self.most).is_some() {
            steps.push((0, 1));
            return;
        }
        let (mut at, mut places) = (0, HashMap::new());
        loop {
            let (tokens, next) = self.path(word, at, &mut places);
            if steps.last().is_none_or(|(_, last)| *last != tokens) {
                steps.push((at, tokens));
            }
            let Some(next) = next else { return };
            at = next;
        }
    }

    /// Tokens with the first `at` longer pieces, and the next one that takes another way. `places` are the pieces at
    /// the places that were examined: length and when they come in.
    fn path(
        &self,
        word: &str,
        at: u32,
        places: &mut HashMap<usize, Vec<(usize, u32)>>,
    ) -> (i64, Option<u32>) {
        let (mut begin, mut tokens) = (0, 0);
        let mut next: Option<u32> = None;
        while let Some(rest) = word.get(begin..).filter(|rest| !rest.is_empty()) {
            let pieces = places.entry(begin).or_insert_with(|| self.pieces_at(rest, begin == 0));
            let mut taken = None;
            // Longest first: those before the one that is taken would be taken instead.
            for (length, comes_in) in pieces.iter() {
                if *comes_in <= at {
                    taken = Some(*length);
                    break;
                }
                next = Some(next.map_or(*comes_in, |next| next.min(*comes_in)));
            }
            // Without a piece the whole word is unknown.
            let Some(length) = taken else { return (1, next) };
            begin += length;
            tokens += 1;
        }
        (tokens, next)
    }

    /// The pieces that a text begins with, longest first.
    fn pieces_at(&self, rest: &str, is_first: bool) -> Vec<(usize, u32)> {
        let known = if is_first { &self.first } else { &self.inside };
        let ends = rest.char_indices().map(|(at, character)| at + character.len_utf8());
        let within = ends.take_while(|end| *end <= self.longest);
        let mut pieces: Vec<(usize, u32)> =
            within.filter_map(|end| Some((end, *known.get(rest.get(..end)?)?))).collect();
        pieces.reverse();
        pieces
    }
}

impl SizeChanges {
    /// `more` tokens a word from the `comes_in`-th longer piece on; from the beginning for 0.
    fn add(&mut self, comes_in: u32, more: i64, counts: &[u64]) {
        let Some(place) = (comes_in as usize).checked_sub(1) else {
            for (total, count) in self.tokens.iter_mut().zip(counts) {
                *total = total.wrapping_add(more.unsigned_abs().wrapping_mul(*count));
            }
            return;
        };
        let row = self.added.get_mut(place * counts.len()..).unwrap_or_default();
        for (total, count) in row.iter_mut().zip(counts) {
            *total = total.wrapping_add(more.wrapping_mul(count.cast_signed()));
        }
    }

    fn and(mut self, other: Self) -> Self {
        for (total, more) in self.tokens.iter_mut().zip(other.tokens) {
            *total = total.wrapping_add(more);
        }
        for (total, more) in self.added.iter_mut().zip(other.added) {
            *total = total.wrapping_add(more);
        }
        self
    }
}
