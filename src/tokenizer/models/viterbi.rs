//! The best segmentation of a word into scored pieces, and pieces by their bytes.

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

/// What an unknown character costs below the worst piece.
pub(in crate::tokenizer) const UNKNOWN_PENALTY: f64 = 10.0;

/// The best segmentation of a word up to one of its places.
#[derive(Clone, Copy, Debug)]
pub(in crate::tokenizer) struct BestPrefix {
    /// The sum of the scores of its pieces.
    pub(in crate::tokenizer) score: f64,
    /// Where its last piece begins.
    pub(in crate::tokenizer) begin: usize,
    /// Whether its last piece is an unknown character.
    pub(in crate::tokenizer) is_unknown: bool,
}

/// The best segmentations that reach over one character of a word.
pub(in crate::tokenizer) struct Reach<'b> {
    bests: &'b mut [Option<BestPrefix>],
    begin: usize,
    so_far: f64,
    /// The bytes of the character, and whether it is a piece by itself.
    character: usize,
    is_known: bool,
}

impl Reach<'_> {
    /// A piece of this many bytes begins at the character.
    pub(in crate::tokenizer) fn piece(&mut self, length: usize, score: f64) {
        self.is_known |= length == self.character;
        self.reach(length, score, false);
    }

    fn reach(&mut self, length: usize, score: f64, is_unknown: bool) {
        let (score, begin) = (self.so_far + score, self.begin);
        if let Some(best) = self.bests.get_mut(begin + length)
            && best.is_none_or(|best| score > best.score)
        {
            *best = Some(BestPrefix { score, begin, is_unknown });
        }
    }
}

/// The best segmentation of `word` up to each of its bytes, of two with the same score that with the earlier last
/// piece; none where no segmentation ends. `pieces_at` tells a [`Reach`] the pieces that a rest of the word begins
/// with, `unknown` is the score of a character that is no piece, if there may be one. `bests` is overwritten.
pub(in crate::tokenizer) fn best_prefixes(
    word: &str,
    unknown: Option<f64>,
    pieces_at: impl Fn(&str, &mut Reach<'_>),
    bests: &mut Vec<Option<BestPrefix>>,
) {
    bests.clear();
    bests.resize(word.len() + 1, None);
    for (begin, character) in word.char_indices() {
        let so_far = match bests.get(begin).copied().flatten() {
            Some(best) => best.score,
            None if begin == 0 => 0.0,
            None => continue,
        };
        let character = character.len_utf8();
        let mut reach = Reach { bests, begin, so_far, character, is_known: false };
        pieces_at(word.get(begin..).unwrap_or_default(), &mut reach);
        if let Some(score) = unknown.filter(|_| !reach.is_known) {
            reach.reach(character, score, true);
        }
    }
}

/// The score of the best segmentation of a word, as [`best_prefixes`]; minus infinity where there is none.
pub(in crate::tokenizer) fn best_score(
    word: &str,
    unknown: Option<f64>,
    pieces_at: impl Fn(&str, &mut Reach<'_>),
) -> f64 {
    let mut bests = Vec::new();
    best_prefixes(word, unknown, pieces_at, &mut bests);
    match bests.last().copied().flatten() {
        Some(best) => best.score,
        None if word.is_empty() => 0.0,
        None => f64::NEG_INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_segmentation_has_the_highest_sum() {
        let pieces = [("a", -2.0), ("b", -2.0), ("ab", -3.0), ("bc", -1.0)];
        let pieces_at = |rest: &str, reach: &mut Reach<'_>| {
            let found = pieces.iter().filter(|(piece, _)| rest.starts_with(piece));
            found.for_each(|(piece, score)| reach.piece(piece.len(), *score));
        };
        assert!((best_score("abc", Some(-12.0), pieces_at) + 3.0).abs() < 1e-12);
        assert!((best_score("abé", Some(-12.0), pieces_at) + 15.0).abs() < 1e-12);
        assert_eq!(best_score("abé", None, pieces_at), f64::NEG_INFINITY);
        assert_eq!(best_score("", None, pieces_at), 0.0);
        let mut bests = Vec::new();
        best_prefixes("aéé", Some(-12.0), pieces_at, &mut bests);
        let last = bests.last().copied().flatten().unwrap();
        assert_eq!((last.begin, last.is_unknown), (3, true));
        assert!(bests[2].is_none(), "inside a character");
    }

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
