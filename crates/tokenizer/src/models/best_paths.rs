//! The best segmentations of a text by a Unigram, best first: by A* over the lattice of each part of it, and over the
//! sums of one segmentation of each part.
//!
//! A search goes from the end of a part to its begin. What an open path may still reach is the best way to its begin,
//! which is known exactly, so paths are finished in the order of their scores, and as many open ones as there are
//! answers wanted are enough: each leads to an answer that is as good as it promises. Of paths that promise the same
//! the last opened goes on, and arcs are opened from the shortest to the longest: so of the best segmentations that is
//! found first whose last piece that differs is the longest, as by Viterbi's algorithm.

use super::piece_lattice::{PieceChoice, PieceLattice};
use model::invariant::at;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Paths that all searches of one text may open together: some 150 MB.
pub(crate) const MOST_PATHS: usize = 1 << 22;
/// Open paths that are kept although fewer answers are wanted.
const LEAST_OPEN: usize = 4096;

/// More than [`MOST_PATHS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyPaths;

/// The segmentations of one part of a text, searched as far as they are asked for.
pub(crate) struct PathSearch {
    lattice: PieceLattice,
    /// By place: the score of the best way to it.
    bests: Vec<f64>,
    open: BinaryHeap<OpenArc>,
    /// What was taken from the heap: an arc, and what follows it.
    taken: Vec<(u32, Option<u32>)>,
    found: Vec<(f64, u32)>,
    most: usize,
    /// How many paths were opened.
    opened: usize,
}

/// A score or a cost, ordered by its size.
#[derive(Clone, Copy)]
pub(crate) struct Score(pub(crate) f64);

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Score {}

/// A way from an arc to the end of the part. Ordered by its first two fields: no two have the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OpenArc {
    /// With the best way to the arc.
    hoped: Score,
    /// How many were opened before it.
    order: usize,
    so_far: Score,
    arc: u32,
    next: Option<u32>,
}

impl PathSearch {
    /// `most`: how many segmentations are asked for at most.
    pub(crate) fn new(lattice: PieceLattice, most: usize) -> Self {
        let mut bests = vec![0.0];
        for place in 1..=lattice.length() {
            let ways = lattice
                .ending_at(place)
                .iter()
                .map(|arc| *at(&bests, arc.begin as usize) + arc.score);
            bests.push(ways.fold(f64::NEG_INFINITY, f64::max));
        }
        let (open, taken, found) = (BinaryHeap::new(), Vec::new(), Vec::new());
        let mut search = Self { lattice, bests, open, taken, found, most, opened: 0 };
        search.open_before(search.lattice.length(), 0.0, None);
        search
    }

    fn open_before(&mut self, place: usize, so_far: f64, next: Option<u32>) {
        for number in self.lattice.numbers(place).rev() {
            let arc = self.lattice.arc(number);
            let hoped = Score(so_far + (*at(&self.bests, arc.begin as usize) + arc.score));
            let so_far = Score(so_far + arc.score);
            self.open.push(OpenArc { hoped, order: self.opened, so_far, arc: number, next });
            self.opened += 1;
        }
        if self.open.len() > 2 * self.most.max(LEAST_OPEN) {
            let mut kept = std::mem::take(&mut self.open).into_vec();
            kept.sort_unstable_by_key(|open| Reverse(*open));
            kept.truncate(self.most.max(LEAST_OPEN));
            self.open = kept.into();
        }
    }

    pub(crate) const fn opened(&self) -> usize {
        self.opened
    }

