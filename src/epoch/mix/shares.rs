//! What sources are worth: the rules that turn sizes, weights and fixed amounts into integers.

use super::error::MixError;
use super::integer::apportion;

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
