//! The schedule of strata under a curriculum: how much of each is due at any moment of a pass.

use crate::epoch::error::EpochError;
use crate::epoch::mix::{Fluid, apportion};

/// How a pass shares its tokens among strata that hold `amounts` and open at the token times `opens`:
/// between two openings the open strata drain in proportion to what is left of them, as if documents
/// were drawn evenly from all that are open and not yet used.
///
/// # Errors
/// [`EpochError::Bug`] when a stratum opens after everything before it is used up.
pub(in crate::epoch) fn strata_table(amounts: &[u64], opens: &[u64]) -> Result<Fluid, EpochError> {
    let whole: u64 = amounts.iter().sum();
    let mut times = vec![0];
    let mut table = vec![vec![0; amounts.len()]];
    let mut given = vec![0_u64; amounts.len()];
    for stratum in 0..amounts.len() {
        let from = opens.get(stratum).copied().unwrap_or(0).min(whole);
        let to = opens.get(stratum + 1).copied().unwrap_or(whole).min(whole);
        if to <= from {
            continue;
        }
        let left: Vec<u64> = amounts
            .iter()
            .zip(&given)
            .enumerate()
            .map(|(at, (amount, given))| if at <= stratum { amount - given } else { 0 })
            .collect();
        let due = share_out(to - from, &left)
            .ok_or_else(|| EpochError::bug("a stratum opens after those before it are used up"))?;
        for (given, due) in given.iter_mut().zip(due) {
            *given += due;
        }
        times.push(to);
        table.push(given.clone());
    }
    Fluid::from_table(times, table).map_err(|why| EpochError::bug(why.to_string()))
}

/// `amount` in proportion to what is `left`, none more than is left; none when there is not as much.
fn share_out(amount: u64, left: &[u64]) -> Option<Vec<u64>> {
    let whole: u128 = left.iter().map(|left| u128::from(*left)).sum();
    // Rounded up, a share is at most what is left: before it was less than the whole part.
    (u128::from(amount) <= whole).then(|| apportion(amount, left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_are_whole_and_within_what_is_left(
            left in proptest::collection::vec(0_u64..1000, 1..12),
            part in 0.0..1.0,
        ) {
            let whole: u64 = left.iter().sum();
            let amount = (whole as f64 * part) as u64;
            let shares = share_out(amount, &left).unwrap();
            prop_assert_eq!(shares.iter().sum::<u64>(), amount);
            prop_assert!(shares.iter().zip(&left).all(|(share, left)| share <= left));
            prop_assert!(share_out(whole + 1, &left).is_none());
        }
    }

    #[test]
    fn strata_open_one_after_another_and_end_together() {
        let amounts = [100, 200, 300];
        let fluid = strata_table(&amounts, &[0, 50, 300]).unwrap();
        assert_eq!([0, 1, 2].map(|stratum| fluid.share(stratum, 50)), [50, 0, 0]);
        // 50 of the first and 200 of the second are left: a fifth and four fifths.
        assert_eq!([0, 1, 2].map(|stratum| fluid.share(stratum, 100)), [60, 40, 0]);
        assert_eq!([0, 1, 2].map(|stratum| fluid.share(stratum, 300)), [100, 200, 0]);
        assert_eq!([0, 1, 2].map(|stratum| fluid.share(stratum, 600)), amounts);
        assert!(strata_table(&amounts, &[0, 150, 300]).is_err());
    }
}
