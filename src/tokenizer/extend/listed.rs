//! Terms of models that list their tokens: WordPiece takes the longest, Unigram the most likely.

use super::base::{ExtensionBase, pieces};
use crate::tokenizer::extend_error::ExtendError;
use std::collections::HashMap;

/// How much better a new piece scores than the best way to spell it without: more than rounding.
const MARGIN: f64 = 0.1;
/// The reference implementation puts unknown characters this far below the lowest score.
const UNKNOWN_PENALTY: f64 = 10.0;

/// Why WordPiece cannot hold a word as one token.
pub(super) fn refuse_wordpiece(base: &ExtensionBase, word: &str) -> Option<String> {
    let setting = |name: &str| base.model().get(name);
    let most = setting("max_input_chars_per_word").and_then(serde_json::Value::as_u64);
    let prefix = setting("continuing_subword_prefix").and_then(serde_json::Value::as_str);
    if most.is_some_and(|most| word.chars().count() as u64 > most) {
        return Some("it is longer than the words that the model reads".to_owned());
    }
    let prefix = prefix.unwrap_or("##");
    let is_continuing = !prefix.is_empty() && word.starts_with(prefix);
    is_continuing.then(|| format!("it begins with `{prefix}`, the mark of a continued word"))
}

/// Scores of pieces, old and new.
pub(super) struct PieceScores {
    scores: HashMap<String, f64>,
    least: f64,
    longest: usize,
}

impl PieceScores {
    pub(super) fn of(base: &ExtensionBase) -> Result<Self, ExtendError> {
        let pieces = pieces(base.model())?;
        let least = pieces.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min);
        let longest = pieces.iter().map(|(piece, _)| piece.len()).max().unwrap_or(0);
        let scores = pieces.iter().map(|(piece, score)| ((*piece).to_owned(), *score)).collect();
        Ok(Self { scores, least, longest })
    }

    /// Adds a piece with the score that makes it the best way to spell itself by a small margin: then
    /// it is chosen wherever the pieces so far had borders at both its ends, and nearly nowhere else.
    /// Never below the lowest score, from which the one of unknown characters is reckoned.
    pub(super) fn add(&mut self, piece: &str) -> f64 {
        let score = (self.best(piece) + MARGIN).max(self.least);
        self.scores.insert(piece.to_owned(), score);
        self.longest = self.longest.max(piece.len());
        score
    }

    /// The score of the best way to spell a text.
    fn best(&self, text: &str) -> f64 {
        let mut best: Vec<f64> = vec![f64::NEG_INFINITY; text.len() + 1];
        if let Some(first) = best.first_mut() {
            *first = 0.0;
        }
        for (start, character) in text.char_indices() {
            let so_far = best.get(start).copied().unwrap_or(f64::NEG_INFINITY);
            let next = start + character.len_utf8();
            let rest = text.get(start..).unwrap_or_default();
            let ends = rest.char_indices().map(|(at, c)| start + at + c.len_utf8());
            let mut is_known = false;
            for end in ends.take_while(|end| end - start <= self.longest) {
                let score = text.get(start..end).and_then(|piece| self.scores.get(piece));
                if let (Some(score), Some(slot)) = (score, best.get_mut(end)) {
                    *slot = slot.max(so_far + score);
                    is_known |= end == next;
                }
            }
            if !is_known && let Some(slot) = best.get_mut(next) {
                *slot = slot.max(so_far + self.least - UNKNOWN_PENALTY);
            }
        }
        best.last().copied().unwrap_or(0.0)
    }
}
