//! Adds terms to models that take no merges: to the lists of WordPiece and Unigram, or as added tokens, matched first.

use super::base::{ExtensionBase, trial_contexts};
use super::bpe::NewToken;
use super::embedding_map::TokenOrigin;
use super::report::{TermOutcome, TermReport};
use crate::error::{ExtendError, TokenizerError};
use crate::models::viterbi::{Reach, UNKNOWN_PENALTY, best_score};
use std::collections::{BTreeMap, HashMap};

/// How much better a new piece scores than the best way to spell it without: more than rounding.
const MARGIN: f64 = 0.1;

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
        let pieces = base.pieces()?;
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
        let pieces_at = |rest: &str, reach: &mut Reach<'_>| {
            let ends = rest.char_indices().map(|(at, character)| at + character.len_utf8());
            for end in ends.take_while(|end| *end <= self.longest) {
                if let Some(score) = rest.get(..end).and_then(|piece| self.scores.get(piece)) {
                    reach.piece(end, *score);
                }
            }
        };
        best_score(text, Some(self.least - UNKNOWN_PENALTY), pieces_at)
    }
}

/// Texts that are to be added tokens, in the order in which they were asked for.
#[derive(Default)]
pub(super) struct AddedTerms {
    /// With the term and the form that asked.
    asked: Vec<(String, usize, usize)>,
}

impl AddedTerms {
    /// Asks for a text, as the given form of the given term. [`AddedTerms::resolve`] returns the result.
    pub(super) fn request(&mut self, text: &str, term: usize, form: usize) {
        self.asked.push((text.to_owned(), term, form));
    }

    /// Tries all that was asked for, gives ids from `first` on, and writes into the reports what became of it.
    pub(super) fn resolve(
        self,
        base: &ExtensionBase,
        first: u32,
        reports: &mut BTreeMap<usize, TermReport>,
    ) -> Result<Vec<NewToken>, TokenizerError> {
        if self.asked.is_empty() {
            return Ok(Vec::new());
        }
        let texts: Vec<String> = self.asked.iter().map(|(text, ..)| text.clone()).collect();
        let trial = base.with_added(&texts)?;
        let (mut made, mut ids): (Vec<NewToken>, BTreeMap<String, u32>) = Default::default();
        for (text, term, form) in self.asked {
            let outcome = if let Some(id) = ids.get(&text) {
                TermOutcome::Existed { id: *id }
            } else if let Some(reason) = refusal(base, &trial, &text)? {
                TermOutcome::Refused { reason }
            } else {
                let before = u32::try_from(made.len()).map_err(|_| ExtendError::Full)?;
                let id = first.checked_add(before).ok_or(ExtendError::Full)?;
                let (token, pieces, origin) =
                    (text.clone(), base.encode(&text)?, TokenOrigin::Added);
                made.push(NewToken { id, token, parents: None, pieces, count: None, origin });
                ids.insert(text, id);
                TermOutcome::Matched { id }
            };
            let report = reports.get_mut(&term).and_then(|report| report.forms.get_mut(form));
            if let Some(report) = report {
                report.outcome = outcome;
            }
        }
        Ok(made)
    }
}

/// Why a text cannot be an added token, if so. `trial` has all that were asked for.
fn refusal(
    base: &ExtensionBase,
    trial: &ExtensionBase,
    text: &str,
) -> Result<Option<String>, TokenizerError> {
    if base.vocabulary.contains_key(text) {
        return Ok(Some("the vocabulary has another entry with this spelling".to_owned()));
    }
    let id = trial.added.get(text).copied();
    for (around, is_found) in trial_contexts(text) {
        let ids = trial.encode(&around)?;
        if is_found && !id.is_some_and(|id| ids.contains(&id)) {
            return Ok(Some("another added token is found at its place".to_owned()));
        }
        if trial.decode(&ids)? != base.decode(&base.encode(&around)?)? {
            let reason = "as an added token it would change the text when it is decoded";
            return Ok(Some(reason.to_owned()));
        }
    }
    Ok(None)
}
