//! Turns sizes, weights and fixed amounts of sources into integer shares.
//!
//! What can be wrong with them is returned as values, so that a caller can word it with the names of sources.

use thiserror::Error;

/// The weight of the largest source, that others are relative to.
const SCALE: f64 = 1e9;

/// Weights `size^(1/temperature)` (mT5, arXiv 2010.11934), in billionths of the largest: 1 is in proportion to size,
/// larger is more even. At least 1 where the size is above 0, and 0 where it is 0.
///
/// A temperature that is not above 0 gives no weights: all are 0.
#[must_use]
pub fn temperature(sizes: &[u64], temperature: f64) -> Vec<u64> {
    let largest = sizes.iter().copied().max().unwrap_or(0) as f64;
    let weight = |size: &u64| {
        if *size == 0 || temperature.is_nan() || temperature <= 0.0 {
            return 0;
        }
        // Between 0 and 1, so a billion at most.
        ((*size as f64 / largest).powf(temperature.recip()) * SCALE).round().max(1.0) as u64
    };
    sizes.iter().map(weight).collect()
}

/// Amounts by UniMax (Chung et al., arXiv 2304.09151): as even as can be when no source may be seen more than
/// `max_repeats` times. From the smallest on, each gets an equal part of what is left of `budget`, or all its passes
/// if those are less; the amounts sum to the budget unless all sources together hold less.
#[must_use]
pub fn unimax(sizes: &[u64], max_repeats: u64, budget: u64) -> Vec<u64> {
    let mut ascending: Vec<(u64, usize)> = sizes.iter().copied().zip(0..).collect();
    ascending.sort_unstable();
    let mut amounts = vec![0; sizes.len()];
    let mut left = budget;
    for ((size, source), waiting) in ascending.into_iter().zip((1..=sizes.len()).rev()) {
        let even = left / waiting as u64;
        let taken = even.min(size.saturating_mul(max_repeats));
        if let Some(amount) = amounts.get_mut(source) {
            *amount = taken;
        }
        left -= taken;
    }
    amounts
}

/// Amounts when some sources have a fixed one and the others share what is left of `budget` by weight (largest
/// remainder): they sum to the budget. Each source has a weight above 0 or a fixed amount. Without a budget, which
/// is only possible when all are fixed, the fixed amounts are it.
///
/// # Errors
/// [`MixError::Either`], [`MixError::FixedExceed`], [`MixError::BudgetNeeded`], [`MixError::Unshared`].
pub fn with_fixed(
    weights: &[Option<u64>],
    fixed: &[Option<u64>],
    budget: Option<u64>,
) -> Result<Vec<u64>, MixError> {
    let sources = weights.len().max(fixed.len());
    let of = |list: &[Option<u64>], source: usize| list.get(source).copied().flatten();
    let mut shared = vec![0; sources];
    let mut amounts = vec![0_u64; sources];
    let mut sum = 0_u64;
    for (source, (share, amount)) in shared.iter_mut().zip(&mut amounts).enumerate() {
        match (of(weights, source), of(fixed, source)) {
            (Some(weight), None) if weight > 0 => *share = weight,
            (None, Some(fixed)) => *amount = fixed,
            _ => return Err(MixError::Either { source_index: source }),
        }
        sum = sum.saturating_add(*amount);
    }
    let all_fixed = shared.iter().all(|weight| *weight == 0);
    let left = match budget {
        None if all_fixed => 0,
        None => return Err(MixError::BudgetNeeded { fixed: sum }),
        Some(budget) if sum > budget => return Err(MixError::FixedExceed { fixed: sum, budget }),
        Some(budget) if all_fixed && sum < budget => {
            return Err(MixError::Unshared { fixed: sum, budget });
        }
        Some(budget) if !all_fixed && sum == budget => {
            return Err(MixError::BudgetNeeded { fixed: sum });
        }
        Some(budget) => budget - sum,
    };
    for (amount, share) in amounts.iter_mut().zip(apportion(left, &shared)) {
        *amount += share;
    }
    Ok(amounts)
}

