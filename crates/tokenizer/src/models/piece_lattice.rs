//! The lattice of all segmentations of a part of a text by a Unigram: their sum, their entropy, a draw of one.
//!
//! Sums are of 64 bits. Scores of a SentencePiece model have 24 significant ones, so that sums of them are exact, and
//! segmentations with the same pieces in another order have the same one.

use model::invariant::{at, part, text_part};
use model::{GOLDEN, mix64};
use std::ops::Range;

/// The pieces of a Unigram with their scores, which are logarithms of probabilities.
pub(crate) trait UnigramPieces {
    /// Calls `each` with the length, the number and the score of every piece that `rest` begins with, shortest first.
    fn pieces_at(&self, rest: &str, each: impl FnMut(usize, u32, f64));

    /// The score of a character that is no piece; none where such a text is refused.
    fn unknown_score(&self) -> Option<f64>;
}

/// The number of a character that is no piece.
pub(crate) const UNKNOWN_PIECE: u32 = u32::MAX;

/// One of the pieces of a segmentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceChoice {
    pub(crate) piece: u32,
    /// In bytes.
    pub(crate) length: u32,
}

/// A piece at a place of a text.
#[derive(Clone, Copy)]
pub(super) struct PieceArc {
    pub(super) begin: u32,
    pub(super) end: u32,
    pub(super) piece: u32,
    pub(super) score: f64,
}

impl PieceArc {
    pub(super) const fn choice(self) -> PieceChoice {
        PieceChoice { piece: self.piece, length: self.end - self.begin }
    }
}

/// All pieces at all places of a text that the pieces before lead to. Used again for one text after the other.
#[derive(Default)]
pub(crate) struct PieceLattice {
    length: usize,
    /// By end, then by begin.
    arcs: Vec<PieceArc>,
    /// By place: the first arc that ends there; one more at the end.
    ends: Vec<u32>,
    /// By place: the logarithm of the sum of all ways to it.
    sums: Vec<f64>,
}

impl PieceLattice {
    /// `text` is shorter than 4 GiB.
    pub(crate) fn fill(&mut self, text: &str, pieces: &impl UnigramPieces) {
        let Self { length, arcs, ends, .. } = self;
        *length = text.len();
        arcs.clear();
        ends.clear();
        ends.resize(text.len() + 2, 0);
        for (begin, _) in text.char_indices() {
            if begin > 0 && *at(ends, begin + 1) == 0 {
                continue;
            }
            arcs_at(text_part(text, begin..), pieces, |length, piece, score| {
                let end = begin + length;
                if let Some(count) = ends.get_mut(end + 1) {
                    *count += 1;
                }
                let (begin, end) = (place(begin), place(end));
                arcs.push(PieceArc { begin, end, piece, score });
            });
        }
        let mut total = 0;
        for first in ends {
            total += *first;
            *first = total;
        }
        arcs.sort_by_key(|arc| arc.end);
    }

    /// In bytes.
    pub(super) const fn length(&self) -> usize {
        self.length
    }

    pub(super) fn arc(&self, number: u32) -> PieceArc {
        *at(&self.arcs, number as usize)
    }

    /// The numbers of the arcs that end at a place, by begin.
    pub(super) fn numbers(&self, place: usize) -> Range<u32> {
        *at(&self.ends, place)..*at(&self.ends, place + 1)
    }

    /// The arcs that end at a place, by begin.
    pub(super) fn ending_at(&self, place: usize) -> &[PieceArc] {
        let Range { start, end } = self.numbers(place);
        part(&self.arcs, start as usize..end as usize)
    }

