//! Goes on merging the most frequent pair, as training does.

use super::merges::{CountedWords, MergeScratch, MergeTable, PairMap, key, pair};
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
/// Incremental: a merge touches only words that have the pair. Memory: 4 bytes a symbol, about 60
/// for each distinct pair and 4 for each word that it stands in. Long words cost their length
/// in each merge that touches them, so callers cap them.
pub fn grow(
    words: &CountedWords,
    table: &mut MergeTable,
    mut next_id: u32,
    options: GrowthOptions,
    mut join: impl FnMut(u32, u32) -> PairOutcome,
) -> Vec<GrownMerge> {
    let mut state = GrowthState::new(words, table);
    let (mut merges, mut given) = (Vec::new(), 0);
    let mut touched = Vec::new();
    while given < options.new_tokens {
        let Some((count, left, right)) = state.pop() else { break };
        if count < options.min_frequency.max(1) {
            break;
        }
        let (id, is_new) = match join(left, right) {
            PairOutcome::Never => continue,
            PairOutcome::Existing(id) => (id, false),
            PairOutcome::New => (next_id, true),
        };
        if is_new {
            let Some(after) = next_id.checked_add(1) else { break };
            next_id = after;
            given += 1;
        }
        table.push(left, right, id);
        state.take_words(left, right, &mut touched);
        for word in &touched {
            if is_new {
                state.merge(*word, left, right, id);
            } else {
                state.merge_again(*word, table);
            }
        }
        state.queue_increased();
        merges.push(GrownMerge { left, right, id, count, is_new });
    }
    merges
}

/// The words as they stand, their pairs, and a queue of these by count.
struct GrowthState {
    symbols: Vec<u32>,
    places: Vec<WordPlace>,
    pairs: PairMap<u32>,
    rows: Vec<PairRow>,
    /// Counts of pairs as they were when queued; a count that has changed is queued again when popped.
    queue: BinaryHeap<(u64, Reverse<u64>)>,
    /// Rows whose count went up in this step.
    increased: Vec<u32>,
    scratch: MergeScratch,
    buffer: Vec<u32>,
}

/// Where a word lies; it shrinks in place.
#[derive(Clone, Copy)]
struct WordPlace {
    start: usize,
    length: u32,
    count: u64,
}

/// A pair's count, and the words that have it (or had it, or twice the same).
struct PairRow {
    key: u64,
    count: u64,
    words: Vec<u32>,
}

impl GrowthState {
    fn new(words: &CountedWords, table: &MergeTable) -> Self {
        let mut state = Self {
            symbols: Vec::new(),
            places: Vec::with_capacity(words.len()),
            pairs: PairMap::default(),
            rows: Vec::new(),
            queue: BinaryHeap::new(),
            increased: Vec::new(),
            scratch: MergeScratch::default(),
            buffer: Vec::new(),
        };
        for (word, counts) in words.iter() {
            let mut buffer = std::mem::take(&mut state.buffer);
            buffer.clear();
            buffer.extend_from_slice(word);
            table.apply(&mut buffer, &mut state.scratch, |_| ());
            let start = state.symbols.len();
            let count = counts.iter().fold(0_u64, |sum, count| sum.wrapping_add(*count));
            // A word of one symbol has no pair and never will.
            if let Ok(length) = u32::try_from(buffer.len())
                && length > 1
                && count > 0
            {
                state.symbols.extend_from_slice(&buffer);
                state.places.push(WordPlace { start, length, count });
            }
            state.buffer = buffer;
        }
        for word in (0_u32..).take(state.places.len()) {
            state.count_pairs(word, true);
        }
        state.queue_increased();
        state
    }

