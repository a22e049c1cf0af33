//! Merges each time the pair that raises the likelihood of the words most, as the first WordPiece trainer did.

use super::growth::{GrownMerge, GrowthOptions, NewIds, PairOutcome};
use super::merges::{CountedWords, PairMap, pair};
use super::word_pairs::{PairRow, WordPairs};
use model::{Context, Interrupted};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Merges between two looks at the interrupt.
const ROUND: usize = 64;
/// Entries that the queue may hold beyond twice those that are current.
const SLACK: usize = 1 << 16;

/// Merges in the order of their scores: of the pair (A, B) with the largest count(AB) / (count(A) * count(B)), among
/// equals of the largest count(AB), then of the smallest (A, B), until as many tokens are new as `options` ask for or
/// no pair is frequent enough. Counts are of the words as they stand: of a symbol its occurrences, of a pair the places
/// where its symbols are neighbours, overlapping ones too. `join` is called when a pair's turn has come, and refuses
/// tokens that would be too long. New ids go up from `next_id`, which must lie above every id in the words.
///
/// A merge changes the counts of three symbols, and so the score of every pair that has one of them, up or down: all
/// these are queued again, and what the queue holds of them from before no longer equals their counts and is skipped
/// (or taken out, when it is most of the queue). Scores are compared as fractions, so that no rounding decides.
///
/// Memory: that of [`WordPairs`], and some 100 bytes for each distinct pair that is frequent enough.
///
/// # Errors
/// [`Interrupted`] when a stop was requested.
pub(crate) fn merge_by_likelihood(
    words: &CountedWords,
    next_id: u32,
    options: GrowthOptions,
    context: &Context<'_>,
    mut join: impl FnMut(u32, u32) -> PairOutcome,
) -> Result<Vec<GrownMerge>, Interrupted> {
    let mut state = LikelihoodState::new(words, options.min_frequency.max(1));
    let mut ids = NewIds::new(next_id, options);
    let (mut merges, mut touched) = (Vec::new(), Vec::new());
    while !ids.is_done() {
        if merges.len() % ROUND == 0 {
            context.check_interrupt()?;
            context.progress.advance(u64::from(ids.given()));
        }
        let Some(PairScore { count, key: Reverse(key), .. }) = state.pop() else { break };
        let (left, right) = pair(key);
        let Some((id, is_new)) = ids.of(join(left, right)) else { continue };
        state.words.take_words(left, right, &mut touched);
        let mut joined = 0_u64;
        for word in &touched {
            joined = joined.wrapping_add(state.words.merge(*word, left, right, id));
        }
        state.update([left, right, id], joined);
        merges.push(GrownMerge { left, right, id, count, is_new });
    }
    Ok(merges)
}

/// A pair's score as a fraction, in the order in which pairs are merged: the greatest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PairScore {
    count: u64,
    left: u64,
    right: u64,
    key: Reverse<u64>,
}

impl Ord for PairScore {
    fn cmp(&self, other: &Self) -> Ordering {
        let parts = |score: &Self| u128::from(score.left) * u128::from(score.right);
        product(self.count, parts(other))
            .cmp(&product(other.count, parts(self)))
            .then_with(|| self.count.cmp(&other.count))
            .then_with(|| self.key.cmp(&other.key))
    }
}

