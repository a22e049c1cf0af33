//! Finds the similar pairs of documents in a bucket, by sketches or by texts, and computes the overlap of two texts.

use super::graph::Edge;
use crate::dedup::{
    DisjointSets, FamilyIndex, FamilyQuery, Fingerprinter, Overlap, Rank, Sketch, estimate_floor,
};
use model::{DocId, Policy};
use std::collections::BTreeMap;

/// A document in a bucket.
#[derive(Clone, Debug)]
pub struct BucketMember {
    /// Its rank.
    pub rank: Rank,
    /// Its sketch.
    pub sketch: Sketch,
    /// Only documents of better rank than this are of interest to it: its own rank, or that of the witness it has.
    pub bound: Rank,
    /// Whether the document may be kept, as far as is known: only such documents are compared with lower-ranked ones.
    /// A removed document continues to look for a better witness.
    pub is_live: bool,
    /// What it is connected to already, where a second link says nothing new.
    pub cluster: Option<Rank>,
}

/// Pairs of a bucket whose sketches are close enough for their texts to be compared: of its first `most` live documents
/// in rank order with every document that they are of interest to. Each pair is (better-ranked, other); and the
/// documents to which a live one beyond the first `most` is of interest, whose pairs are not all named, come with it.
#[must_use]
pub fn near_in_bucket(
    seats: &[BucketMember],
    policy: &Policy,
    most: usize,
) -> (Vec<(Rank, Rank)>, Vec<Rank>) {
    let floor = estimate_floor(policy);
    let mut sorted: Vec<&BucketMember> = seats.iter().collect();
    sorted.sort_unstable_by_key(|seat| seat.rank);
    let mut live = sorted.iter().filter(|seat| seat.is_live);
    let mut pairs = Vec::new();
    for first in live.by_ref().take(most) {
        let behind = sorted.partition_point(|seat| seat.rank <= first.rank);
        for other in sorted.iter().skip(behind) {
            let is_known = first.cluster.is_some() && first.cluster == other.cluster;
            if first.rank < other.bound
                && !is_known
                && first.sketch.estimate(&other.sketch) >= floor
            {
                pairs.push((first.rank, other.rank));
            }
        }
    }
    let beyond = live.next().map(|seat| seat.rank);
    (pairs, open(sorted.iter().copied(), beyond))
}

/// To whom the first live document that was not compared with those behind it matters.
fn open<'s>(seats: impl Iterator<Item = &'s BucketMember>, beyond: Option<Rank>) -> Vec<Rank> {
    let Some(beyond) = beyond else { return Vec::new() };
    let waits = |seat: &&BucketMember| seat.rank > beyond && seat.bound > beyond;
    seats.filter(waits).map(|seat| seat.rank).collect()
}

/// Texts whose shingles tell what is rare in the bucket, at most.
const SAMPLE: usize = 1024;

