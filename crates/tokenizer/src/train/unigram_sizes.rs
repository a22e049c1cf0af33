//! The passes of the stock Unigram trainer, run so that one training serves many sizes of the vocabulary.
//!
//! The stock trainer begins with up to a million repeated strings, takes turns at weighing them and at dropping
//! the quarter that is missed least, and ends a little above the size asked for. The size decides the last cut
//! alone: until then all trainings on the same words go the same way. [`sizes`] goes it once and turns off for
//! each size where its training would.
//!
//! The result is what the stock trainer gives on one thread, bit for bit: the operations are its own in its
//! order (`lattice`). The words are cut in parallel; sums are made in the order of the words.

use super::count::PretokenTable;
use super::options::TrainOptions;
use super::run::{TrainerInput, trainer_input};
use super::{run, trainers};
use crate::error::{TokenizerError, guard};
use crate::file::unigram::score_as_loaded;
use crate::models::lattice::UnigramLattice;
pub(super) use crate::models::lattice::{ScoredPiece, UnigramSegmenter};
use crate::models::viterbi::BestPrefix;
use model::Interrupt;
use model::invariant::at;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tokenizers::models::unigram::{Unigram, UnigramTrainer};

/// What the trainer calls the unknown, without a likelihood.
const UNKNOWN: &str = "<UNK>";
/// Rounds of weighing between two prunings.
const ROUNDS: usize = 2;
/// A piece that is expected less often is dropped.
const LEAST_EXPECTED: f64 = 0.5;
/// What is left by a pruning, unless the size asked for is more.
const SHRINKING: f64 = 0.75;
/// Words cut by one task, and words whose pieces are in memory at once.
const TASK: usize = 256;
const AT_ONCE: usize = 1 << 15;

/// A word with its count.
pub(crate) type TrainingWord = (String, u32);

/// The pieces at which training to each of `sizes` ends, before the trainer takes the first ones of them. Sizes
/// that the trainer does not come down to are left out. None when it was interrupted.
pub(crate) fn prune_to_sizes(
    words: &[TrainingWord],
    longest: usize,
    sizes: &[u32],
    interrupt: &Interrupt,
) -> Result<Option<BTreeMap<u32, Vec<ScoredPiece>>>, TokenizerError> {
    let mut pieces = vec![(UNKNOWN.to_owned(), f64::NAN)];
    pieces.extend(seeds(words, longest)?);
    let mut ended = BTreeMap::new();
    let mut turned: Vec<(u32, Vec<ScoredPiece>)> = Vec::new();
    let mut waiting: BTreeSet<u32> = sizes.iter().copied().collect();
    let mut before = usize::MAX;
    while !waiting.is_empty() {
        if interrupt.is_raised() {
            return Ok(None);
        }
        weigh(&mut pieces, words)?;
        let reached = waiting.iter().copied().find(|size| pieces.len() <= enough(*size));
        for size in reached.map(|least| waiting.split_off(&least)).unwrap_or_default() {
            ended.insert(size, pieces.clone());
        }
        if waiting.is_empty() || pieces.len() >= before {
            break;
        }
        before = pieces.len();
        let order = PruningOrder::of(&pieces, words)?;
        let quarter_off = shrunk(pieces.len());
        let turning = waiting.iter().copied().find(|size| enough(*size) > quarter_off);
        for size in turning.map(|least| waiting.split_off(&least)).unwrap_or_default() {
            turned.push((size, order.first(&pieces, enough(size))));
        }
        pieces = order.first(&pieces, quarter_off);
    }
    let alone = |(size, pieces)| prune_to_size(size, pieces, words, interrupt);
    let ends: Vec<Option<(u32, Vec<ScoredPiece>)>> =
        turned.into_par_iter().map(alone).collect::<Result<_, _>>()?;
    ended.extend(ends.into_iter().flatten());
    Ok((!interrupt.is_raised()).then_some(ended))
}

