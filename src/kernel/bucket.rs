//! The pairs of a crowded bucket whose sketches are close enough to be compared, without all pairs being named.

use crate::dedup::{Rank, Sketch, estimate_floor};
use crate::model::Policy;

/// A document in a bucket.
#[derive(Clone, Debug)]
pub struct Seat {
    /// Its rank.
    pub rank: Rank,
    /// Its sketch.
    pub sketch: Sketch,
    /// Only documents of better rank than this are of interest to it: its own rank, or that of the witness it has.
    pub bound: Rank,
    /// Whether it may be kept, as far as is known: only such are compared with those behind them. Who is removed goes
    /// on looking for a better witness.
    pub is_live: bool,
    /// What it is connected to already, where a second link says nothing new.
    pub cluster: Option<Rank>,
}

/// Pairs of a bucket whose sketches are close enough for their texts to be compared: of its first `most` live documents
/// in rank order with every document that they are of interest to. Each pair is (better-ranked, other); and the
/// documents to which a live one beyond the first `most` is of interest, whose pairs are not all named, come with it.
#[must_use]
pub fn near_in_bucket(
    seats: &[Seat],
    policy: &Policy,
    most: usize,
) -> (Vec<(Rank, Rank)>, Vec<Rank>) {
    let floor = estimate_floor(policy);
    let mut sorted: Vec<&Seat> = seats.iter().collect();
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
pub(super) fn open<'s>(seats: impl Iterator<Item = &'s Seat>, beyond: Option<Rank>) -> Vec<Rank> {
    let Some(beyond) = beyond else { return Vec::new() };
    let waits = |seat: &&Seat| seat.rank > beyond && seat.bound > beyond;
    seats.filter(waits).map(|seat| seat.rank).collect()
}
