//! Tests of pacing: published shares, opening times, and dry times found by trying every one.

use super::*;
use proptest::prelude::*;

const ALL: [Pacing; 7] = [
    Pacing::Linear,
    Pacing::Sqrt,
    Pacing::Root(3.0),
    Pacing::Root(0.5),
    Pacing::Exp,
    Pacing::Step(5),
    Pacing::Step(1),
];

fn pace(pacing: Pacing, c0: f64) -> Pace {
    Pace { pacing, c0 }
}

fn close(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-12, "{value} is not {wanted}");
}

#[test]
fn shares_are_the_published_ones() {
    close(pace(Pacing::Linear, 0.01).share(0.5), 0.505);
    close(pace(Pacing::Sqrt, 0.0).share(0.25), 0.5);
    close(pace(Pacing::Sqrt, 0.1).share(0.5), 0.505_f64.sqrt());
    close(pace(Pacing::Root(2.0), 0.1).share(0.3), pace(Pacing::Sqrt, 0.1).share(0.3));
    close(pace(Pacing::Root(1.0), 0.1).share(0.3), pace(Pacing::Linear, 0.1).share(0.3));
    close(pace(Pacing::Root(3.0), 0.0).share(0.125), 0.5);
    let unscaled = |t: f64| 1.0 - (-3.0 * t).exp();
    close(pace(Pacing::Exp, 0.0).share(0.4), unscaled(0.4) / unscaled(1.0));
    let steps = pace(Pacing::Step(4), 0.0);
    assert_eq!(
        [0.0, 0.2499, 0.25, 0.5, 0.99].map(|t| steps.share(t)),
        [0.25, 0.25, 0.5, 0.75, 1.0]
    );
    for pacing in ALL {
        assert_eq!(Pace::new(pacing).share(1.0), 1.0);
        assert!(Pace::new(pacing).share(0.0) >= DEFAULT_C0 - 1e-12);
    }
}

#[test]
fn strata_open_when_the_easier_are_released() {
    let quarters = [250; 4];
    let opens = |pacing, c0| pace(pacing, c0).opens(&quarters, 1000).unwrap();
    assert_eq!(opens(Pacing::Linear, 0.0), [0, 250, 500, 750]);
    // Released tokens are rounded: 749.5 of them are 750.
    assert_eq!(opens(Pacing::Linear, 0.5), [0, 0, 0, 499]);
    assert_eq!(opens(Pacing::Sqrt, 0.0), [0, 63, 250, 562]);
    assert_eq!(opens(Pacing::Step(4), 0.0), [0, 250, 500, 750]);
    assert_eq!(opens(Pacing::Step(2), 0.0), [0, 0, 500, 500]);
    assert_eq!(opens(Pacing::Step(1), 0.0), [0; 4]);
    assert_eq!(opens(Pacing::Exp, 0.0), [0, 91, 215, 416]);
    assert_eq!(pace(Pacing::Linear, 0.0).opens(&[0, 5, 0, 5], 30).unwrap(), [0, 0, 14, 14]);
}

#[test]
fn a_slow_pace_runs_dry_at_its_first_time() {
    let halves = [500, 500];
    for pacing in [Pacing::Linear, Pacing::Sqrt, Pacing::Exp, Pacing::Step(2), Pacing::Root(3.0)] {
        assert_eq!(pace(pacing, 0.0).check(&halves, 1000), Ok(()), "{pacing:?}");
        let dry = Pace::new(pacing).check(&halves, 1100).unwrap_err();
        let PacingError::RunsDry { time, released, total: 1000 } = dry else { panic!("{dry}") };
        assert!(time > released && time <= 1100);
    }
    let dry = pace(Pacing::Root(0.5), 0.01).check(&halves, 1000).unwrap_err();
    assert!(matches!(dry, PacingError::RunsDry { time: 13, released: 12, total: 1000 }), "{dry}");
    assert_eq!(pace(Pacing::Root(0.5), 0.3).check(&halves, 300), Ok(()));
    let message = "the curriculum runs dry at token 13: 12 of 1000 tokens are released by then; \
                   raise c0, choose a faster pacing, or allow replacement";
    assert_eq!(dry.to_string(), message);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let of = |pacing, c0| pace(pacing, c0).opens(&[1], 1);
    assert_eq!(of(Pacing::Linear, 1.5), Err(PacingError::BadStart(1.5)));
    assert!(of(Pacing::Linear, f64::NAN).is_err());
    assert_eq!(of(Pacing::Root(0.0), 0.1), Err(PacingError::BadRoot(0.0)));
    assert!(of(Pacing::Root(f64::INFINITY), 0.1).is_err());
    assert_eq!(of(Pacing::Step(0), 0.1), Err(PacingError::NoSteps));
    let nothing = |strata: &[u64], horizon| Pace::new(Pacing::Exp).opens(strata, horizon);
    assert!(matches!(nothing(&[], 9), Err(PacingError::Nothing { strata: 0, .. })));
    assert!(matches!(nothing(&[3], 0), Err(PacingError::Nothing { horizon: 0, .. })));
    assert_eq!(nothing(&[u64::MAX, 1], 9), Err(PacingError::TooMany));
}

fn pacings() -> impl Strategy<Value = Pacing> {
    prop_oneof![
        Just(Pacing::Linear),
        Just(Pacing::Sqrt),
        (0.2..5.0).prop_map(Pacing::Root),
        Just(Pacing::Exp),
        (1_u32..9).prop_map(Pacing::Step),
    ]
}

proptest! {
    #[test]
    fn opens_and_dry_times_are_the_first_of_all(
        pacing in pacings(),
        c0 in 0.0..1.0,
        amounts in proptest::collection::vec(0_u64..200, 1..8),
        horizon in 1_u64..900,
    ) {
        let pace = pace(pacing, c0);
        let total: u64 = amounts.iter().sum();
        prop_assume!(total > 0);
        let released = |time| pace.released(total, time, horizon);
        prop_assert!((1..=horizon).all(|time| released(time - 1) <= released(time)));
        prop_assert_eq!(released(horizon), total);
        let opens = pace.opens(&amounts, horizon).unwrap();
        prop_assert!(opens.is_sorted() && opens.len() == amounts.len());
        let leaps = matches!(pacing, Pacing::Step(_));
        let mut easier = 0;
        for (amount, at) in amounts.iter().zip(opens) {
            let ready = |time| match easier {
                0 => true,
                _ if leaps && easier < total => released(time) > easier,
                _ => released(time) >= easier,
            };
            prop_assert_eq!((0..=horizon).find(|time| ready(*time)), Some(at));
            easier += amount;
        }
        let first = (0..=horizon).find(|time| released(*time) < *time);
        match (pace.check(&amounts, horizon), first) {
            (Ok(()), None) => {}
            (Err(PacingError::RunsDry { time, .. }), Some(first)) => prop_assert_eq!(time, first),
            (found, first) => prop_assert!(false, "{found:?} is not {first:?}"),
        }
    }

    #[test]
    fn amounts_of_any_size(pacing in pacings(), c0 in 0.0..=1.0, amounts: [u32; 3], horizon: u64) {
        let amounts = amounts.map(|amount| u64::from(amount) << 30);
        let pace = pace(pacing, c0);
        if let Ok(opens) = pace.opens(&amounts, horizon) {
            prop_assert!(opens.is_sorted() && opens.iter().all(|at| *at <= horizon));
            let _ = pace.check(&amounts, horizon);
        }
    }
}
