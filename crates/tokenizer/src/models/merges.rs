//! BPE merges by rank, and how a sequence is merged by them: the lowest rank first, then the leftmost.
//!
//! Counted words are merged together; a replay counts the pairs that each merge joins.

use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// A pair of symbols as one number; its order is that of (left, right).
pub(crate) const fn key(left: u32, right: u32) -> u64 {
    (left as u64) << 32 | right as u64
}

/// Both symbols of a [`key`].
pub(crate) const fn pair(key: u64) -> (u32, u32) {
    ((key >> 32) as u32, (key & 0xFFFF_FFFF) as u32)
}

/// Maps by pair. Their order of iteration is never used.
pub(crate) type PairMap<T> = HashMap<u64, T, BuildHasherDefault<PairHasher>>;

/// Hashes one `u64` by a multiplication whose halves are folded; some five times faster than the
/// default, and pairs come from a vocabulary, not from an adversary.
#[derive(Default)]
pub(crate) struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let wide = u128::from(self.0 ^ number ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
        let [low, high] = [wide & u128::from(u64::MAX), wide >> 64];
        self.0 = u64::try_from(low ^ high).unwrap_or_default();
    }
}

/// What a pair becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MergeRule {
    rank: u32,
    id: u32,
}

/// Merges with their ranks. A lower rank goes first.
#[derive(Clone, Debug, Default)]
pub struct MergeTable {
    rules: PairMap<MergeRule>,
    /// One more than the last rank given.
    ranks: u32,
}

impl MergeTable {
    /// The table of merges (left, right, id) in the order given: the place in it is the rank. A pair
    /// given twice has its last rank, as in the reference implementation.
    #[must_use]
    pub fn new(merges: impl IntoIterator<Item = (u32, u32, u32)>) -> Self {
        let mut table = Self::default();
        for (left, right, id) in merges {
            table.push(left, right, id);
        }
        table
    }

    /// Adds a merge after all others.
    pub fn push(&mut self, left: u32, right: u32, id: u32) {
        self.rules.insert(key(left, right), MergeRule { rank: self.ranks, id });
        self.ranks = self.ranks.saturating_add(1);
    }

    /// How many merges were given.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranks as usize
    }

    /// What the pair becomes; none if nothing joins it.
    #[must_use]
    pub fn get(&self, left: u32, right: u32) -> Option<u32> {
        self.rules.get(&key(left, right)).map(|rule| rule.id)
    }

    /// Merges `symbols` in place until no pair of them has a merge, each time the pair of the lowest
    /// rank and of those the leftmost: what an encoder does. `each` gets the rank of every merge made.
    pub fn apply(
        &self,
        symbols: &mut Vec<u32>,
        scratch: &mut MergeScratch,
        mut each: impl FnMut(u32),
    ) {
        scratch.begin(self, symbols);
        while let Some(Reverse((rank, at))) = scratch.queue.pop() {
            // A pair that changed since it was queued stands under another rank by now.
            let Some(node) = scratch.node(at).filter(|node| node.rank == rank) else { continue };
            if scratch.merge(self, at, node) {
                each(rank);
            }
        }
        scratch.give_out(symbols);
    }

    /// Merges as [`MergeTable::apply`] does, but each time passes over the pairs that `is_dropped` says, which is
    /// asked in the order of merges, and makes the first merge that is not dropped; until all are (BPE-dropout,
    /// Provilkov et al. 2020).
    pub(crate) fn apply_dropout(
        &self,
        symbols: &mut Vec<u32>,
        scratch: &mut MergeScratch,
        mut is_dropped: impl FnMut() -> bool,
    ) {
        scratch.begin(self, symbols);
        let mut dropped = Vec::new();
        while let Some(Reverse((rank, at))) = scratch.queue.pop() {
            let Some(node) = scratch.node(at).filter(|node| node.rank == rank) else { continue };
            if is_dropped() {
                dropped.push(Reverse((rank, at)));
            } else if scratch.merge(self, at, node) {
                scratch.queue.extend(dropped.drain(..));
            }
        }
        scratch.give_out(symbols);
    }
}