    /// For each place the logarithm of the sum of all ways to it, scores times `alpha`.
    fn sum(&mut self, alpha: f64) {
        let mut sums = std::mem::take(&mut self.sums);
        sums.clear();
        sums.push(0.0);
        for place in 1..=self.length {
            let arcs = self.ending_at(place);
            let ways = || arcs.iter().map(|arc| alpha * arc.score + *at(&sums, arc.begin as usize));
            let most = ways().fold(f64::NEG_INFINITY, f64::max);
            let sum = match arcs {
                [] | [_] => most,
                _ => most + ways().map(|way| (way - most).exp()).sum::<f64>().ln(),
            };
            sums.push(sum);
        }
        self.sums = sums;
    }

    /// The logarithm of an arc's share of all ways to its end.
    fn share(&self, arc: &PieceArc, alpha: f64) -> f64 {
        alpha * arc.score + *at(&self.sums, arc.begin as usize) - *at(&self.sums, arc.end as usize)
    }

    /// The logarithm of the sum of all segmentations, each of weight P^`alpha`, and their entropy in nats.
    pub(crate) fn measure(&mut self, alpha: f64) -> (f64, f64) {
        self.sum(alpha);
        let mut entropies = vec![0.0];
        for place in 1..=self.length {
            let arcs = self.ending_at(place);
            let parts = arcs.iter().map(|arc| {
                let share = self.share(arc, alpha);
                share.exp() * (*at(&entropies, arc.begin as usize) - share)
            });
            entropies.push(parts.sum());
        }
        (*at(&self.sums, self.length), *at(&entropies, self.length))
    }

    /// Appends the pieces of one segmentation, drawn with probability proportional to P^`alpha`: by the sums of all
    /// ways to each place, from the end.
    pub(crate) fn draw(
        &mut self,
        alpha: f64,
        draws: &mut DrawStream,
        choices: &mut Vec<PieceChoice>,
    ) {
        self.sum(alpha);
        let (first, mut place) = (choices.len(), self.length);
        while place > 0 {
            let arcs = self.ending_at(place);
            let Some((last, others)) = arcs.split_last() else { break };
            let mut left = if others.is_empty() { 0.0 } else { draws.next_share() };
            let drawn = others.iter().find(|arc| {
                left -= self.share(arc, alpha).exp();
                left < 0.0
            });
            let arc = drawn.unwrap_or(last);
            choices.push(arc.choice());
            place = arc.begin as usize;
        }
        if let Some(drawn) = choices.get_mut(first..) {
            drawn.reverse();
        }
    }
}

/// A place of a text shorter than 4 GiB.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Calls `each` with the length, the number and the score of what may stand at the begin of `rest`.
fn arcs_at(rest: &str, pieces: &impl UnigramPieces, mut each: impl FnMut(usize, u32, f64)) {
    let width = rest.chars().next().map_or(0, char::len_utf8);
    let mut has_character = false;
    pieces.pieces_at(rest, |length, piece, score| {
        has_character |= length == width;
        each(length, piece, score);
    });
    if let Some(score) = pieces.unknown_score().filter(|_| !has_character) {
        each(width, UNKNOWN_PIECE, score);
    }
}

/// Calls `each` with the parts of a text between the places that no piece reaches over: a segmentation of the text is
/// one of each part.
pub(crate) fn independent_parts<'t>(
    text: &'t str,
    pieces: &impl UnigramPieces,
    mut each: impl FnMut(&'t str),
) {
    let (mut start, mut reach) = (0, 0);
    for (begin, character) in text.char_indices() {
        if begin == reach && begin > start {
            each(text_part(text, start..begin));
            start = begin;
        }
        reach = reach.max(begin + character.len_utf8());
        arcs_at(text_part(text, begin..), pieces, |length, _, _| reach = reach.max(begin + length));
    }
    if start < text.len() {
        each(text_part(text, start..));
    }
}

/// Random numbers by a key: the stream of SplitMix64.
pub(crate) struct DrawStream(u64);

impl DrawStream {
    pub(crate) const fn new(key: u64) -> Self {
        Self(key)
    }

    /// The next number in 0..1, of 53 bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub(crate) fn next_share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        (mix64(self.0) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
