//! The scheduling rule written out plainly, and rows worked out by hand.

use super::{noise, point, run};
use crate::epoch::mix::{Fluid, Ramp, Scheduler};
use std::sync::Arc;

/// The rule written out on 128 bits for weights that never change.
fn plain_rule(weights: &[u64], emitted: &[u64], next: &[u64]) -> Option<usize> {
    let whole: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let total: u128 = emitted.iter().map(|emitted| u128::from(*emitted)).sum();
    let mut best: Option<(usize, u128)> = None;
    for (source, weight) in weights.iter().enumerate() {
        if u128::from(emitted[source]) * whole > u128::from(*weight) * total {
            continue;
        }
        let deadline = u128::from(emitted[source] + next[source]);
        let first = |(other, due): (usize, u128)| {
            deadline * u128::from(weights[other]) < due * u128::from(*weight)
        };
        if best.is_none_or(first) {
            best = Some((source, deadline));
        }
    }
    best.map(|(source, _)| source)
}

#[test]
fn constant_weights_follow_the_plain_rule() {
    for weights in [vec![121, 3, 1], vec![10; 7], vec![999_999_937, 2, 1_000_000_007, 13]] {
        let mut scheduler = Scheduler::new(Arc::new(Fluid::constant(&weights)));
        let mut taken = vec![0; weights.len()];
        for row in 0..20_000 {
            let next: Vec<u64> =
                (0..weights.len()).map(|source| noise(3, source, taken[source], 1, 9)).collect();
            let source = scheduler.pick(|source| Some(next[source])).unwrap();
            let plain = plain_rule(&weights, scheduler.emitted(), &next);
            assert_eq!(Some(source), plain, "row {row} of {weights:?}");
            scheduler.record(source, next[source]);
            taken[source] += 1;
        }
    }
}

/// The rule written out for a table: pieces looked through from the first, moments as plain fractions.
pub(super) fn table_rule(
    table: &[(u64, Vec<u64>)],
    emitted: &[u64],
    next: &[u64],
) -> Option<usize> {
    let total: u64 = emitted.iter().sum();
    // Over piece (from, to) of `source`, its share passes `amount` at (start * rise + above * run) / rise.
    let moment = |source: usize, amount: u64, beyond: bool| {
        table.windows(2).enumerate().find_map(|(at, ends)| {
            let (start, run) = (ends[0].0, ends[1].0 - ends[0].0);
            let (low, high) = (ends[0].1[source], ends[1].1[source]);
            let last = at + 2 == table.len() && high > low;
            let inside = if beyond { high > amount } else { high >= amount };
            let (above, rise) = (amount - low.min(amount), (high - low).max(1));
            (inside || last).then(|| (u128::from(start * rise + above * run), u128::from(rise)))
        })
    };
    let mut best: Option<(usize, (u128, u128))> = None;
    for source in 0..emitted.len() {
        let release = moment(source, emitted[source], true);
        if release.is_none_or(|(at, rise)| at > u128::from(total) * rise) {
            continue;
        }
        let never = (u128::from(u64::MAX), 1);
        let due = moment(source, emitted[source] + next[source], false).unwrap_or(never);
        if best.is_none_or(|(_, (other, rise))| due.0 * rise < other * due.1) {
            best = Some((source, due));
        }
    }
    best.map(|(source, _)| source)
}

#[test]
fn rows_of_a_known_mix() {
    let rows = |fluid| run(fluid, 12, true, |_, _| 10).picks;
    assert_eq!(rows(Fluid::constant(&[2, 1])), [0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0]);
    let step = [point(0, &[1, 0], Ramp::Step), point(60, &[0, 1], Ramp::Step)];
    assert_eq!(rows(Fluid::scheduled(&step, 1).unwrap()), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn natural_shares_end_all_sources_together() {
    // Weights are equal to what the sources hold: no source is asked after it has run out.
    let mut left = [vec![5_u64, 5, 5], vec![7; 20], vec![1]];
    let sizes: Vec<u64> = left.iter().map(|rows| rows.iter().sum()).collect();
    let mut scheduler = Scheduler::new(Arc::new(Fluid::constant(&sizes)));
    while scheduler.total() < sizes.iter().sum() {
        let source = scheduler.pick(|i| left[i].last().copied()).unwrap();
        let row = left[source].pop().expect("never asked of an empty source");
        scheduler.record(source, row);
    }
    assert_eq!(scheduler.emitted(), sizes);
}

#[test]
fn a_source_that_ran_out_shows_and_one_without_a_share_does_not() {
    let mut scheduler = Scheduler::new(Arc::new(Fluid::constant(&[1, 1, 0])));
    assert_eq!(scheduler.pick(|source| (source != 1).then_some(4)), Some(1));
    for _ in 0..100 {
        let source = scheduler.pick(|source| (source != 2).then_some(4)).unwrap();
        scheduler.record(source, 4);
    }
    assert_eq!(scheduler.emitted(), [200, 200, 0]);
    assert_eq!(Scheduler::new(Arc::new(Fluid::constant(&[0, 0]))).pick(|_| Some(1)), None);
}

#[test]
fn a_source_waits_for_its_turn_and_gets_its_share_then() {
    // Rows of 10 do not end at 25: the first is one row of 5 behind or ahead when it is switched off for ever.
    let step = [point(0, &[1, 1], Ramp::Step), point(50, &[0, 1], Ramp::Step)];
    let run = run(Fluid::scheduled(&step, 1).unwrap(), 100, true, |_, _| 10);
    let last = run.emitted.last().unwrap();
    assert!((20..=30).contains(&last[0]), "{last:?}");
    // Nothing of the second before its turn, even when the first has only a long row left of its time.
    let step = [point(0, &[1, 0], Ramp::Step), point(1000, &[0, 1], Ramp::Step)];
    let mut scheduler = Scheduler::new(Arc::new(Fluid::scheduled(&step, 1).unwrap()));
    for _ in 0..199 {
        scheduler.record(0, 5);
    }
    assert_eq!((scheduler.total(), scheduler.pick(|_| Some(10))), (995, Some(0)));
    scheduler.record(0, 10);
    assert_eq!(scheduler.pick(|_| Some(10)), Some(1));
}

#[test]
fn rows_that_count_for_nothing_do_not_stop_the_run() {
    // Loss tokens: every other row has none.
    let run = run(Fluid::constant(&[3, 1]), 4000, false, |source, row| {
        if row % 2 == 0 { 0 } else { noise(1, source, row, 1, 50) }
    });
    assert!(run.furthest <= 50);
}