/// Goes on to one size. None when the pieces do not become fewer: the stock trainer would not end.
fn prune_to_size(
    size: u32,
    mut pieces: Vec<ScoredPiece>,
    words: &[TrainingWord],
    interrupt: &Interrupt,
) -> Result<Option<(u32, Vec<ScoredPiece>)>, TokenizerError> {
    let mut before = usize::MAX;
    loop {
        weigh(&mut pieces, words)?;
        if pieces.len() <= enough(size) {
            return Ok(Some((size, pieces)));
        }
        if pieces.len() >= before || interrupt.is_raised() {
            return Ok(None);
        }
        before = pieces.len();
        let order = PruningOrder::of(&pieces, words)?;
        pieces = order.first(&pieces, enough(size).max(shrunk(pieces.len())));
    }
}

/// The number of pieces that is few enough: the last ones are taken off without a pass.
fn enough(size: u32) -> usize {
    usize::try_from(u64::from(size) * 11 / 10).unwrap_or(usize::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "at most some million pieces"
)]
fn shrunk(pieces: usize) -> usize {
    (pieces as f64 * SHRINKING) as usize
}

/// The strings that the trainer begins with, by count, then by text, characters first. The trainer gives them when
/// more are requested than there are, without weighing.
fn seeds(words: &[TrainingWord], longest: usize) -> Result<Vec<ScoredPiece>, TokenizerError> {
    /// Twice the strings that it begins with at most.
    const MORE: u32 = 2_000_000;
    let mut trainer = UnigramTrainer::default();
    trainer.show_progress = false;
    trainer.vocab_size = MORE;
    trainer.n_sub_iterations = 0;
    trainer.max_piece_length = longest;
    let mut model = Unigram::default();
    guard("training", || trainer.do_train(words.to_vec(), &mut model))?
        .map_err(TokenizerError::Train)?;
    // What the trainer puts between words is not a piece, also where a text has it.
    let mut pieces: Vec<ScoredPiece> =
        model.iter().filter(|(piece, _)| piece != "\0").cloned().collect();
    let is_longer = |piece: &str| piece.chars().nth(1).is_some();
    pieces.sort_unstable_by(|(a, score_a), (b, score_b)| {
        is_longer(a)
            .cmp(&is_longer(b))
            .then_with(|| score_b.total_cmp(score_a))
            .then_with(|| b.cmp(a))
    });
    Ok(pieces)
}

/// Expectation and maximisation, by turns.
fn weigh(pieces: &mut Vec<ScoredPiece>, words: &[TrainingWord]) -> Result<(), TokenizerError> {
    for _ in 0..ROUNDS {
        let expected = expected(pieces, words)?;
        let mut sum = 0.0;
        let mut weighed = Vec::with_capacity(pieces.len());
        for (at, ((piece, _), count)) in pieces.drain(..).zip(expected).enumerate() {
            if at == 0 {
                weighed.push((piece, f64::NAN));
            } else if count >= LEAST_EXPECTED {
                weighed.push((piece, count));
                sum += count;
            }
        }
        let whole = digamma(sum);
        for (_, score) in &mut weighed {
            *score = digamma(*score) - whole;
        }
        *pieces = weighed;
    }
    Ok(())
}

/// How often each piece is expected in the words.
fn expected(pieces: &[ScoredPiece], words: &[TrainingWord]) -> Result<Vec<f64>, TokenizerError> {
    let cutter = UnigramSegmenter::of(pieces, 1);
    let mut expected = vec![0.0; pieces.len()];
    for words in words.chunks(AT_ONCE) {
        let cut = |words: &[TrainingWord]| {
            let (mut lattice, mut shares) = (UnigramLattice::default(), Vec::new());
            for (word, count) in words {
                lattice.fill(&cutter, word);
                let sum =
                    lattice.shares(f64::from(*count), |piece, share| shares.push((piece, share)));
                if sum.is_nan() {
                    return Err(TokenizerError::Train("a word has no likelihood".into()));
                }
            }
            Ok(shares)
        };
        let shares: Vec<Vec<(u32, f64)>> =
            words.par_chunks(TASK).map(cut).collect::<Result<_, _>>()?;
        for (piece, share) in shares.into_iter().flatten() {
            if let Some(sum) = expected.get_mut(piece as usize) {
                *sum += share;
            }
        }
    }
    Ok(expected)
}

