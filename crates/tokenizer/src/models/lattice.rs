//! The lattice of all ways to cut a word into Unigram pieces: their summed probability, the best and the second best.
//!
//! The arithmetic is that of the stock trainer, operation by operation and in its order, and so is the heap
//! that breaks ties: a last bit decides which pieces are pruned.

use super::piece_lattice::UnigramPieces;
use super::trie::PieceTrie;
use super::viterbi::{BestPrefix, Reach, UNKNOWN_PENALTY, best_prefixes};
use dary_heap::QuaternaryHeap;
use model::invariant::{at, part};
use std::cmp::Ordering;

/// A piece with its log probability.
pub(crate) type ScoredPiece = (String, f64);

/// Beyond this difference of logarithms the smaller summand is nothing.
const NEGLIGIBLE: f64 = 50.0;
/// Open paths that are kept in mind at most, and how many are left when there are more: for two asked.
const MOST_OPEN: usize = 100_000;
const LEFT_OPEN: usize = 20;

/// Pieces to cut words by. That at 0 is what unknown characters become.
pub(crate) struct UnigramSegmenter {
    trie: PieceTrie,
    scores: Vec<f64>,
    unknown: f64,
}

impl UnigramSegmenter {
    /// The first `hidden` pieces are never found in a word.
    pub(crate) fn of(pieces: &[ScoredPiece], hidden: usize) -> Self {
        let least = pieces.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min);
        let found = (0..).zip(pieces).skip(hidden);
        Self {
            trie: PieceTrie::new(found.map(|(number, (piece, _))| (number, piece.as_str()))),
            scores: pieces.iter().map(|(_, score)| *score).collect(),
            unknown: least - UNKNOWN_PENALTY,
        }
    }

    /// The number of the piece with this spelling.
    pub(crate) fn piece(&self, spelling: &str) -> Option<u32> {
        self.trie.get(spelling.as_bytes())
    }

    /// Tokens that the best cut has, as the encoder counts them: unknown characters side by side are one, or
    /// as many as they have bytes. `bests` is scratch.
    pub(crate) fn tokens(
        &self,
        word: &str,
        is_by_bytes: bool,
        bests: &mut Vec<Option<BestPrefix>>,
    ) -> u64 {
        let pieces_at = |rest: &str, reach: &mut Reach<'_>| {
            self.trie.prefixes(rest.as_bytes(), |length, piece| {
                let score = *at(&self.scores, piece as usize);
                reach.piece(length, score);
            });
        };
        best_prefixes(word, Some(self.unknown), pieces_at, bests);
        let (mut tokens, mut end, mut is_run) = (0, word.len(), false);
        while let Some(BestPrefix { begin, is_unknown, .. }) = bests.get(end).copied().flatten() {
            tokens += match (is_unknown, is_by_bytes) {
                (true, true) => end.saturating_sub(begin) as u64,
                (true, false) => u64::from(!is_run),
                (false, _) => 1,
            };
            (is_run, end) = (is_unknown, begin);
        }
        tokens
    }
}

impl UnigramPieces for UnigramSegmenter {
    fn pieces_at(&self, rest: &str, mut each: impl FnMut(usize, u32, f64)) {
        self.trie.prefixes(rest.as_bytes(), |length, piece| {
            each(length, piece, *at(&self.scores, piece as usize));
        });
    }

    fn unknown_score(&self) -> Option<f64> {
        Some(self.unknown)
    }
}

/// A piece at a place of the word.
#[derive(Clone, Copy)]
struct LatticeArc {
    begin: u32,
    end: u32,
    piece: u32,
    score: f64,
    /// The score of the best cut up to its end that ends in it, and the arc before it there.
    best: f64,
    before: Option<u32>,
}

/// All pieces in one word. Used again for one word after the other.
#[derive(Default)]
pub(crate) struct UnigramLattice {
    length: usize,
    /// By begin, then by length.
    arcs: Vec<LatticeArc>,
    /// By place: the first arc that begins there; one more at the end.
    begins: Vec<usize>,
    /// Arcs by their end, and by place where its own begin; one more at the end.
    by_end: Vec<u32>,
    ends: Vec<usize>,
    forth: Vec<f64>,
    back: Vec<f64>,
}