    /// The score of the segmentation of this rank, the best one's being 0; none where there are fewer. `others`: how
    /// many paths other searches opened that are held beside this one.
    pub(crate) fn score(
        &mut self,
        rank: usize,
        others: usize,
    ) -> Result<Option<f64>, TooManyPaths> {
        while self.found.len() <= rank {
            if self.opened + others > MOST_PATHS {
                return Err(TooManyPaths);
            }
            let Some(top) = self.open.pop() else { return Ok(None) };
            let number = u32::try_from(self.taken.len()).map_err(|_| TooManyPaths)?;
            self.taken.push((top.arc, top.next));
            match self.lattice.arc(top.arc).begin {
                0 => self.found.push((top.so_far.0, number)),
                begin => self.open_before(begin as usize, top.so_far.0, Some(number)),
            }
        }
        Ok(Some(at(&self.found, rank).0))
    }

    /// Appends the pieces of a segmentation whose score was asked for.
    pub(crate) fn choices(&self, rank: usize, choices: &mut Vec<PieceChoice>) {
        let mut next = Some(at(&self.found, rank).1);
        while let Some(number) = next {
            let (arc, after) = *at(&self.taken, number as usize);
            choices.push(self.lattice.arc(arc).choice());
            next = after;
        }
    }
}

/// One segmentation of each part: all parts have their best, but for these.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JointChoice {
    /// How much less it scores than the best of all.
    pub(crate) cost: f64,
    /// Numbers of parts, and the ranks of their segmentations.
    pub(crate) others: Vec<(usize, usize)>,
}

/// The `count` best choices of one segmentation of each part, the best first. `parts` ascend by the cost of their
/// second best segmentation, which all have.
///
/// Each choice but the first changes some parts, the last of which, `part`, to some `rank`. It comes of one other
/// choice that costs no more: the one with the rank before, or with the part before instead, or without `part`.
pub(crate) fn joint_choices(
    parts: &mut [PathSearch],
    count: usize,
) -> Result<Vec<JointChoice>, TooManyPaths> {
    let mut opened: usize = parts.iter().map(PathSearch::opened).sum();
    let mut cost_of = |part: usize, rank: usize| {
        let Some(search) = parts.get_mut(part) else { return Ok(None) };
        let others = opened - search.opened;
        let best = search.score(0, others)?;
        let other = search.score(rank, others)?;
        opened = others + search.opened;
        Ok::<_, TooManyPaths>(best.zip(other).map(|(best, other)| best - other))
    };
    let mut choices = vec![JointChoice { cost: 0.0, others: Vec::new() }];
    // Parts that were changed, each with the change before it.
    let mut changes: Vec<(usize, usize, Option<usize>)> = Vec::new();
    let (mut open, mut order) = (BinaryHeap::new(), 0);
    let mut consider = |open: &mut BinaryHeap<_>, before: f64, part, rank, changed| {
        if let Some(more) = cost_of(part, rank)? {
            open.push(Reverse(OpenChoice {
                cost: Score(before + more),
                order,
                before: Score(before),
                part,
                rank,
                changed,
            }));
            order += 1;
        }
        Ok::<_, TooManyPaths>(())
    };
    consider(&mut open, 0.0, 0, 1, None)?;
    while choices.len() < count
        && let Some(Reverse(OpenChoice { cost, before, part, rank, changed, .. })) = open.pop()
    {
        let (Score(cost), Score(before)) = (cost, before);
        let mut others = vec![(part, rank)];
        let mut next = changed;
        while let Some((part, rank, before)) = next.map(|next| *at(&changes, next)) {
            others.push((part, rank));
            next = before;
        }
        choices.push(JointChoice { cost, others });
        consider(&mut open, before, part, rank + 1, changed)?;
        if rank == 1 {
            consider(&mut open, before, part + 1, 1, changed)?;
        }
        changes.push((part, rank, changed));
        consider(&mut open, cost, part + 1, 1, Some(changes.len() - 1))?;
    }
    Ok(choices)
}

/// A choice that is not taken yet. Ordered as [`OpenArc`].
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct OpenChoice {
    cost: Score,
    /// How many were opened before it.
    order: usize,
    /// The cost without the last part that is changed.
    before: Score,
    part: usize,
    rank: usize,
    changed: Option<usize>,
}