    /// The most frequent pair, the smallest of equals.
    fn pop(&mut self) -> Option<(u64, u32, u32)> {
        while let Some((count, Reverse(key))) = self.queue.pop() {
            let now = self.row(key).map_or(0, |row| row.count);
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

    fn row(&self, key: u64) -> Option<&PairRow> {
        let at = *self.pairs.get(&key)?;
        self.rows.get(at as usize)
    }

    /// Words that may have the pair, each once, ascending; the row forgets them.
    fn take_words(&mut self, left: u32, right: u32, words: &mut Vec<u32>) {
        words.clear();
        let row = self.pairs.get(&key(left, right)).and_then(|at| self.rows.get_mut(*at as usize));
        if let Some(row) = row {
            *words = std::mem::take(&mut row.words);
        }
        words.sort_unstable();
        words.dedup();
    }

    /// Joins every (left, right) of a word, from left to right, to a symbol that no merge knows yet.
    fn merge(&mut self, word: u32, left: u32, right: u32, id: u32) {
        let Some(place) = self.places.get(word as usize).copied() else { return };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let end = place.start + place.length as usize;
        buffer.extend_from_slice(self.symbols.get(place.start..end).unwrap_or_default());
        let mut rest = buffer.iter().copied().peekable();
        let (mut written, mut before) = (place.start, None);
        while let Some(symbol) = rest.next() {
            let is_pair = symbol == left && rest.peek() == Some(&right);
            let symbol = if is_pair {
                rest.next();
                self.remove(key(left, right), place.count);
                if let Some(before) = before {
                    self.remove(key(before, left), place.count);
                    self.add(key(before, id), place.count, word);
                }
                if let Some(next) = rest.peek() {
                    self.remove(key(right, *next), place.count);
                    self.add(key(id, *next), place.count, word);
                }
                id
            } else {
                symbol
            };
            if let Some(slot) = self.symbols.get_mut(written) {
                *slot = symbol;
            }
            written += 1;
            before = Some(symbol);
        }
        self.shorten(word, written - place.start);
        self.buffer = buffer;
    }

    /// Merges a word by all merges, for the symbol made is one that older merges know.
    fn merge_again(&mut self, word: u32, table: &MergeTable) {
        let Some(place) = self.places.get(word as usize).copied() else { return };
        self.count_pairs(word, false);
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let end = place.start + place.length as usize;
        buffer.extend_from_slice(self.symbols.get(place.start..end).unwrap_or_default());
        table.apply(&mut buffer, &mut self.scratch, |_| ());
        for (slot, symbol) in self.symbols.iter_mut().skip(place.start).zip(&buffer) {
            *slot = *symbol;
        }
        self.shorten(word, buffer.len());
        self.buffer = buffer;
        self.count_pairs(word, true);
    }

    fn shorten(&mut self, word: u32, length: usize) {
        if let Some(place) = self.places.get_mut(word as usize)
            && let Ok(length) = u32::try_from(length)
        {
            place.length = length;
        }
    }

    /// Adds or removes all pairs of a word.
    fn count_pairs(&mut self, word: u32, is_added: bool) {
        let Some(place) = self.places.get(word as usize).copied() else { return };
        let mut before = None;
        for at in place.start..place.start + place.length as usize {
            let Some(symbol) = self.symbols.get(at).copied() else { return };
            if let Some(before) = before.replace(symbol) {
                if is_added {
                    self.add(key(before, symbol), place.count, word);
                } else {
                    self.remove(key(before, symbol), place.count);
                }
            }
        }
    }

    fn add(&mut self, key: u64, count: u64, word: u32) {
        let fresh = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let at = *self.pairs.entry(key).or_insert(fresh);
        if at == fresh {
            self.rows.push(PairRow { key, count: 0, words: Vec::new() });
        }
        if let Some(row) = self.rows.get_mut(at as usize) {
            row.count = row.count.wrapping_add(count);
            if row.words.last() != Some(&word) {
                row.words.push(word);
            }
            if self.increased.last() != Some(&at) {
                self.increased.push(at);
            }
        }
    }

    fn remove(&mut self, key: u64, count: u64) {
        let row = self.pairs.get(&key).and_then(|at| self.rows.get_mut(*at as usize));
        if let Some(row) = row {
            row.count = row.count.wrapping_sub(count);
        }
    }

    fn queue_increased(&mut self) {
        self.increased.sort_unstable();
        self.increased.dedup();
        for at in self.increased.drain(..) {
            if let Some(row) = self.rows.get(at as usize)
                && row.count > 0
            {
                self.queue.push((row.count, Reverse(row.key)));
            }
        }
    }
}