/// Which pieces are kept whatever the size, and the others by what is lost without them, most first.
struct PruningOrder {
    kept: Vec<usize>,
    others: Vec<usize>,
}

impl PruningOrder {
    fn of(pieces: &[ScoredPiece], words: &[TrainingWord]) -> Result<Self, TokenizerError> {
        let cutter = UnigramSegmenter::of(pieces, 1);
        let alternatives: Vec<AlternativeCut> = pieces
            .par_iter()
            .enumerate()
            .map_init(UnigramLattice::default, |lattice, (at, (piece, _))| {
                if at == 0 {
                    return AlternativeCut::Spared;
                }
                lattice.fill(&cutter, piece);
                match lattice.second() {
                    (_, None) => AlternativeCut::None,
                    (1, Some(second)) => AlternativeCut::Other(second),
                    _ => AlternativeCut::Spared,
                }
            })
            .collect();
        let found = PieceCounts::of(&cutter, pieces.len(), words);
        let sum: f64 = found.counts.iter().sum();
        let whole = sum.ln();
        let count = |piece: usize| *at(&found.counts, piece);
        // Not the pieces of one way but all there are: the trainer's slip, which is followed.
        let more = u32::try_from(pieces.len().saturating_sub(1)).map_or(f64::MAX, f64::from);
        let (mut kept, mut others) = (vec![0], Vec::new());
        for (at, way) in alternatives.iter().enumerate().skip(1) {
            let own = count(at);
            let way = match way {
                AlternativeCut::Spared if own == 0.0 => continue,
                AlternativeCut::Spared | AlternativeCut::None => {
                    kept.push(at);
                    continue;
                }
                AlternativeCut::Other(way) => way,
            };
            if own == 0.0 {
                continue;
            }
            let whole_without = (sum + own * more).ln();
            let mut without = 0.0;
            for piece in way {
                without += (count(*piece as usize) + own).ln() - whole_without;
            }
            let loss = own / found.words * ((own.ln() - whole) - without);
            if loss.is_nan() {
                return Err(TokenizerError::Train("a piece has no likelihood".into()));
            }
            others.push((at, loss));
        }
        // Stable: of equals the first stays first.
        others.sort_by(|(_, a), (_, b)| b.partial_cmp(a).unwrap_or(std::cmp::Ordering::Equal));
        Ok(Self { kept, others: others.into_iter().map(|(at, _)| at).collect() })
    }

    /// The kept ones, filled up to `most`; when they are more than that, all: as the trainer has it.
    fn first(&self, pieces: &[ScoredPiece], most: usize) -> Vec<ScoredPiece> {
        let room = most.checked_sub(self.kept.len()).unwrap_or(usize::MAX);
        let all = self.kept.iter().chain(self.others.iter().take(room));
        all.filter_map(|at| pieces.get(*at).cloned()).collect()
    }
}

/// How a piece would be cut without itself.
enum AlternativeCut {
    /// The piece cannot be cut without itself.
    None,
    /// The piece is not even one piece now: needed only where a word has it.
    Spared,
    Other(Vec<u32>),
}

/// What the best cuts of the words hold.
struct PieceCounts {
    /// By piece, as often as it stands in them. Whole numbers, so their sums are exact.
    counts: Vec<f64>,
    words: f64,
}

impl PieceCounts {
    fn of(cutter: &UnigramSegmenter, pieces: usize, words: &[TrainingWord]) -> Self {
        let mut found = Self { counts: vec![0.0; pieces], words: 0.0 };
        for words in words.chunks(AT_ONCE) {
            let cut = |words: &[TrainingWord]| {
                let (mut lattice, mut best, mut all) =
                    (UnigramLattice::default(), Vec::new(), Vec::new());
                for (word, count) in words {
                    lattice.fill(cutter, word);
                    lattice.best(&mut best);
                    all.extend(best.iter().map(|piece| (*piece, f64::from(*count))));
                }
                all
            };
            let cuts: Vec<Vec<(u32, f64)>> = words.par_chunks(TASK).map(cut).collect();
            for (piece, count) in cuts.into_iter().flatten() {
                if let Some(sum) = found.counts.get_mut(piece as usize) {
                    *sum += count;
                }
            }
            for (_, count) in words {
                found.words += f64::from(*count);
            }
        }
        found
    }
}