impl PartialOrd for PairScore {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The product of 192 bits, the upper 128 and the lower 64.
fn product(one: u64, other: u128) -> (u128, u128) {
    let low = u128::from(one) * (other & u128::from(u64::MAX));
    (u128::from(one) * (other >> 64) + (low >> 64), low & u128::from(u64::MAX))
}

/// The words as they stand, their symbols, and a queue of their pairs by score.
struct LikelihoodState {
    words: WordPairs,
    symbols: PairMap<SymbolCount>,
    /// Rows of pairs that stand in the lists of their symbols.
    listed: usize,
    queue: BinaryHeap<PairScore>,
    /// Entries of the queue when those that are not current were last taken out.
    current: usize,
    min_frequency: u64,
}

/// How often a symbol occurs, and the rows of the pairs that it is part of (or was).
#[derive(Default)]
struct SymbolCount {
    count: u64,
    rows: Vec<u32>,
}

impl LikelihoodState {
    fn new(words: &CountedWords, min_frequency: u64) -> Self {
        let mut state = Self {
            words: WordPairs::default(),
            symbols: PairMap::default(),
            listed: 0,
            queue: BinaryHeap::new(),
            current: 0,
            min_frequency,
        };
        for (word, counts) in words.iter() {
            let count = counts.iter().fold(0_u64, |sum, count| sum.wrapping_add(*count));
            state.words.push(word, count);
            for symbol in word {
                let total = &mut state.symbol(*symbol).count;
                *total = total.wrapping_add(count);
            }
        }
        state.list_new_rows();
        let scores: Vec<PairScore> = (0_u32..)
            .take(state.listed)
            .filter_map(|at| state.score(state.words.row(at)))
            .collect();
        state.queue = scores.into();
        state.current = state.queue.len();
        state
    }

    fn symbol(&mut self, symbol: u32) -> &mut SymbolCount {
        self.symbols.entry(symbol.into()).or_default()
    }

    /// The score of a row as it is; none if it is not frequent enough.
    fn score(&self, row: Option<&PairRow>) -> Option<PairScore> {
        let row = row.filter(|row| row.count >= self.min_frequency)?;
        let (left, right) = pair(row.key);
        let count = |symbol: u32| self.symbols.get(&symbol.into()).map(|symbol| symbol.count);
        let (left, right) = (count(left)?, count(right)?);
        Some(PairScore { count: row.count, left, right, key: Reverse(row.key) })
    }

    fn is_current(&self, score: &PairScore) -> bool {
        self.score(self.words.row_of(score.key.0)) == Some(*score)
    }

    /// The pair of the greatest score.
    fn pop(&mut self) -> Option<PairScore> {
        loop {
            let score = self.queue.pop()?;
            if self.is_current(&score) {
                return Some(score);
            }
        }
    }

    /// Counts the symbols of a merge anew, [left, right, made], and queues every pair that has one of them.
    fn update(&mut self, changed: [u32; 3], joined: u64) {
        let [left, right, made] = changed;
        for part in [left, right] {
            let count = &mut self.symbol(part).count;
            *count = count.wrapping_sub(joined);
        }
        let count = &mut self.symbol(made).count;
        *count = count.wrapping_add(joined);
        self.list_new_rows();
        for (place, symbol) in changed.into_iter().enumerate() {
            // A pair of two of them is queued once.
            let before = changed.get(..place).unwrap_or_default();
            let mut rows = std::mem::take(&mut self.symbol(symbol).rows);
            rows.retain(|at| {
                let Some(row) = self.words.row(*at) else { return false };
                let (left, right) = pair(row.key);
                if row.count == 0 {
                    self.words.drop_row(*at);
                    return false;
                }
                if !before.contains(&left) && !before.contains(&right) {
                    self.queue.extend(self.score(Some(row)));
                }
                true
            });
            self.symbol(symbol).rows = rows;
        }
        if self.queue.len() > 2 * self.current + SLACK {
            let mut queue = std::mem::take(&mut self.queue);
            queue.retain(|score| self.is_current(score));
            self.current = queue.len();
            self.queue = queue;
        }
    }

    /// Enters the rows that are new into the lists of their symbols.
    fn list_new_rows(&mut self) {
        for at in (0_u32..).take(self.words.row_count()).skip(self.listed) {
            let Some((left, right)) = self.words.row(at).map(|row| pair(row.key)) else { break };
            self.symbol(left).rows.push(at);
            if left != right {
                self.symbol(right).rows.push(at);
            }
        }
        self.listed = self.words.row_count();
        self.words.increased.clear();
    }
}
