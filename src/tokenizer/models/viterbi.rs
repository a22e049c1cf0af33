//! Pieces by their bytes: which of them begin at a place of a word.

use std::collections::VecDeque;

/// The number of a node without a piece.
const NONE: u32 = u32::MAX;

/// A node; its children stand side by side, ascending by byte.
#[derive(Clone, Copy)]
struct TrieNode {
    byte: u8,
    children: u16,
    first: u32,
    piece: u32,
}

/// Pieces by their bytes. 12 bytes a node.
pub(in crate::tokenizer) struct PieceTrie {
    nodes: Vec<TrieNode>,
}

impl PieceTrie {
    /// Of distinct pieces with their numbers.
    pub(in crate::tokenizer) fn of<'p>(pieces: impl Iterator<Item = (u32, &'p str)>) -> Self {
        let mut sorted: Vec<(&[u8], u32)> =
            pieces.map(|(number, piece)| (piece.as_bytes(), number)).collect();
        sorted.sort_unstable();
        let root = TrieNode { byte: 0, children: 0, first: 0, piece: NONE };
        let mut nodes = vec![root];
        let mut waiting = VecDeque::from([(0_usize, sorted.as_slice(), 0_usize)]);
        while let Some((at, mut of, depth)) = waiting.pop_front() {
            let first = nodes.len();
            let mut piece = NONE;
            if let Some(((bytes, number), rest)) = of.split_first()
                && bytes.len() == depth
            {
                (piece, of) = (*number, rest);
            }
            while let Some(byte) = of.first().and_then(|(bytes, _)| bytes.get(depth).copied()) {
                let same = of.partition_point(|(bytes, _)| bytes.get(depth) == Some(&byte));
                let (child, rest) = of.split_at(same);
                waiting.push_back((nodes.len(), child, depth + 1));
                nodes.push(TrieNode { byte, ..root });
                of = rest;
            }
            let children = u16::try_from(nodes.len() - first).unwrap_or(u16::MAX);
            let first = u32::try_from(first).unwrap_or(NONE);
            if let Some(node) = nodes.get_mut(at) {
                (node.children, node.first, node.piece) = (children, first, piece);
            }
        }
        Self { nodes }
    }

    /// Calls `each` with the length and the number of every piece that `bytes` begin with, shortest first.
    pub(in crate::tokenizer) fn prefixes(&self, bytes: &[u8], mut each: impl FnMut(usize, u32)) {
        let Some(mut node) = self.nodes.first() else { return };
        for (length, byte) in (1..).zip(bytes) {
            let first = node.first as usize;
            let children = self.nodes.get(first..first + usize::from(node.children));
            let children = children.unwrap_or_default();
            let Ok(child) = children.binary_search_by_key(byte, |child| child.byte) else { return };
            let Some(found) = children.get(child) else { return };
            node = found;
            if node.piece != NONE {
                each(length, node.piece);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_a_text_begins_with_are_found_shortest_first() {
        let pieces = ["a", "abc", "é", "ab", "b", "abd", "éa"];
        let trie = PieceTrie::of((0..).zip(pieces));
        let found = |text: &str| {
            let mut found = Vec::new();
            trie.prefixes(text.as_bytes(), |length, number| found.push((length, number)));
            found
        };
        assert_eq!(found("abcd"), [(1, 0), (2, 3), (3, 1)]);
        assert_eq!(found("éab"), [(2, 2), (3, 6)]);
        assert_eq!(found("cab"), []);
        assert_eq!(found(""), []);
    }
}
