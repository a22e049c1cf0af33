//! Tests of the share rules, by hand and by property.

use crate::epoch::mix::{MixError, apportion, integer_weights, temperature, unimax, with_fixed};
use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn weights_become_small_integers() {
    assert_eq!(integer_weights(&[0.968, 0.024, 0.008]), Some(vec![121, 3, 1]));
    assert_eq!(integer_weights(&[2.0, 3.0]), Some(vec![2, 3]));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-10, 2e6] {
        assert_eq!(integer_weights(&[1.0, bad]), None);
    }
}

#[test]
fn parts_by_largest_remainder() {
    // 10 x (1, 1, 1) / 3 = 3.33 each, the first gets what is left.
    assert_eq!(apportion(10, &[1, 1, 1]), [4, 3, 3]);
    // 21 x (13, 7, 0) / 20 = 13.65, 7.35 and 0.
    assert_eq!(apportion(21, &[13, 7, 0]), [14, 7, 0]);
    assert_eq!(apportion(5, &[0, 0]), [0, 0]);
    assert_eq!(apportion(u64::MAX, &[u64::MAX, u64::MAX]), [1 << 63, (1 << 63) - 1]);
}

#[test]
fn temperature_by_hand() {
    // Square roots of 10^6, 10^4 and 4: 1000, 100 and 2.
    assert_eq!(
        temperature(&[1_000_000, 10_000, 4, 0], 2.0),
        [1_000_000_000, 100_000_000, 2_000_000, 0]
    );
    assert_eq!(temperature(&[8, 4], 1.0), [1_000_000_000, 500_000_000]);
    assert_eq!(temperature(&[8, 4, 1], f64::INFINITY), [1_000_000_000; 3]);
    assert_eq!(temperature(&[u64::MAX, 1], 0.1), [1_000_000_000, 1]);
    assert_eq!(temperature(&[8, 4], 0.0), [0, 0]);
    assert_eq!(temperature(&[8, 4], f64::NAN), [0, 0]);
    assert_eq!(temperature(&[], 1.0), [0; 0]);
}

#[test]
fn unimax_by_hand() {
    // 100 over three: 5 x 4 = 20 < 33, then 40 each of 80.
    assert_eq!(unimax(&[1000, 5, 70], 4, 100), [40, 20, 40]);
    // Caps of all: the budget is not reached.
    assert_eq!(unimax(&[10, 20], 2, 1000), [20, 40]);
    // 101 / 2 = 50, and the last takes what is left.
    assert_eq!(unimax(&[500, 500], 1, 101), [50, 51]);
    assert_eq!(unimax(&[], 1, 10), [0; 0]);
    // From the algorithm of the paper in ten lines of Python.
    assert_eq!(unimax(&[583, 33, 64, 61_899, 27_520], 4, 10_000), [2332, 132, 256, 3640, 3640]);
    assert_eq!(unimax(&[3, 84, 49, 993, 95_139, 68], 2, 123_457), [6, 168, 98, 1986, 121_063, 136]);
}

#[test]
fn fixed_amounts_by_hand() {
    // 1000 - 300 = 700 by 2 : 1, 466.67 and 233.33.
    let weights = [Some(2), None, Some(1)];
    let fixed = [None, Some(300), None];
    assert_eq!(with_fixed(&weights, &fixed, Some(1000)), Ok(vec![467, 300, 233]));
    assert_eq!(
        with_fixed(&weights, &fixed, Some(299)),
        Err(MixError::FixedExceed { fixed: 300, budget: 299 })
    );
    for budget in [None, Some(300)] {
        assert_eq!(
            with_fixed(&weights, &fixed, budget),
            Err(MixError::BudgetNeeded { fixed: 300 })
        );
    }
    assert_eq!(with_fixed(&[None, None], &[Some(3), Some(4)], None), Ok(vec![3, 4]));
    assert_eq!(
        with_fixed(&[None], &[Some(3)], Some(4)),
        Err(MixError::Unshared { fixed: 3, budget: 4 })
    );
    for (weight, fixed) in [(None, None), (Some(1), Some(1)), (Some(0), None)] {
        assert_eq!(
            with_fixed(&[weight], &[fixed], Some(1)),
            Err(MixError::Either { source_index: 0 })
        );
    }
}

proptest! {
    #[test]
    fn unimax_never_passes_a_cap_nor_the_budget(
        sizes in vec(0..10_000_u64, 1..12), repeats in 1..5_u64, budget in 0..100_000_u64,
    ) {
        let amounts = unimax(&sizes, repeats, budget);
        let hold: u64 = sizes.iter().map(|size| size * repeats).sum();
        prop_assert_eq!(amounts.iter().sum::<u64>(), budget.min(hold));
        prop_assert!(amounts.iter().zip(&sizes).all(|(amount, size)| *amount <= size * repeats));
    }

    #[test]
    fn parts_sum_and_are_within_one(whole: u64, weights in vec(any::<u64>(), 1..9)) {
        prop_assume!(weights.iter().any(|weight| *weight > 0));
        let parts = apportion(whole, &weights);
        prop_assert_eq!(parts.iter().map(|part| u128::from(*part)).sum::<u128>(), whole.into());
        let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        for (part, weight) in parts.iter().zip(&weights) {
            let floor = u128::from(whole) * u128::from(*weight) / sum;
            prop_assert!(u128::from(*part) == floor || u128::from(*part) == floor + 1);
            prop_assert!(*weight > 0 || *part == 0);
        }
    }
}
