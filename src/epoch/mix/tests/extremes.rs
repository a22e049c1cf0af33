//! Tests of hard mixes and rows: the error at every prefix, and what a pick costs.

use super::{LENGTH, constant, noise, point, run, spread};
use crate::epoch::mix::{Fluid, PlannedPoint, Ramp, Scheduler, apportion};
use std::sync::Arc;

/// A schedule that steps, ramps, and switches sources off and on.
fn eventful(sources: usize, stretch: u64) -> Vec<PlannedPoint> {
    let shares = |seed: u64| -> Vec<u64> {
        let all = (0..sources).map(|source| noise(seed, source, 0, 0, 4).saturating_sub(2));
        let mut all: Vec<u64> = all.collect();
        all[seed as usize % sources] = 1 + seed;
        all
    };
    let at = |index: u64| index * stretch + index % 3;
    let ramp = |index: u64| if index.is_multiple_of(3) { Ramp::Step } else { Ramp::Linear };
    (0..24).map(|index| point(at(index), &shares(index), ramp(index))).collect()
}

/// `strata` strata that open one after another, each then in proportion to the strata that are open.
fn opening(strata: usize, each: u64) -> Fluid {
    let (mut times, mut amounts) = (vec![0], vec![vec![0; strata]]);
    let mut now = vec![0; strata];
    for open in 1..=strata {
        let shares: Vec<u64> = (0..strata).map(|stratum| u64::from(stratum < open)).collect();
        for (now, gain) in now.iter_mut().zip(apportion(each, &shares)) {
            *now += gain;
        }
        times.push(now.iter().sum());
        amounts.push(now.clone());
    }
    Fluid::from_table(times, amounts).unwrap()
}

type ExtremeSizes = Box<dyn Fn(usize, u64) -> u64>;

/// Row sizes that are hard in one way or another.
fn adversaries(high: u64) -> Vec<(&'static str, ExtremeSizes)> {
    vec![
        ("full rows", Box::new(move |_, _| high)),
        ("any rows", Box::new(move |source, row| noise(1, source, row, 1, high))),
        (
            "first full, others 1..7",
            Box::new(
                move |source, row| {
                    if source == 0 { high } else { noise(2, source, row, 1, 7) }
                },
            ),
        ),
        (
            "first 1..7, others full",
            Box::new(
                move |source, row| {
                    if source == 0 { noise(3, source, row, 1, 7) } else { high }
                },
            ),
        ),
        ("first 1, others full", Box::new(move |source, _| if source == 0 { 1 } else { high })),
        (
            "one full in a hundred",
            Box::new(move |source, row| {
                if noise(4, source, row, 0, 99) == 0 { high } else { noise(5, source, row, 1, 7) }
            }),
        ),
    ]
}

fn mixes() -> Vec<(&'static str, Fluid)> {
    let schedule = |points: &[PlannedPoint]| Fluid::scheduled(points, LENGTH).unwrap();
    vec![
        (".968/.024/.008", constant(&[0.968, 0.024, 0.008])),
        (".5 + 10 x .05", constant(&spread(0.5, 10, 0.05))),
        (".5 + 50 x .01", constant(&spread(0.5, 50, 0.01))),
        (
            "step .9/.1 -> .1/.9",
            schedule(&[point(0, &[9, 1], Ramp::Step), point(3_000_001, &[1, 9], Ramp::Step)]),
        ),
        (
            "ramp .968/.024/.008 -> its reverse",
            schedule(&[
                point(0, &[121, 3, 1], Ramp::Linear),
                point(20_000_003, &[1, 3, 121], Ramp::Step),
            ]),
        ),
        (
            "ramp 1 + 50 x 0 -> .5 + 50 x .01",
            schedule(&[
                point(0, &spread(1.0, 50, 0.0).map_to_u64(100), Ramp::Linear),
                point(10_000_000, &spread(0.5, 50, 0.01).map_to_u64(100), Ramp::Step),
            ]),
        ),
        ("off and on, 5 sources", schedule(&eventful(5, 100_000))),
        ("off and on, 12 sources, fast", schedule(&eventful(12, 3_000))),
        ("64 strata open", opening(64, 1_000_003)),
        ("64 strata open fast", opening(64, 3_001)),
    ]
}

trait Scaled {
    fn map_to_u64(&self, by: u64) -> Vec<u64>;
}

impl Scaled for Vec<f64> {
    fn map_to_u64(&self, by: u64) -> Vec<u64> {
        self.iter().map(|share| (share * by as f64).round() as u64).collect()
    }
}

#[test]
fn every_prefix_of_every_mix_is_within_the_largest_row() {
    for (mix, fluid) in mixes() {
        for (rows, size) in adversaries(LENGTH).into_iter().chain(adversaries(100_000)) {
            let run = run(fluid.clone(), 6_000, false, size);
            assert!(run.furthest <= run.largest, "{mix}, {rows}: {run:?}");
        }
    }
}

#[test]
#[ignore = "prints a table: cargo test --release mix -- --ignored --nocapture largest_error"]
fn largest_error() {
    println!("{:36} {:26} {:>9} {:>9}", "mix", "rows of 1,000,000", "largest", "error");
    for (mix, fluid) in mixes() {
        for (rows, size) in adversaries(LENGTH) {
            let run = run(fluid.clone(), 1_000_000, false, size);
            println!("{mix:36} {rows:26} {:9} {:9}", run.largest, run.furthest);
            assert!(run.furthest <= run.largest);
        }
        let run = run(fluid, 1_000_000, false, |source, row| {
            noise(9, source, row, 1, [7, 100_000, 500][source % 3])
        });
        println!("{mix:36} {:26} {:9} {:9}", "documents of 1..100,000", run.largest, run.furthest);
        assert!(run.furthest <= run.largest);
    }
}

#[test]
#[ignore = "prints nanoseconds: cargo test --release mix -- --ignored --nocapture cost_of_a_pick"]
fn cost_of_a_pick() {
    let slow = [
        point(0, &spread(1.0, 50, 0.0).map_to_u64(100), Ramp::Linear),
        point(1 << 34, &spread(0.5, 50, 0.01).map_to_u64(100), Ramp::Step),
    ];
    let few = [point(0, &[121, 3, 1], Ramp::Linear), point(1 << 34, &[1, 3, 121], Ramp::Step)];
    let slow = [
        ("slow ramp 1 + 50 x 0 -> .5 + 50 x .01", Fluid::scheduled(&slow, LENGTH).unwrap()),
        ("slow ramp .968/.024/.008", Fluid::scheduled(&few, LENGTH).unwrap()),
        ("64 strata open slowly", opening(64, 150_000_000)),
    ];
    for (mix, fluid) in mixes().into_iter().chain(slow) {
        let sources = fluid.sources();
        let mut scheduler = Scheduler::new(Arc::new(fluid));
        let sizes: Vec<u64> = (0..1021).map(|row| noise(7, 0, row, 1900, 2048)).collect();
        let mut next: Vec<u64> = (0..sources).map(|source| sizes[source]).collect();
        let rows = 5_000_000;
        let began = std::time::Instant::now();
        for row in 0..rows {
            let source = scheduler.pick(|source| next.get(source).copied()).unwrap();
            scheduler.record(source, next[source]);
            next[source] = sizes[row % sizes.len()];
        }
        let each = began.elapsed().as_nanos() / rows as u128;
        println!("{mix:36} {sources:3} sources {each:5} ns, {} in all", scheduler.total());
    }
}
