//! Property tests of the mix over weights, schedules and tables of any kind.

use super::{constant, noise, plain::table_rule, run};
use crate::epoch::mix::{Fluid, PlannedPoint, Ramp, Scheduler};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

fn schedules() -> impl Strategy<Value = (Vec<PlannedPoint>, u64)> {
    (2_usize..9, 1_usize..6).prop_flat_map(|(sources, points)| {
        let shares = vec(prop_oneof![Just(0_u64), 1..5_u64, 1..1_000_000_000_u64], sources);
        let step = prop_oneof![1..50_u64, 1..5_000_u64, 1..1_000_000_u64];
        (vec((step, shares, any::<bool>()), points), prop_oneof![Just(1_u64), 1..5000_u64])
            .prop_map(|(points, grain)| {
                let mut at = 0;
                let points = points.into_iter().map(|(step, mut shares, linear)| {
                    if shares.iter().all(|share| *share == 0) {
                        shares[0] = 1;
                    }
                    let ramp = if linear { Ramp::Linear } else { Ramp::Step };
                    let point = PlannedPoint { at, shares, ramp };
                    at += step;
                    point
                });
                (points.collect(), grain)
            })
    })
}

proptest! {
    #[test]
    fn constant_weights_hold_at_every_prefix(
        weights in vec(1_u32..1000, 1..14),
        seed: u64,
        high in prop_oneof![1..10_u64, 1..100_000_u64],
    ) {
        let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
        let run = run(constant(&weights), 600, false, |source, row| noise(seed, source, row, 1, high));
        prop_assert!(run.furthest <= run.largest);
    }

    #[test]
    fn schedules_hold_at_every_prefix(
        (points, grain) in schedules(),
        seed: u64,
        high in vec(prop_oneof![1..10_u64, 1..5000_u64], 9),
    ) {
        let fluid = Fluid::scheduled(&points, grain).unwrap();
        let run = run(fluid, 600, false, |source, row| noise(seed, source, row, 1, high[source]));
        prop_assert!(run.furthest <= run.largest);
    }

    #[test]
    fn tables_hold_at_every_prefix(
        gains in vec(vec(prop_oneof![Just(0_u64), 0..4_u64, 0..20_000_u64], 5), 1..40),
        seed: u64,
        high in vec(prop_oneof![1..10_u64, 1..5000_u64], 5),
    ) {
        let mut now = vec![0; 5];
        let (mut times, mut amounts) = (Vec::new(), Vec::new());
        for gain in gains.into_iter().filter(|gain| gain.iter().any(|gain| *gain > 0)) {
            now.iter_mut().zip(gain).for_each(|(now, gain)| *now += gain);
            times.push(now.iter().sum());
            amounts.push(now.clone());
        }
        prop_assume!(!times.is_empty());
        let fluid = Fluid::from_table(times.clone(), amounts.clone()).unwrap();
        let whole: Vec<(u64, Vec<u64>)> = std::iter::once((0, vec![0; 5]))
            .chain(times.iter().copied().zip(amounts.iter().cloned()))
            .collect();
        let size = |source: usize, row| noise(seed, source, row, 1, high[source]);
        let mut taken = [0; 5];
        let mut emitted = [0; 5];
        for source in run(fluid.clone(), 300, true, size).picks {
            let next: Vec<u64> = (0..5).map(|source| size(source, taken[source])).collect();
            prop_assert_eq!(Some(source), table_rule(&whole, &emitted, &next));
            emitted[source] += next[source];
            taken[source] += 1;
        }
        for (time, row) in times.iter().zip(&amounts) {
            for (source, amount) in row.iter().enumerate() {
                prop_assert_eq!(fluid.share(source, *time), *amount);
            }
        }
        let run = run(fluid, 600, false, |source, row| noise(seed, source, row, 1, high[source]));
        prop_assert!(run.furthest <= run.largest);
    }

    #[test]
    fn a_restored_run_goes_on_as_it_did(
        (points, grain) in schedules(),
        seed: u64,
        high in 1..3000_u64,
        at in 0_usize..300,
    ) {
        let fluid = Arc::new(Fluid::scheduled(&points, grain).unwrap());
        let size = |source, row| noise(seed, source, row, 0, high);
        let whole = run((*fluid).clone(), 400, true, size);
        let mut taken = vec![0; fluid.sources()];
        whole.picks[..at].iter().for_each(|source| taken[*source] += 1);
        let mut scheduler = Scheduler::new(fluid);
        scheduler.restore(at.checked_sub(1).map_or(Vec::new(), |at| whole.emitted[at].clone()));
        for expected in &whole.picks[at..] {
            let source = scheduler.pick(|source| Some(size(source, taken[source]))).unwrap();
            prop_assert_eq!(source, *expected);
            scheduler.record(source, size(source, taken[source]));
            taken[source] += 1;
        }
        prop_assert_eq!(scheduler.emitted(), &whole.emitted[399][..]);
    }

    #[test]
    fn shares_sum_and_never_fall((points, grain) in schedules(), at in vec(0..3_000_000_u64, 12)) {
        let fluid = Fluid::scheduled(&points, grain).unwrap();
        let sources = fluid.sources() as u64;
        let mut at = at;
        at.sort_unstable();
        let mut before = vec![0; fluid.sources()];
        for total in at {
            let now: Vec<u64> = (0..fluid.sources()).map(|i| fluid.share(i, total)).collect();
            let sum: u64 = now.iter().sum();
            prop_assert!(sum <= total && total - sum < sources);
            prop_assert!(now.iter().zip(&before).all(|(now, before)| now >= before));
            before = now;
        }
    }

    #[test]
    fn inverses_are_the_last_moment((points, grain) in schedules(), amount in 0..2_000_000_u64) {
        let fluid = Fluid::scheduled(&points, grain).unwrap();
        for source in 0..fluid.sources() {
            match fluid.inverse(source, amount) {
                Some(total) => {
                    prop_assert!(!fluid.exceeds(source, amount, total));
                    prop_assert!(fluid.exceeds(source, amount, total + 1));
                }
                None => prop_assert!(fluid.share(source, 1 << 60) <= amount),
            }
        }
    }
}
