//! Counted words whose pairs of neighbours stay counted while pairs of them are merged.
//!
//! What both trainers of merges stand on: the one by frequency (`growth`) and the one by likelihood.

use super::merges::{PairMap, key};

/// The words as they stand, and their pairs.
///
/// A merge touches only words that have the pair. Memory: 4 bytes a symbol, about 40 for each distinct pair and 4 for
/// each word that it stands in. Long words cost their length in each merge that touches them, so callers cap them.
#[derive(Default)]
pub(super) struct WordPairs {
    symbols: Vec<u32>,
    places: Vec<WordPlace>,
    rows_by_pair: PairMap<u32>,
    rows: Vec<PairRow>,
    /// Rows whose count went up since it was cleared; some twice.
    pub(super) increased: Vec<u32>,
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
pub(super) struct PairRow {
    pub(super) key: u64,
    pub(super) count: u64,
    words: Vec<u32>,
}

impl WordPairs {
    /// Adds a word and counts its pairs. A word of one symbol has no pair and never will, so it is left out.
    pub(super) fn push(&mut self, symbols: &[u32], count: u64) {
        let (start, word) = (self.symbols.len(), u32::try_from(self.places.len()));
        if let (Ok(length), Ok(word)) = (u32::try_from(symbols.len()), word)
            && length > 1
            && count > 0
        {
            self.symbols.extend_from_slice(symbols);
            self.places.push(WordPlace { start, length, count });
            self.count_pairs(word, true);
        }
    }

    /// How many rows there are; those of pairs that are new come behind.
    pub(super) const fn row_count(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn row(&self, at: u32) -> Option<&PairRow> {
        self.rows.get(at as usize)
    }

    pub(super) fn row_of(&self, key: u64) -> Option<&PairRow> {
        self.row(*self.rows_by_pair.get(&key)?)
    }

    /// Lets the row of a pair go that no word has any more. If one has it later, that is another row.
    pub(super) fn drop_row(&mut self, at: u32) {
        if let Some(row) = self.rows.get_mut(at as usize) {
            row.words = Vec::new();
            if self.rows_by_pair.get(&row.key) == Some(&at) {
                self.rows_by_pair.remove(&row.key);
            }
        }
    }

    /// Words that may have the pair, each once, ascending; the row forgets them.
    pub(super) fn take_words(&mut self, left: u32, right: u32, words: &mut Vec<u32>) {
        words.clear();
        let at = self.rows_by_pair.get(&key(left, right));
        if let Some(row) = at.and_then(|at| self.rows.get_mut(*at as usize)) {
            *words = std::mem::take(&mut row.words);
        }
        words.sort_unstable();
        words.dedup();
    }

    /// Joins every (left, right) of a word, from left to right, to `id`. Answers how many, as often as the word counts.
    pub(super) fn merge(&mut self, word: u32, left: u32, right: u32, id: u32) -> u64 {
        let Some(place) = self.places.get(word as usize).copied() else { return 0 };
        let mut buffer = self.symbols_of(place);
        let mut rest = buffer.iter().copied().peekable();
        let (mut written, mut before, mut joined) = (place.start, None, 0_u64);
        while let Some(symbol) = rest.next() {
            let is_pair = symbol == left && rest.peek() == Some(&right);
            let symbol = if is_pair {
                rest.next();
                joined = joined.wrapping_add(place.count);
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
        buffer.clear();
        self.buffer = buffer;
        joined
    }

    /// Gives a word the symbols that `change` makes of its own, which are no more.
    pub(super) fn rewrite(&mut self, word: u32, change: impl FnOnce(&mut Vec<u32>)) {
        let Some(place) = self.places.get(word as usize).copied() else { return };
        self.count_pairs(word, false);
        let mut buffer = self.symbols_of(place);
        change(&mut buffer);
        for (slot, symbol) in self.symbols.iter_mut().skip(place.start).zip(&buffer) {
            *slot = *symbol;
        }
        self.shorten(word, buffer.len());
        self.buffer = buffer;
        self.count_pairs(word, true);
    }

    fn symbols_of(&mut self, place: WordPlace) -> Vec<u32> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let end = place.start + place.length as usize;
        buffer.extend_from_slice(self.symbols.get(place.start..end).unwrap_or_default());
        buffer
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
        let at = *self.rows_by_pair.entry(key).or_insert(fresh);
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
        let at = self.rows_by_pair.get(&key);
        if let Some(row) = at.and_then(|at| self.rows.get_mut(*at as usize)) {
            row.count = row.count.wrapping_sub(count);
        }
    }
}