/// The pairs of a bucket that reach the threshold: of its first `most` live documents in rank order with every document
/// that they are of interest to, better-ranked first. Their sketches must be close enough, too, as everywhere. In the
/// transitive modes pairs of documents that others connect already are left out. With the pairs come the documents to
/// which a live one beyond the first `most` is of interest.
///
/// The texts are joined by what is rare among them (`dedup::FamilyIndex`), so that a family of texts below the
/// threshold costs no comparison of each with each.
#[must_use]
pub fn similar_in_bucket(
    seats: &[(BucketMember, &str)],
    policy: &Policy,
    most: usize,
) -> (Vec<Edge>, Vec<Rank>) {
    let floor = estimate_floor(policy);
    let mut sorted: Vec<&(BucketMember, &str)> = seats.iter().collect();
    sorted.sort_unstable_by_key(|(seat, _)| seat.rank);
    let mut live = sorted.iter().filter(|(seat, _)| seat.is_live).map(|(seat, _)| seat.rank);
    let first = live.clone().next();
    let beyond = live.nth(most);
    let mut craft = Fingerprinter::new(policy);
    let step = sorted.len().div_ceil(SAMPLE).max(1);
    let sample: Vec<Vec<u64>> =
        sorted.iter().step_by(step).map(|(_, text)| craft.shingles(text)).collect();
    let mut family = FamilyIndex::new(policy.threshold, &sample);
    let mut clusters = BucketClusters::of(&sorted);
    let mut edges = Vec::new();
    for (at, (seat, text)) in (0_u64..).zip(&sorted) {
        let is_asked = seat.is_live && beyond.is_none_or(|beyond| seat.rank < beyond);
        let asks = first.is_some_and(|first| first < seat.bound);
        if !is_asked && !asks {
            continue;
        }
        let shingles = craft.shingles(text);
        let sought = FamilyQuery { shingles: &shingles, sketch: &seat.sketch, floor };
        let better = |other: DocId| place(&sorted, other).filter(|(one, _)| one.rank < seat.bound);
        let mut found = match asks {
            true => family.find(sought, |other| better(other).is_some()),
            false => Vec::new(),
        };
        found.sort_unstable();
        for (better, other) in found.into_iter().filter_map(better) {
            if policy.mode.is_transitive() && clusters.are_one(better, seat) {
                continue;
            }
            let other = craft.shingles(other);
            let overlap = Overlap::of(&other, &shingles);
            if overlap.reaches(policy.threshold) {
                clusters.join(better, seat);
                edges.push(Edge { left: better.rank, right: seat.rank, overlap });
            }
        }
        if is_asked {
            family.insert(DocId(at), seat.sketch.clone(), &shingles);
        }
    }
    (edges, open(sorted.iter().map(|(seat, _)| seat), beyond))
}

fn place<'s, 't>(
    sorted: &[&'s (BucketMember, &'t str)],
    at: DocId,
) -> Option<&'s (BucketMember, &'t str)> {
    sorted.get(usize::try_from(at.0).ok()?).copied()
}

/// What is connected, by edges found before and here.
struct BucketClusters {
    places: BTreeMap<Rank, usize>,
    sets: DisjointSets,
}

impl BucketClusters {
    fn of(seats: &[&(BucketMember, &str)]) -> Self {
        let mut names: Vec<Rank> = seats.iter().map(|(seat, _)| name(seat)).collect();
        names.sort_unstable();
        names.dedup();
        let sets = names.iter().map(|_| ()).collect();
        Self { sets, places: names.into_iter().zip(0..).collect() }
    }

    fn of_seat(&self, seat: &BucketMember) -> Option<usize> {
        let place = self.places.get(&name(seat))?;
        Some(self.sets.root(*place))
    }

    fn are_one(&self, a: &BucketMember, b: &BucketMember) -> bool {
        self.of_seat(a) == self.of_seat(b)
    }

    fn join(&mut self, a: &BucketMember, b: &BucketMember) {
        if let (Some(a), Some(b)) = (self.of_seat(a), self.of_seat(b)) {
            self.sets.join(a, b);
        }
    }
}

/// By what the cluster of a document is known.
fn name(seat: &BucketMember) -> Rank {
    seat.cluster.unwrap_or(seat.rank)
}

/// Compares texts under one policy. Remembers the first text of the last pair, so that pairs sorted by it cost less.
#[derive(Clone, Debug)]
pub struct TextComparer {
    craft: Fingerprinter,
    last: Option<(String, Vec<u64>)>,
}

impl TextComparer {
    /// For texts under this policy.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        Self { craft: Fingerprinter::new(policy), last: None }
    }

    /// The overlap of two texts.
    pub fn of(&mut self, left: &str, right: &str) -> Overlap {
        let own = match self.last.take() {
            Some(last) if last.0 == left => last,
            _ => (left.to_owned(), self.craft.shingles(left)),
        };
        let other = self.craft.shingles(right);
        let overlap = Overlap::of(&own.1, &other);
        self.last = Some(own);
        overlap
    }
}
