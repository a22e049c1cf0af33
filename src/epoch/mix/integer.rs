//! Weights as integers, and integers shared out so that nothing is left over.

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

/// `weights` in proportion, with a sum of at most `limit`; what was positive stays so.
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
