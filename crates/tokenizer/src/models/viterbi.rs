//! The best segmentation of a word into scored pieces.

use model::invariant::text_part;

/// What an unknown character costs below the worst piece.
pub(crate) const UNKNOWN_PENALTY: f64 = 10.0;

/// The best segmentation of a word up to one of its places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BestPrefix {
    /// The sum of the scores of its pieces.
    pub(crate) score: f64,
    /// Where its last piece begins.
    pub(crate) begin: usize,
    /// Whether its last piece is an unknown character.
    pub(crate) is_unknown: bool,
}

/// The best segmentations that reach over one character of a word.
pub(crate) struct Reach<'b> {
    bests: &'b mut [Option<BestPrefix>],
    begin: usize,
    so_far: f64,
    /// The bytes of the character, and whether it is a piece by itself.
    character: usize,
    is_known: bool,
}

impl Reach<'_> {
    /// A piece of this many bytes begins at the character.
    pub(crate) fn piece(&mut self, length: usize, score: f64) {
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
pub(crate) fn best_prefixes(
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
        pieces_at(text_part(word, begin..), &mut reach);
        if let Some(score) = unknown.filter(|_| !reach.is_known) {
            reach.reach(character, score, true);
        }
    }
}

/// The score of the best segmentation of a word, as [`best_prefixes`]; minus infinity where there is none.
pub(crate) fn best_score(
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
}