/// Why a mix is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MixError {
    /// A schedule without points, or one that does not begin at 0.
    #[error("a schedule needs a point at 0")]
    NoStart,
    /// A point that does not come after the one before it, or is too late.
    #[error("point {point} of the schedule is at {at}; points must ascend and stay below 2^50")]
    Order {
        /// Index of the point.
        point: usize,
        /// Where it is.
        at: u64,
    },
    /// A point with other sources than the first, or where no source has a share.
    #[error("point {point} of the schedule needs {sources} shares, at least one of them above 0")]
    Shares {
        /// Index of the point.
        point: usize,
        /// Shares needed.
        sources: usize,
    },
    /// A row of a table of amounts that cannot be: it does not sum to its total, or takes something back.
    #[error("row {row} of the table of amounts must sum to its total and never fall")]
    Table {
        /// Index of the row.
        row: usize,
    },
    /// A source has both a weight and a fixed amount, or neither.
    #[error("source {source_index} needs either a weight above 0 or a fixed amount")]
    Either {
        /// Index of the source.
        source_index: usize,
    },
    /// The fixed amounts are more than the budget.
    #[error(
        "the fixed amounts come to {fixed}, the budget is {budget}; raise the budget or lower them"
    )]
    FixedExceed {
        /// Sum of the fixed amounts.
        fixed: u64,
        /// The budget.
        budget: u64,
    },
    /// Sources with a weight need a budget that is larger than the fixed amounts.
    #[error("sources with a weight need a budget above {fixed}, what the fixed amounts come to")]
    BudgetNeeded {
        /// Sum of the fixed amounts.
        fixed: u64,
    },
    /// All amounts are fixed and the budget is more than they come to.
    #[error(
        "the fixed amounts come to {fixed} of a budget of {budget}; give a source a weight, or leave the budget out"
    )]
    Unshared {
        /// Sum of the fixed amounts.
        fixed: u64,
        /// The budget.
        budget: u64,
    },
}

/// Decimal places of a weight that count.
const WEIGHT_SCALE: f64 = 1e9;
/// Largest weight, so that all products fit 128 bits.
pub const WEIGHT_MAX: f64 = 1e6;

/// The integer form of weights: billionths, divided by their greatest common divisor.
///
/// None when one is not in `1e-9..=1e6`.
#[must_use]
pub fn integer_weights(weights: &[f64]) -> Option<Vec<u64>> {
    let mut scaled = Vec::with_capacity(weights.len());
    for weight in weights {
        let billionths = (weight * WEIGHT_SCALE).round();
        if !(1.0..=WEIGHT_MAX * WEIGHT_SCALE).contains(&billionths) {
            return None;
        }
        scaled.push(billionths as u64);
    }
    Some(reduced(&scaled))
}

/// `weights` divided by their greatest common divisor.
pub(super) fn reduced(weights: &[u64]) -> Vec<u64> {
    let divisor = weights.iter().copied().fold(0, gcd).max(1);
    weights.iter().map(|weight| weight / divisor).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Scales `weights` to a sum of at most `limit`; positive weights stay positive.
pub(super) fn bounded(weights: &[u64], limit: u64) -> Vec<u64> {
    let mut weights = reduced(weights);
    while weights.iter().map(|weight| u128::from(*weight)).sum::<u128>() > u128::from(limit)
        && weights.iter().any(|weight| *weight > 1)
    {
        for weight in &mut weights {
            *weight = weight.div_ceil(2);
        }
    }
    weights
}

/// Shares `whole` out in proportion to `weights`, by largest remainder (Hamilton): the parts sum to `whole`,
/// each is within one of its exact share, ties go to the earlier. All zero when no weight is positive.
#[must_use]
pub fn apportion(whole: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let mut parts = Vec::with_capacity(weights.len());
    let mut remainders = Vec::with_capacity(weights.len());
    let mut left = whole;
    for (at, weight) in weights.iter().enumerate() {
        let exact = u128::from(whole) * u128::from(*weight);
        let part = u64::try_from(exact / sum).unwrap_or(whole);
        left -= part;
        parts.push(part);
        remainders.push((std::cmp::Reverse(exact % sum), at));
    }
    // Fewer units are left than there are remainders above zero, so a weight of zero gets none.
    remainders.sort_unstable();
    let due = usize::try_from(left).unwrap_or(usize::MAX);
    for (_, at) in remainders.iter().take(due) {
        if let Some(part) = parts.get_mut(*at) {
            *part += 1;
        }
    }
    parts
}
