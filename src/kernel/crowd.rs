//! The similar pairs of a crowded bucket by its texts: where sketches leave more pairs than can be compared one by one.

use super::bucket::{Seat, open};
use super::forest::Forest;
use super::graph::Edge;
use super::overlap::Overlap;
use crate::dedup::{Family, Fingerprinter, Rank, Sought, estimate_floor};
use crate::model::{DocId, Policy};
use std::collections::BTreeMap;

/// Texts whose shingles tell what is rare in the bucket, at most.
const SAMPLE: usize = 1024;

/// The pairs of a bucket that reach the threshold: of its first `most` live documents in rank order with every document
/// that they are of interest to, better-ranked first. Their sketches must be close enough, too, as everywhere. In the
/// transitive modes pairs of documents that others connect already are left out. With the pairs come the documents to
/// which a live one beyond the first `most` is of interest.
///
/// The texts are joined by what is rare among them (`dedup::Family`), so that a family of texts below the threshold
/// costs no comparison of each with each.
#[must_use]
pub fn similar_in_bucket(
    seats: &[(Seat, &str)],
    policy: &Policy,
    most: usize,
) -> (Vec<Edge>, Vec<Rank>) {
    let floor = estimate_floor(policy);
    let mut sorted: Vec<&(Seat, &str)> = seats.iter().collect();
    sorted.sort_unstable_by_key(|(seat, _)| seat.rank);
    let mut live = sorted.iter().filter(|(seat, _)| seat.is_live).map(|(seat, _)| seat.rank);
    let first = live.clone().next();
    let beyond = live.nth(most);
    let mut craft = Fingerprinter::new(policy);
    let step = sorted.len().div_ceil(SAMPLE).max(1);
    let sample: Vec<Vec<u64>> =
        sorted.iter().step_by(step).map(|(_, text)| craft.shingles(text)).collect();
    let mut family = Family::new(policy.threshold, &sample);
    let mut clusters = Clusters::of(&sorted);
    let mut edges = Vec::new();
    for (at, (seat, text)) in (0_u64..).zip(&sorted) {
        let is_asked = seat.is_live && beyond.is_none_or(|beyond| seat.rank < beyond);
        let asks = first.is_some_and(|first| first < seat.bound);
        if !is_asked && !asks {
            continue;
        }
        let shingles = craft.shingles(text);
        let sought = Sought { shingles: &shingles, sketch: &seat.sketch, floor };
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

fn place<'s, 't>(sorted: &[&'s (Seat, &'t str)], at: DocId) -> Option<&'s (Seat, &'t str)> {
    sorted.get(usize::try_from(at.0).ok()?).copied()
}

/// What is connected, by edges found before and here.
struct Clusters {
    places: BTreeMap<Rank, usize>,
    forest: Forest,
}

impl Clusters {
    fn of(seats: &[&(Seat, &str)]) -> Self {
        let mut names: Vec<Rank> = seats.iter().map(|(seat, _)| name(seat)).collect();
        names.sort_unstable();
        names.dedup();
        Self { forest: Forest::new(names.len()), places: names.into_iter().zip(0..).collect() }
    }

    fn of_seat(&mut self, seat: &Seat) -> Option<usize> {
        let place = self.places.get(&name(seat))?;
        Some(self.forest.find(*place))
    }

    fn are_one(&mut self, a: &Seat, b: &Seat) -> bool {
        self.of_seat(a) == self.of_seat(b)
    }

    fn join(&mut self, a: &Seat, b: &Seat) {
        if let (Some(a), Some(b)) = (self.of_seat(a), self.of_seat(b)) {
            self.forest.join(a, b);
        }
    }
}

/// By what the cluster of a document is known.
fn name(seat: &Seat) -> Rank {
    seat.cluster.unwrap_or(seat.rank)
}
