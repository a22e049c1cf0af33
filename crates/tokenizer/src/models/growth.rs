//! Goes on merging the most frequent pair, as training does.

use super::merges::{CountedWords, MergeScratch, MergeTable, pair};
use super::word_pairs::WordPairs;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How a vocabulary grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrowthOptions {
    /// New tokens wanted; fewer when the counts have no more pairs.
    pub new_tokens: u32,
    /// A pair seen less often makes no token; 0 counts as 1.
    pub min_frequency: u64,
    /// The longest token made, in the characters that the vocabulary spells it with (bytes, where
    /// that is byte-level); none: any.
    pub max_token_length: Option<usize>,
}

/// What may become of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairOutcome {
    /// A token that is not there yet: it takes the next id.
    New,
    /// A token that exists, made by another pair until now.
    Existing(u32),
    /// Nothing; the pair is skipped.
    Never,
}

/// The ids of a growth: what is new takes the next one, until there are as many as were asked for.
pub(super) struct NewIds {
    next: u32,
    given: u32,
    wanted: u32,
}

impl NewIds {
    pub(super) const fn new(next: u32, options: GrowthOptions) -> Self {
        Self { next, given: 0, wanted: options.new_tokens }
    }

    /// How many were given.
    pub(super) const fn given(&self) -> u32 {
        self.given
    }

    pub(super) const fn is_done(&self) -> bool {
        self.given >= self.wanted
    }

    /// The id of what becomes of a pair, and whether it is new; none where nothing does.
    pub(super) fn of(&mut self, outcome: PairOutcome) -> Option<(u32, bool)> {
        match outcome {
            PairOutcome::Never => None,
            PairOutcome::Existing(id) => Some((id, false)),
            PairOutcome::New => {
                let Some(after) = self.next.checked_add(1) else {
                    // No id is left, so this was the last.
                    self.wanted = self.given;
                    return None;
                };
                self.given += 1;
                Some((std::mem::replace(&mut self.next, after), true))
            }
        }
    }
}

/// A merge that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrownMerge {
    /// The left symbol.
    pub left: u32,
    /// The right symbol.
    pub right: u32,
    /// What they become.
    pub id: u32,
    /// How often the pair stood in the words, overlapping ones too, when it was chosen.
    pub count: u64,
    /// Whether `id` was new.
    pub is_new: bool,
}

/// Adds merges to `table`, each time of the pair with the largest count and among equals of the smallest (left,
/// right), until as many tokens are new as `options` ask for or no pair is frequent enough. `join` is called when a
/// pair's turn has come, and refuses tokens that would be too long. The same rule as the stock trainer's, with 64-bit
/// counts; merges that give an existing token take no id. New ids go up from `next_id`, which must lie above every id
/// in the words and in the table.
///
/// The words are first merged by the `table` as it is. They are then always what an encoder with
/// all merges so far makes of them: where a merge makes an existing token, and an older merge now
/// applies to it, that one is made in the same step. (The stock trainer comes to the same words by
/// listing the older merge a second time; what it trains itself holds no such case.)
///
/// Memory: that of [`WordPairs`], and some 20 bytes for each distinct pair.
pub fn grow(
    words: &CountedWords,
    table: &mut MergeTable,
    next_id: u32,
    options: GrowthOptions,
    mut join: impl FnMut(u32, u32) -> PairOutcome,
) -> Vec<GrownMerge> {
    let mut scratch = MergeScratch::default();
    let mut state = GrowthState::new(words, table, &mut scratch);
    let mut ids = NewIds::new(next_id, options);
    let (mut merges, mut touched) = (Vec::new(), Vec::new());
    while !ids.is_done() {
        let Some((count, left, right)) = state.pop() else { break };
        if count < options.min_frequency.max(1) {
            break;
        }
        let Some((id, is_new)) = ids.of(join(left, right)) else { continue };
        table.push(left, right, id);
        state.words.take_words(left, right, &mut touched);
        for word in &touched {
            if is_new {
                state.words.merge(*word, left, right, id);
            } else {
                // The symbol made is one that older merges know.
                state.words.rewrite(*word, |word| table.apply(word, &mut scratch, |_| ()));
            }
        }
        state.queue_increased();
        merges.push(GrownMerge { left, right, id, count, is_new });
    }
    merges
}

/// The words as they stand, and a queue of their pairs by count.
struct GrowthState {
    words: WordPairs,
    /// Counts of pairs as they were when queued; a count that has changed is queued again when popped.
    queue: BinaryHeap<(u64, Reverse<u64>)>,
}

impl GrowthState {
    fn new(words: &CountedWords, table: &MergeTable, scratch: &mut MergeScratch) -> Self {
        let mut state = Self { words: WordPairs::default(), queue: BinaryHeap::new() };
        let mut merged = Vec::new();
        for (word, counts) in words.iter() {
            merged.clear();
            merged.extend_from_slice(word);
            table.apply(&mut merged, scratch, |_| ());
            let count = counts.iter().fold(0_u64, |sum, count| sum.wrapping_add(*count));
            state.words.push(&merged, count);
        }
        state.queue_increased();
        state
    }

    /// The most frequent pair, the smallest of equals.
    fn pop(&mut self) -> Option<(u64, u32, u32)> {
        while let Some((count, Reverse(key))) = self.queue.pop() {
            let now = self.words.row_of(key).map_or(0, |row| row.count);
            if now == count {
                let (left, right) = pair(key);
                return Some((count, left, right));
            }
            // Lower than when it was queued (or higher, and then it is queued twice).
            if now > 0 && now < count {
                self.queue.push((now, Reverse(key)));
            }
        }
        None
    }

    fn queue_increased(&mut self) {
        let mut increased = std::mem::take(&mut self.words.increased);
        increased.sort_unstable();
        increased.dedup();
        for at in increased.drain(..) {
            if let Some(row) = self.words.row(at)
                && row.count > 0
            {
                self.queue.push((row.count, Reverse(row.key)));
            }
        }
        self.words.increased = increased;
    }
}