impl UnigramLattice {
    pub(crate) fn fill(&mut self, cutter: &UnigramSegmenter, word: &str) {
        self.length = word.len();
        self.arcs.clear();
        self.begins.clear();
        self.ends.clear();
        self.ends.resize(word.len() + 2, 0);
        let whole = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        for begin in 0..word.len() {
            self.begins.push(self.arcs.len());
            let Some(character) = word.get(begin..).and_then(|rest| rest.chars().next()) else {
                continue;
            };
            let (arcs, ends) = (&mut self.arcs, &mut self.ends);
            let mut add = |length: usize, piece: u32, score: f64| {
                let end = begin + length;
                let (begin, before, best) = (whole(begin), None, 0.0);
                arcs.push(LatticeArc { begin, end: whole(end), piece, score, best, before });
                if let Some(count) = ends.get_mut(end + 1) {
                    *count += 1;
                }
            };
            let (mut has_character, rest) = (false, part(word.as_bytes(), begin..));
            cutter.trie.prefixes(rest, |length, piece| {
                has_character |= length == character.len_utf8();
                add(length, piece, *at(&cutter.scores, piece as usize));
            });
            if !has_character {
                add(character.len_utf8(), 0, cutter.unknown);
            }
        }
        self.begins.extend([self.arcs.len(); 2]);
        let mut total = 0;
        for end in &mut self.ends {
            total += *end;
            *end = total;
        }
        self.by_end.clear();
        self.by_end.resize(self.arcs.len(), 0);
        // Backwards, so that the arcs of an end stand in the order they were added.
        let mut next: Vec<usize> = self.ends.iter().skip(1).copied().collect();
        for (at, arc) in self.arcs.iter().enumerate().rev() {
            if let Some(place) = next.get_mut(arc.end as usize) {
                *place -= 1;
                if let Some(slot) = self.by_end.get_mut(*place) {
                    *slot = whole(at);
                }
            }
        }
    }

    fn beginning_at(&self, place: usize) -> &[LatticeArc] {
        part(&self.arcs, place_range(&self.begins, place))
    }

    fn ending_at(&self, place: usize) -> impl Iterator<Item = (u32, &LatticeArc)> {
        part(&self.by_end, place_range(&self.ends, place))
            .iter()
            .filter_map(|at| Some((*at, self.arcs.get(*at as usize)?)))
    }

    /// Calls `each` with every piece and its share of `count` over all cuts, weighed by their probability.
    /// Answers the logarithm of their sum.
    pub(crate) fn shares(&mut self, count: f64, mut each: impl FnMut(u32, f64)) -> f64 {
        let (mut forth, mut back) =
            (std::mem::take(&mut self.forth), std::mem::take(&mut self.back));
        forth.clear();
        forth.resize(self.length + 1, 0.0);
        back.clear();
        back.resize(self.length + 1, 0.0);
        let at = |sums: &[f64], place: u32| sums.get(place as usize).copied().unwrap_or_default();
        for place in 1..=self.length {
            let sum =
                log_sum(self.ending_at(place).map(|(_, arc)| arc.score + at(&forth, arc.begin)));
            if let (Some(slot), Some(sum)) = (forth.get_mut(place), sum) {
                *slot = sum;
            }
        }
        for place in (0..self.length).rev() {
            let sum =
                log_sum(self.beginning_at(place).iter().map(|arc| arc.score + at(&back, arc.end)));
            if let (Some(slot), Some(sum)) = (back.get_mut(place), sum) {
                *slot = sum;
            }
        }
        let whole = forth.last().copied().unwrap_or_default();
        for arc in &self.arcs {
            let share = at(&forth, arc.begin) + arc.score + at(&back, arc.end) - whole;
            each(arc.piece, count * share.exp());
        }
        (self.forth, self.back) = (forth, back);
        whole
    }

