//! Tests of fluid shares: against integrals, by hand, and at the limits.

use super::point;
use crate::epoch::mix::fluid::SchedulePart;
use crate::epoch::mix::{Fluid, MixError, PlannedPoint, Ramp, Scheduler};
use std::sync::Arc;

#[test]
fn a_linear_ramp_is_followed_within_an_eighth_of_a_row() {
    for (length, grain) in [(1_000_000_u64, 2048_u64), (1 << 40, 2048), (777, 1), (50, 4096)] {
        let points = [point(0, &[4, 0, 1], Ramp::Linear), point(length, &[1, 3, 1], Ramp::Step)];
        let fluid = Fluid::scheduled(&points, grain).unwrap();
        for step in 0..=1000_u64 {
            let total = (u128::from(length) * u128::from(step) / 1000) as u64;
            let t = u128::from(total);
            let len = u128::from(length);
            // The integrals in units of 1 / (40 length): shares 4/5 -> 1/5, 0 -> 3/5 and 1/5 throughout.
            let exact = [t * (2 * len - t) * 4 / 5 + t * t / 5, t * t * 3 / 5, 2 * len * t / 5];
            let mut sum = 0;
            for (source, exact) in exact.into_iter().enumerate() {
                let exact = exact as f64 / (2 * len) as f64;
                let off = (fluid.share(source, total) as f64 - exact).abs();
                // Rounded down, and to 1/256 at the end of the ramp.
                assert!(off <= grain as f64 / 8.0 + 1.01, "{source} is {off} off at {total}");
                sum += fluid.share(source, total);
            }
            assert!(total - sum <= 2, "{sum} of {total}");
        }
    }
}

#[test]
fn budgets_from_what_sources_hold() {
    let fluid = Fluid::constant(&[3, 1]);
    // W_0(T) = 3 T / 4 <= 100 up to 133.3, W_1(T) = T / 4 <= 10 up to 40.
    assert_eq!((fluid.inverse(0, 100), fluid.inverse(1, 10)), (Some(133), Some(40)));
    let points = [
        point(0, &[1, 1], Ramp::Step),
        point(100, &[0, 1], Ramp::Step),
        point(200, &[1, 0], Ramp::Step),
    ];
    let fluid = Fluid::scheduled(&points, 1).unwrap();
    assert_eq!(fluid.inverse(0, 49), Some(98));
    assert_eq!(fluid.inverse(0, 50), Some(200));
    assert_eq!(fluid.inverse(1, 149), Some(199));
    assert_eq!((fluid.inverse(1, 150), fluid.inverse(7, 1)), (None, None));
    assert_eq!((fluid.share(0, 150), fluid.share(0, 260), fluid.share(1, 150)), (50, 110, 100));
}

#[test]
fn refused_schedules_and_tables() {
    let step = |at, shares: &[u64]| point(at, shares, Ramp::Step);
    let scheduled = |points: &[PlannedPoint]| Fluid::scheduled(points, 1).unwrap_err();
    assert_eq!(scheduled(&[]), MixError::NoStart);
    assert_eq!(scheduled(&[step(1, &[1])]), MixError::NoStart);
    assert_eq!(scheduled(&[step(0, &[1]), step(0, &[1])]), MixError::Order { point: 1, at: 0 });
    assert_eq!(
        scheduled(&[step(0, &[1]), step(1 << 50, &[1])]),
        MixError::Order { point: 1, at: 1 << 50 }
    );
    assert_eq!(
        scheduled(&[step(0, &[1, 2]), step(5, &[0, 0])]),
        MixError::Shares { point: 1, sources: 2 }
    );
    let table = |times: &[u64], amounts: &[&[u64]]| {
        Fluid::from_table(times.to_vec(), amounts.iter().map(|row| row.to_vec()).collect())
    };
    assert_eq!(table(&[], &[]).unwrap_err(), MixError::NoStart);
    assert_eq!(table(&[0], &[&[0, 0]]).unwrap_err(), MixError::NoStart);
    for (times, amounts) in [
        (&[3_u64, 5][..], &[&[1_u64, 2][..], &[5, 0]][..]),
        (&[3, 3], &[&[1, 2], &[1, 2]]),
        (&[3], &[&[1, 1]]),
        (&[3, 4], &[&[1, 2]]),
        (&[3, 6], &[&[1, 2], &[6]]),
    ] {
        assert!(matches!(table(times, amounts), Err(MixError::Table { .. })), "{times:?}");
    }
    assert!(table(&[3, 5], &[&[1, 2], &[3, 2]]).is_ok());
}

#[test]
fn huge_amounts_do_not_overflow() {
    let points = [
        point(0, &[u64::MAX, 1, 0], Ramp::Linear),
        point((1 << 50) - 1, &[1, u64::MAX, u64::MAX], Ramp::Step),
    ];
    for fluid in [
        Fluid::constant(&[u64::MAX, 1, u64::MAX]),
        Fluid::scheduled(&points, 1).unwrap(),
        Fluid::from_table(vec![u64::MAX], vec![vec![u64::MAX - 5, 2, 3]]).unwrap(),
    ] {
        for total in [0, 1, 1 << 20, 1 << 49, 1 << 50, 1 << 62] {
            let sum: u64 = (0..3).map(|source| fluid.share(source, total)).sum();
            assert!(total - sum <= 2);
            let moment = fluid.when(0, total, true, SchedulePart::default());
            assert!(moment.is_none_or(|moment| fluid.share(0, moment.floor) <= total));
        }
        let mut scheduler = Scheduler::new(Arc::new(fluid));
        for big in [1 << 48, 1 << 49, 1 << 60, 1 << 61] {
            for _ in 0..3 {
                let source = scheduler.pick(|_| Some(big)).unwrap();
                scheduler.record(source, big);
                assert!(scheduler.deviation() <= big);
            }
        }
    }
}
