//! Pieces by their bytes, in a double array: a step from node to node is one look-up.

use std::collections::VecDeque;

/// The number of a node without a piece.
const NO_PIECE: u32 = u32::MAX;
/// The parent of a place that no node has.
const FREE: u32 = u32::MAX;
/// Children of one node differ in their last eight bits.
const BLOCK: usize = 256;

/// A node; the child by a byte stands at `base ^ byte`, and names its parent.
#[derive(Clone, Copy)]
struct TrieNode {
    base: u32,
    parent: u32,
    piece: u32,
}

/// Pieces by their bytes. 12 bytes a place.
pub(crate) struct PieceTrie {
    nodes: Vec<TrieNode>,
}

/// A node that bytes lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TriePlace(u32);

impl PieceTrie {
    /// Builds the trie of pieces with their numbers; of pieces with the same bytes that with the largest is there.
    pub(crate) fn new<'p>(pieces: impl Iterator<Item = (u32, &'p str)>) -> Self {
        let mut sorted: Vec<(&[u8], u32)> =
            pieces.map(|(number, piece)| (piece.as_bytes(), number)).collect();
        sorted.sort_unstable();
        let mut builder = TrieBuilder::default();
        builder.grow();
        // The root, which is no node's child.
        builder.take(0, 0);
        let mut waiting = VecDeque::from([(0_u32, sorted.as_slice(), 0_usize)]);
        while let Some((at, mut of, depth)) = waiting.pop_front() {
            while let Some(((bytes, number), rest)) = of.split_first()
                && bytes.len() == depth
            {
                builder.set(at, |node| node.piece = *number);
                of = rest;
            }
            let mut groups = Vec::new();
            while let Some(byte) = of.first().and_then(|(bytes, _)| bytes.get(depth).copied()) {
                let same = of.partition_point(|(bytes, _)| bytes.get(depth) == Some(&byte));
                let (group, rest) = of.split_at(same);
                groups.push((byte, group));
                of = rest;
            }
            let bytes: Vec<u8> = groups.iter().map(|(byte, _)| *byte).collect();
            let Some(base) = builder.place(&bytes) else { continue };
            builder.set(at, |node| node.base = base);
            for (byte, group) in groups {
                let child = base ^ u32::from(byte);
                builder.take(child, at);
                waiting.push_back((child, group, depth + 1));
            }
        }
        Self { nodes: builder.nodes }
    }

    /// Where every search begins.
    pub(crate) const ROOT: TriePlace = TriePlace(0);

    /// The node behind `place` by one more byte.
    pub(crate) fn step(&self, place: TriePlace, byte: u8) -> Option<TriePlace> {
        let child = self.nodes.get(place.0 as usize)?.base ^ u32::from(byte);
        let is_child = child != 0 && self.nodes.get(child as usize)?.parent == place.0;
        is_child.then_some(TriePlace(child))
    }

    /// The node behind `place` by all of `bytes`.
    pub(crate) fn walk(&self, place: TriePlace, bytes: &[u8]) -> Option<TriePlace> {
        bytes.iter().try_fold(place, |place, byte| self.step(place, *byte))
    }

    /// The number of the piece whose bytes lead to `place`.
    pub(crate) fn piece(&self, place: TriePlace) -> Option<u32> {
        let piece = self.nodes.get(place.0 as usize)?.piece;
        (piece != NO_PIECE).then_some(piece)
    }

    /// The number of the piece with just these bytes.
    pub(crate) fn get(&self, bytes: &[u8]) -> Option<u32> {
        self.piece(self.walk(Self::ROOT, bytes)?)
    }

    /// Calls `each` with the length and the number of every piece that `bytes` begin with, shortest first.
    pub(crate) fn prefixes(&self, bytes: &[u8], mut each: impl FnMut(usize, u32)) {
        let mut place = Self::ROOT;
        for (length, byte) in (1..).zip(bytes) {
            let Some(next) = self.step(place, *byte) else { return };
            place = next;
            if let Some(piece) = self.piece(place) {
                each(length, piece);
            }
        }
    }

    /// The length and the number of the longest of the first `most` pieces that `bytes` begin with.
    pub(crate) fn longest(&self, bytes: &[u8], most: usize) -> Option<(usize, u32)> {
        let (mut longest, mut left) = (None, most);
        self.prefixes(bytes, |length, piece| {
            if left > 0 {
                longest = Some((length, piece));
                left -= 1;
            }
        });
        longest
    }
}