    /// The pieces of the best cut, last first.
    pub(crate) fn best(&mut self, pieces: &mut Vec<u32>) {
        pieces.clear();
        for place in 0..self.length {
            let range = place_range(&self.begins, place);
            for at in range {
                let Some(score) = self.arcs.get(at).map(|arc| arc.score) else { continue };
                let (mut best, mut before) = (score, None);
                for (left, arc) in self.ending_at(place) {
                    let sum = arc.best + score;
                    if before.is_none() || sum > best {
                        (best, before) = (sum, Some(left));
                    }
                }
                if let Some(arc) = self.arcs.get_mut(at) {
                    (arc.best, arc.before) = (best, before);
                }
            }
        }
        let mut last: Option<(u32, f64)> = None;
        for (left, arc) in self.ending_at(self.length) {
            if last.is_none_or(|(_, best)| arc.best > best) {
                last = Some((left, arc.best));
            }
        }
        let mut next = last.map(|(at, _)| at);
        while let Some(arc) = next.and_then(|at| self.arcs.get(at as usize)) {
            pieces.push(arc.piece);
            next = arc.before;
        }
    }

    /// How many pieces the best cut has, and the pieces of the second, if there is one.
    pub(crate) fn second(&mut self) -> (usize, Option<Vec<u32>>) {
        self.best(&mut Vec::new());
        let mut open = QuaternaryHeap::new();
        // What was taken from the heap: an arc, and what follows it.
        let mut taken: Vec<(Option<u32>, Option<usize>)> = Vec::new();
        let mut found: Option<usize> = None;
        open.push(OpenPath { hoped: 0.0, so_far: 0.0, arc: SearchNode::End, next: None });
        while let Some(top) = open.pop() {
            let place = match top.arc {
                SearchNode::End => self.length,
                SearchNode::Arc(at) => {
                    self.arcs.get(at as usize).map_or(0, |arc| arc.begin as usize)
                }
                SearchNode::Begin => {
                    let mut pieces = Vec::new();
                    let mut next = top.next;
                    while let Some((Some(at), after)) = next.and_then(|at| taken.get(at)) {
                        pieces.extend(self.arcs.get(*at as usize).map(|arc| arc.piece));
                        next = *after;
                    }
                    match found {
                        None => found = Some(pieces.len()),
                        Some(first) => return (first, Some(pieces)),
                    }
                    continue;
                }
            };
            let arc = if let SearchNode::Arc(at) = top.arc { Some(at) } else { None };
            taken.push((arc, top.next));
            let next = Some(taken.len() - 1);
            if place == 0 {
                let so_far = top.so_far;
                open.push(OpenPath { hoped: so_far, so_far, arc: SearchNode::Begin, next });
            }
            for (at, arc) in self.ending_at(place) {
                let hoped = arc.best + top.so_far;
                let so_far = arc.score + top.so_far;
                open.push(OpenPath { hoped, so_far, arc: SearchNode::Arc(at), next });
            }
            if open.len() > MOST_OPEN {
                let mut fewer = QuaternaryHeap::new();
                (0..LEFT_OPEN).filter_map(|_| open.pop()).for_each(|open| fewer.push(open));
                open = fewer;
            }
        }
        (found.unwrap_or(0), None)
    }
}

fn place_range(bounds: &[usize], place: usize) -> std::ops::Range<usize> {
    *at(bounds, place)..*at(bounds, place + 1)
}

#[derive(Clone, Copy)]
enum SearchNode {
    Begin,
    Arc(u32),
    End,
}

/// A cut of the end of a word.
struct OpenPath {
    /// With the best cut of what is before.
    hoped: f64,
    so_far: f64,
    arc: SearchNode,
    next: Option<usize>,
}

impl PartialEq for OpenPath {
    fn eq(&self, other: &Self) -> bool {
        self.hoped == other.hoped
    }
}

impl Eq for OpenPath {}

impl PartialOrd for OpenPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OpenPath {
    /// Never equal, as in the stock trainer: which of two alike comes first is the heap's affair.
    fn cmp(&self, other: &Self) -> Ordering {
        if self.hoped < other.hoped { Ordering::Less } else { Ordering::Greater }
    }
}

fn log_sum(summands: impl Iterator<Item = f64>) -> Option<f64> {
    summands.fold(None, |sum, next| {
        let Some(sum) = sum else { return Some(next) };
        let (least, most) = if sum > next { (next, sum) } else { (sum, next) };
        Some(if most > least + NEGLIGIBLE {
            most
        } else {
            most + ((least - most).exp() + 1.0).ln()
        })
    })
}
