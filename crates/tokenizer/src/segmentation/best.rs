//! The best segmentations of a text by a Unigram, with their probabilities, and the entropy of all.

use super::unigram::{ModelWords, UnigramModel, require_alpha};
use crate::encode::{TokenPiece, Tokenizer};
use crate::error::TokenizerError;
use crate::models::best_paths::{PathSearch, Score, TooManyPaths, joint_choices};
use crate::models::piece_lattice::{PieceChoice, PieceLattice, independent_parts};
use model::invariant::{at, part};
use model::{Error, Hint};
use serde::Serialize;
use std::collections::BTreeMap;

/// How many segmentations of a text may be asked for: SentencePiece's limit.
pub const MOST_SEGMENTATIONS: usize = 1024;
/// Tokens that the segmentations of a text have together at most.
const MOST_TOKENS: usize = 1 << 22;

/// A segmentation of a text with its probability.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct ScoredSegmentation {
    /// Its tokens, each with the part of the normalised text that it stands for.
    pub tokens: Vec<TokenPiece>,
    /// The sum of the log probabilities of its pieces: SentencePiece's score.
    pub log_probability: f64,
    /// Its share of the probability of all segmentations of the text.
    pub probability: f64,
}

/// The best segmentations of a text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct BestSegmentations {
    /// The best first. Of two with the same log probability first that whose last piece that differs is the longer one.
    pub segmentations: Vec<ScoredSegmentation>,
    /// The logarithm of the summed probability of all segmentations of the text.
    pub log_likelihood: f64,
    /// The entropy of all segmentations of the text, in nats.
    pub entropy: f64,
}

impl Tokenizer {
    /// The `count` best segmentations of a text by a Unigram, or all where there are fewer. With `specials`, special
    /// tokens spelled in the text are special tokens.
    ///
    /// Scores are summed in 64 bits. The text is encoded with sums of 32 if it is SentencePiece's, so the best
    /// segmentation may be another where two differ by less than these can tell.
    ///
    /// # Errors
    /// [`TokenizerError`] for another model than a Unigram, a `count` of 0 or beyond [`MOST_SEGMENTATIONS`], a text
    /// that cannot be encoded, and one whose segmentations take too much memory.
    pub fn best_segmentations(
        &self,
        text: &str,
        specials: bool,
        count: usize,
    ) -> Result<BestSegmentations, TokenizerError> {
        if !(1..=MOST_SEGMENTATIONS).contains(&count) {
            return Err(Error::bad_input(format!(
                "`nbest=` is {count}; it must be from 1 to {MOST_SEGMENTATIONS}"
            ))
            .into());
        }
        let model = self.unigram("n-best segmentations")?;
        let words = self.words(text, specials)?;
        words.plain().try_for_each(|word| model.refuse_unknown(word))?;
        let mut best = BestParts::default();
        let searched = words.plain().try_for_each(|word| best.add_word(word, &model, count));
        searched.and_then(|()| best.segmentations(&words, &model, count)).map_err(|TooManyPaths| {
            let bytes = text.len();
            let message = format!(
                "the {count} best segmentations of a text of {bytes} bytes take too much memory"
            );
            Error::bad_input(message)
                .with_hint(Hint::text("ask for fewer segmentations, or give a shorter text"))
                .into()
        })
    }

    /// The entropy in nats of the segmentations of a text by a Unigram, each of weight P^`alpha`.
    ///
    /// # Errors
    /// [`TokenizerError`] for another model than a Unigram, a negative `alpha`, and a text that cannot be encoded.
    pub fn segmentation_entropy(
        &self,
        text: &str,
        specials: bool,
        alpha: f64,
    ) -> Result<f64, TokenizerError> {
        require_alpha(alpha)?;
        let model = self.unigram("entropy of segmentations")?;
        let words = self.words(text, specials)?;
        words.plain().try_for_each(|word| model.refuse_unknown(word))?;
        let (mut lattice, mut entropy) = (PieceLattice::default(), 0.0);
        for word in words.plain() {
            independent_parts(word, &model, |part| {
                lattice.fill(part, &model);
                entropy += lattice.measure(alpha).1;
            });
        }
        Ok(entropy)
    }
}