/// The digamma function as the trainer computes it: a few terms of the series.
fn digamma(mut x: f64) -> f64 {
    let mut result = 0.0;
    while x < 7.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    x -= 1.0 / 2.0;
    let xx = 1.0 / x;
    let xx2 = xx * xx;
    let xx4 = xx2 * xx2;
    result += x.ln() + (1.0 / 24.0) * xx2 - 7.0 / 960.0 * xx4 + (31.0 / 8064.0) * xx4 * xx2
        - (127.0 / 30720.0) * xx4 * xx4;
    result
}

/// The training that gives models of several sizes.
pub(crate) struct SizeRequest<'a> {
    /// Pre-tokens.
    pub(crate) table: &'a PretokenTable,
    /// Names of its groups.
    pub(crate) groups: &'a [String],
    /// The options; their size is the largest that will be asked for.
    pub(crate) options: &'a TrainOptions,
}

/// A model of one size: how it cuts pre-tokens.
pub(crate) struct SizedModel {
    /// Ids.
    pub(crate) size: u64,
    cutter: UnigramSegmenter,
    is_by_bytes: bool,
}

impl SizedModel {
    /// Tokens of a pre-token, as the encoder of the trained file gives. `scratch` is overwritten.
    pub(crate) fn tokens(&self, pretoken: &str, scratch: &mut Vec<Option<BestPrefix>>) -> u64 {
        self.cutter.tokens(pretoken, self.is_by_bytes, scratch)
    }
}

/// Trains to the sizes that `of` makes of the least possible one, which has room for nothing but what is
/// always in; those that cannot be had are left out. Ascending, each size once. None when it was interrupted.
pub(crate) fn train_sizes(
    asked: &SizeRequest<'_>,
    of: impl FnOnce(u64) -> BTreeSet<u32>,
    interrupt: &Interrupt,
) -> Result<Option<Vec<SizedModel>>, TokenizerError> {
    let SizeRequest { table, groups, options } = *asked;
    options.check()?;
    let TrainerInput { words, seeds, reserved, required, characters, .. } =
        trainer_input(table, groups, options)?;
    let least = (reserved.len() + characters) as u64;
    let mut sizes = of(least);
    sizes.retain(|size| u64::from(*size) > least);
    let sizes: Vec<u32> = sizes.into_iter().collect();
    let sentences = trainers::sentences(&words);
    let longest = trainers::longest_piece(options);
    let Some(ended) = prune_to_sizes(&sentences, longest, &sizes, interrupt)? else {
        return Ok(None);
    };
    let used = words.keys().flat_map(|word| word.chars());
    let required: BTreeSet<char> = used.chain(required).collect();
    let mut cuts: Vec<SizedModel> = Vec::new();
    for (size, pieces) in ended {
        let limit = usize::try_from(size).unwrap_or(usize::MAX);
        let pieces = trainers::unigram_of_passes(&pieces, &reserved, &required, limit);
        // Named tokens without room do not rule out larger sizes.
        let Ok(mut pieces) = run::into_unigram(pieces, &seeds, reserved.len(), limit) else {
            continue;
        };
        pieces.iter_mut().for_each(|(_, score)| *score = score_as_loaded(*score));
        let size = pieces.len() as u64;
        // A small corpus gives fewer than asked for, the same for all larger sizes.
        if cuts.last().is_none_or(|last| last.size < size) {
            let cutter = UnigramSegmenter::of(&pieces, reserved.len());
            cuts.push(SizedModel { size, cutter, is_by_bytes: options.byte_fallback });
        }
    }
    Ok(Some(cuts))
}

#[cfg(test)]
#[path = "unigram_sizes_tests.rs"]
mod tests;