/// Buffers of [`MergeTable::apply`], to be used again.
#[derive(Default)]
pub struct MergeScratch {
    nodes: Vec<MergeNode>,
    queue: BinaryHeap<Reverse<(u32, u32)>>,
}

/// A symbol in a linked list. `rank` and `id` are of the merge with the next one.
#[derive(Clone, Copy)]
struct MergeNode {
    symbol: u32,
    previous: u32,
    next: u32,
    rank: u32,
    id: u32,
}

impl MergeNode {
    /// No neighbour, no rank.
    const NONE: u32 = u32::MAX - 1;
    /// Swallowed by its left neighbour.
    const GONE: Self = Self { symbol: 0, previous: 0, next: u32::MAX, rank: Self::NONE, id: 0 };
}

impl MergeScratch {
    fn begin(&mut self, table: &MergeTable, symbols: &[u32]) {
        self.nodes.clear();
        self.queue.clear();
        // A sequence of more than 2^32 - 3 symbols is cut there; the callers' texts are far shorter.
        for (at, symbol) in (0..MergeNode::NONE).zip(symbols) {
            self.nodes.push(MergeNode {
                symbol: *symbol,
                previous: at.checked_sub(1).unwrap_or(MergeNode::NONE),
                next: at + 1,
                rank: MergeNode::NONE,
                id: 0,
            });
        }
        if let Some(last) = self.nodes.last_mut() {
            last.next = MergeNode::NONE;
        }
        for (at, _) in (0..MergeNode::NONE).zip(symbols) {
            self.queue_pair(table, at);
        }
    }

    fn node(&self, at: u32) -> Option<MergeNode> {
        self.nodes.get(at as usize).copied()
    }

    fn set(&mut self, at: u32, node: MergeNode) {
        if let Some(slot) = self.nodes.get_mut(at as usize) {
            *slot = node;
        }
    }

    /// Merges `node`, which stands at `at`, with the next one; whether there is one.
    fn merge(&mut self, table: &MergeTable, at: u32, node: MergeNode) -> bool {
        let Some(right) = self.node(node.next) else { return false };
        self.set(at, MergeNode { symbol: node.id, next: right.next, ..node });
        self.set(node.next, MergeNode::GONE);
        if let Some(next) = self.nodes.get_mut(right.next as usize) {
            next.previous = at;
        }
        self.queue_pair(table, at);
        self.queue_pair(table, node.previous);
        true
    }

    /// For each symbol that is left, which of the first symbols it is made of.
    pub(crate) fn made_of(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let live = self.nodes.iter().enumerate();
        let live = live.filter(|(_, node)| node.next != MergeNode::GONE.next);
        live.map(|(at, node)| at..self.nodes.len().min(node.next as usize))
    }

    /// The symbols that are left.
    fn give_out(&self, symbols: &mut Vec<u32>) {
        symbols.clear();
        let live = self.nodes.iter().filter(|node| node.next != MergeNode::GONE.next);
        symbols.extend(live.map(|node| node.symbol));
    }

    /// Sets the merge of the pair that begins at `at`, and queues it.
    fn queue_pair(&mut self, table: &MergeTable, at: u32) {
        let Some(node) = self.node(at) else { return };
        let rule =
            self.node(node.next).and_then(|right| table.rules.get(&key(node.symbol, right.symbol)));
        let (rank, id) = rule.map_or((MergeNode::NONE, 0), |rule| (rule.rank, rule.id));
        self.set(at, MergeNode { rank, id, ..node });
        if rank != MergeNode::NONE {
            self.queue.push(Reverse((rank, at)));
        }
    }
}

/// Distinct words as sequences of symbols, each with one count per group (a group is a language or a
/// source; mostly there is one). No merge reaches over the end of a word.
///
/// Memory: 4 bytes a symbol, 8 a word, 8 a word and group. The products of counts and lengths must
/// together stay below 2^64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedWords {
    symbols: Vec<u32>,
    /// End of each word in `symbols`.
    ends: Vec<usize>,
    /// By word, then by group.
    counts: Vec<u64>,
    groups: usize,
}

