//! Tests that shares are exact at every prefix, whatever the weights, the rows and the schedule.

mod extremes;
mod fluid;
mod laws;
mod plain;
mod shares;

use super::{Fluid, PlannedPoint, Ramp, Scheduler, integer_weights};
use std::sync::Arc;

const LENGTH: u64 = 2048;

/// A pseudo-random row size for row `row` of source `source`: a pure function, so that a restored run sees the same.
fn noise(seed: u64, source: usize, row: u64, low: u64, high: u64) -> u64 {
    let mut state =
        seed ^ (source as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ row.rotate_left(32);
    for _ in 0..3 {
        state = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    low + (state >> 16) % (high - low + 1)
}

/// What a run of whole rows did.
#[derive(Debug, Default)]
struct MixRun {
    furthest: u64,
    largest: u64,
    picks: Vec<usize>,
    emitted: Vec<Vec<u64>>,
}

/// Interleaves `rows` rows of the sizes `size(source, row)` gives, or fewer when nothing is due.
fn run(fluid: Fluid, rows: usize, keep: bool, size: impl Fn(usize, u64) -> u64) -> MixRun {
    let mut scheduler = Scheduler::new(Arc::new(fluid));
    let sources = scheduler.fluid().sources();
    let mut taken = vec![0; sources];
    let mut next: Vec<u64> = (0..sources).map(|source| size(source, 0)).collect();
    // A row that waits counts: a source may be switched off when it is owed less than that row.
    let mut run = MixRun { largest: next.iter().copied().max().unwrap(), ..MixRun::default() };
    for _ in 0..rows {
        let source = scheduler.pick(|source| Some(next[source])).expect("some source is due");
        let total = scheduler.total();
        let (fluid, emitted) = (scheduler.fluid(), scheduler.emitted()[source]);
        // Due: not ahead of its share, and its share is growing or ahead of it.
        assert!(emitted <= fluid.share(source, total), "source {source} ran ahead at {total}");
        assert!(fluid.exceeds(source, emitted, total + 1), "source {source} is off at {total}");
        scheduler.record(source, next[source]);
        taken[source] += 1;
        next[source] = size(source, taken[source]);
        run.largest = run.largest.max(next[source]);
        run.furthest = run.furthest.max(scheduler.deviation());
        if keep {
            run.picks.push(source);
            run.emitted.push(scheduler.emitted().to_vec());
        }
    }
    run
}

fn constant(weights: &[f64]) -> Fluid {
    Fluid::constant(&integer_weights(weights).unwrap())
}

fn spread(first: f64, others: usize, each: f64) -> Vec<f64> {
    std::iter::once(first).chain(vec![each; others]).collect()
}

fn point(at: u64, shares: &[u64], ramp: Ramp) -> PlannedPoint {
    PlannedPoint { at, shares: shares.to_vec(), ramp }
}