/// The independent parts of a text while its best segmentations are searched.
#[derive(Default)]
struct BestParts {
    /// The best segmentation of each part, one behind the other, and where that of each part ends.
    choices: Vec<PieceChoice>,
    ends: Vec<usize>,
    log_probability: f64,
    log_likelihood: f64,
    entropy: f64,
    /// Parts whose second best segmentations cost least, one fewer than segmentations are asked for: no other part is
    /// segmented otherwise in one of them. By cost and number of the part.
    closest: BTreeMap<(Score, usize), PathSearch>,
    /// How many paths their searches opened.
    opened: usize,
}

impl BestParts {
    fn add_word(
        &mut self,
        word: &str,
        model: &UnigramModel<'_>,
        count: usize,
    ) -> Result<(), TooManyPaths> {
        let mut result = Ok(());
        independent_parts(word, model, |part| {
            if result.is_ok() {
                result = self.add_part(part, model, count);
            }
        });
        result
    }

    fn add_part(
        &mut self,
        part: &str,
        model: &UnigramModel<'_>,
        count: usize,
    ) -> Result<(), TooManyPaths> {
        let mut lattice = PieceLattice::default();
        lattice.fill(part, model);
        let (log_likelihood, entropy) = lattice.measure(1.0);
        self.log_likelihood += log_likelihood;
        self.entropy += entropy;
        let mut search = PathSearch::new(lattice, count);
        let Some(best) = search.score(0, self.opened)? else { return Ok(()) };
        search.choices(0, &mut self.choices);
        self.log_probability += best;
        self.ends.push(self.choices.len());
        if count > 1
            && let Some(second) = search.score(1, self.opened)?
        {
            self.opened += search.opened();
            self.closest.insert((Score(best - second), self.ends.len() - 1), search);
            if self.closest.len() >= count
                && let Some((_, farthest)) = self.closest.pop_last()
            {
                self.opened -= farthest.opened();
            }
        }
        Ok(())
    }

    fn segmentations(
        self,
        words: &ModelWords,
        model: &UnigramModel<'_>,
        count: usize,
    ) -> Result<BestSegmentations, TooManyPaths> {
        let (numbers, mut searches): (Vec<usize>, Vec<PathSearch>) =
            self.closest.into_iter().map(|((_, number), search)| (number, search)).unzip();
        let joint = joint_choices(&mut searches, count)?;
        if joint.len().saturating_mul(self.choices.len()) > MOST_TOKENS {
            return Err(TooManyPaths);
        }
        let mut found: Vec<(f64, Vec<PieceChoice>)> = Vec::with_capacity(joint.len());
        for one in joint {
            let others: BTreeMap<usize, (usize, usize)> = one
                .others
                .iter()
                .map(|(place, rank)| (*at(&numbers, *place), (*place, *rank)))
                .collect();
            let (mut choices, mut start) = (Vec::with_capacity(self.choices.len()), 0);
            for (number, (place, rank)) in others {
                let before = if number == 0 { 0 } else { *at(&self.ends, number - 1) };
                choices.extend_from_slice(part(&self.choices, start..before));
                at(&searches, place).choices(rank, &mut choices);
                start = *at(&self.ends, number);
            }
            choices.extend_from_slice(part(&self.choices, start..));
            found.push((self.log_probability - one.cost, choices));
        }
        let lengths = |choices: &[PieceChoice]| {
            choices.iter().rev().map(|choice| choice.length).collect::<Vec<u32>>()
        };
        found.sort_by(|(a, of_a), (b, of_b)| {
            b.total_cmp(a).then_with(|| lengths(of_b).cmp(&lengths(of_a)))
        });
        let segmentations =
            found.into_iter().map(|(log_probability, choices)| ScoredSegmentation {
                tokens: model.tokens(words, &choices),
                log_probability,
                probability: (log_probability - self.log_likelihood).exp().min(1.0),
            });
        Ok(BestSegmentations {
            segmentations: segmentations.collect(),
            log_likelihood: self.log_likelihood,
            entropy: self.entropy,
        })
    }
}