impl CountedWords {
    /// No words yet; each will have `groups` counts, at least one.
    #[must_use]
    pub fn new(groups: usize) -> Self {
        Self { symbols: Vec::new(), ends: Vec::new(), counts: Vec::new(), groups: groups.max(1) }
    }

    /// Adds a word; missing counts are 0, further ones are ignored.
    pub fn push(&mut self, symbols: &[u32], counts: &[u64]) {
        self.symbols.extend_from_slice(symbols);
        self.ends.push(self.symbols.len());
        let padded = counts.iter().copied().chain(std::iter::repeat(0));
        self.counts.extend(padded.take(self.groups));
    }

    /// How many words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Counts per word.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The symbols and the counts of the word at `index`; none beyond the last.
    #[must_use]
    pub fn word(&self, index: usize) -> Option<(&[u32], &[u64])> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let counts = index * self.groups;
        Some((
            self.symbols.get(start.unwrap_or(0)..end)?,
            self.counts.get(counts..counts + self.groups)?,
        ))
    }

    /// All words in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], &[u64])> {
        (0..self.len()).filter_map(|index| self.word(index))
    }

    /// Symbols counted as often as their words, per group.
    #[must_use]
    pub fn mass(&self) -> Vec<u64> {
        let mut mass = vec![0_u64; self.groups];
        for (symbols, counts) in self.iter() {
            for (total, count) in mass.iter_mut().zip(counts) {
                *total = total.wrapping_add(count.wrapping_mul(symbols.len() as u64));
            }
        }
        mass
    }
}

/// The least words in a piece of parallel work.
const PIECE: usize = 4096;

/// The pairs that each merge joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeReplay {
    groups: usize,
    /// By merge, then by group.
    joined: Vec<u64>,
}

impl MergeReplay {
    /// Pairs joined when the merge at `merge` came into the list, per group; none beyond the last.
    #[must_use]
    pub fn joined(&self, merge: usize) -> Option<&[u64]> {
        let start = merge.checked_mul(self.groups)?;
        self.joined.get(start..start + self.groups)
    }
}

/// Applies the merges to all words and counts how many pairs each joined, as often as the words count.
///
/// Exact for every size V at once, also where a token is made by more than one merge. An encoder with
/// the first V merges goes the same way as one with all of them, until no merge below V is left; so
/// each joined pair belongs to the highest rank that its word had needed by then.
///
/// Memory: 8 bytes a merge, group and thread. The result does not depend on the number of threads.
#[must_use]
pub fn replay(words: &CountedWords, table: &MergeTable) -> MergeReplay {
    let groups = words.groups();
    let size = table.len() * groups;
    let piece = words.len().div_ceil(4 * rayon::current_num_threads().max(1)).max(PIECE);
    let starts: Vec<usize> = (0..words.len()).step_by(piece).collect();
    let joined = starts
        .into_par_iter()
        .map(|start| {
            let mut joined = vec![0_u64; size];
            let (mut symbols, mut scratch) = (Vec::new(), MergeScratch::default());
            for index in start..(start + piece).min(words.len()) {
                let Some((word, counts)) = words.word(index) else { continue };
                symbols.clear();
                symbols.extend_from_slice(word);
                let mut highest = 0;
                table.apply(&mut symbols, &mut scratch, |rank| {
                    highest = highest.max(rank as usize);
                    let row = joined.get_mut(highest * groups..).unwrap_or_default();
                    for (total, count) in row.iter_mut().zip(counts) {
                        *total = total.wrapping_add(*count);
                    }
                });
            }
            joined
        })
        .reduce_with(|mut all, part| {
            for (total, more) in all.iter_mut().zip(part) {
                *total = total.wrapping_add(more);
            }
            all
        });
    MergeReplay { groups, joined: joined.unwrap_or_else(|| vec![0; size]) }
}