/// Finds places for children.
#[derive(Default)]
struct TrieBuilder {
    nodes: Vec<TrieNode>,
    /// All places before it are taken, or were tried often enough.
    first_free: usize,
}

impl TrieBuilder {
    /// One more block of free places.
    fn grow(&mut self) {
        let free = TrieNode { base: 0, parent: FREE, piece: NO_PIECE };
        self.nodes.resize(self.nodes.len() + BLOCK, free);
    }

    fn is_free(&self, at: usize) -> bool {
        self.nodes.get(at).is_some_and(|node| node.parent == FREE)
    }

    fn set(&mut self, at: u32, change: impl FnOnce(&mut TrieNode)) {
        if let Some(node) = self.nodes.get_mut(at as usize) {
            change(node);
        }
    }

    fn take(&mut self, at: u32, parent: u32) {
        self.set(at, |node| node.parent = parent);
    }

    /// A base with which all children have free places; none without children, or beyond 32 bits.
    fn place(&mut self, bytes: &[u8]) -> Option<u32> {
        /// Free places that are tried before a new block is begun.
        const MOST_TRIES: usize = 64;
        let first = usize::from(*bytes.first()?);
        while self.first_free < self.nodes.len() && !self.is_free(self.first_free) {
            self.first_free += 1;
        }
        let mut tries = 0;
        for at in self.first_free..self.nodes.len() {
            if !self.is_free(at) {
                continue;
            }
            let base = at ^ first;
            if bytes.iter().all(|byte| self.is_free(base ^ usize::from(*byte))) {
                return u32::try_from(base).ok();
            }
            tries += 1;
            if tries == MOST_TRIES {
                // Few of these places fit anything: later searches begin behind them.
                self.first_free += MOST_TRIES / 4;
                break;
            }
        }
        let base = self.nodes.len();
        self.grow();
        u32::try_from(base).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn pieces_that_a_text_begins_with_are_found_shortest_first() {
        let pieces = ["a", "abc", "é", "ab", "b", "abd", "éa"];
        let trie = PieceTrie::new((0..).zip(pieces));
        let found = |text: &str| {
            let mut found = Vec::new();
            trie.prefixes(text.as_bytes(), |length, number| found.push((length, number)));
            found
        };
        assert_eq!(found("abcd"), [(1, 0), (2, 3), (3, 1)]);
        assert_eq!(found("éab"), [(2, 2), (3, 6)]);
        assert_eq!(found("cab"), []);
        assert_eq!(found(""), []);
        assert_eq!(
            (trie.longest(b"abcd", 9), trie.longest(b"abcd", 2)),
            (Some((3, 1)), Some((2, 3)))
        );
    }

    proptest! {
        #[test]
        fn a_trie_has_its_pieces_and_no_others(
            pieces in proptest::collection::btree_set("[a-e\0é語👍]{1,5}", 0..200), other in "[a-e\0é語👍]{0,6}"
        ) {
            let numbers: BTreeMap<&str, u32> = pieces.iter().map(String::as_str).zip(0..).collect();
            let trie = PieceTrie::new(numbers.iter().map(|(piece, number)| (*number, *piece)));
            for (piece, number) in &numbers {
                prop_assert_eq!(trie.get(piece.as_bytes()), Some(*number));
            }
            prop_assert_eq!(trie.get(other.as_bytes()), numbers.get(other.as_str()).copied());
        }
    }
}
