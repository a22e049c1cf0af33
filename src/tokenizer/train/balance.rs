//! Weighs groups against each other: exponent on their shares, factors by name, in whole numbers.

use super::super::error::TokenizerError;
use super::count::PretokenTable;
use super::options::TrainOptions;
use std::collections::BTreeMap;

/// Pre-tokens of all groups together.
pub(super) struct WeightedWords<'t> {
    pub(super) words: BTreeMap<&'t str, u64>,
    /// What one occurrence in a group of weight 1 counts: 1 unless weights ask for finer steps.
    pub(super) unit: u64,
    /// One a group.
    pub(super) weights: Vec<f64>,
}

/// Binary places of a weight, below those of the unit.
const PLACES: u32 = 16;
/// The finest unit; groups of lesser weight lose their rarest words to rounding.
const MAX_UNIT: u64 = 1 << 16;

/// With `alpha` 1 and no factor the counts are those of the table.
pub(super) fn weigh<'t>(
    table: &'t PretokenTable,
    groups: &[String],
    options: &TrainOptions,
) -> Result<WeightedWords<'t>, TokenizerError> {
    let weights = weights(table, groups, options)?;
    let mut words: BTreeMap<&str, u64> = BTreeMap::new();
    if weights.iter().all(|weight| *weight == 1.0) {
        for (word, count) in table.groups.iter().flatten() {
            let total = words.entry(word).or_default();
            *total = total.saturating_add(*count);
        }
        return Ok(WeightedWords { words, unit: 1, weights });
    }
    // Small weights are lifted to whole numbers, so that rare words keep their proportion.
    let least = weights.iter().copied().filter(|weight| *weight > 0.0).fold(1.0, f64::min);
    let mut unit = 1;
    while least * to_float(unit) < 1.0 && unit < MAX_UNIT {
        unit *= 2;
    }
    let mut sums: BTreeMap<&str, u128> = BTreeMap::new();
    for (group, weight) in table.groups.iter().zip(&weights) {
        let fixed = u128::from(to_whole(weight * to_float(unit << PLACES)));
        if fixed > 0 {
            for (word, count) in group {
                *sums.entry(word).or_default() += u128::from(*count) * fixed;
            }
        }
    }
    for (word, sum) in sums {
        let rounded = (sum + (1 << (PLACES - 1))) >> PLACES;
        words.insert(word, u64::try_from(rounded).unwrap_or(u64::MAX).max(1));
    }
    Ok(WeightedWords { words, unit, weights })
}

/// w = (p^alpha / sum of p^alpha) / p for the share p of the bytes, times the factor given by name.
fn weights(
    table: &PretokenTable,
    groups: &[String],
    options: &TrainOptions,
) -> Result<Vec<f64>, TokenizerError> {
    let fail = |what: String| Err(TokenizerError::TrainOptions(what));
    if table.groups.len() != groups.len() || table.masses.len() != groups.len() {
        return fail(format!("{} names for {} groups", groups.len(), table.groups.len()));
    }
    if let Some(unknown) = options.weights.keys().find(|name| !groups.contains(name)) {
        let known = groups.join(", ");
        return fail(format!("`{unknown}` has a weight, but the groups are {known}"));
    }
    let total: f64 = table.masses.iter().map(|mass| to_float(mass.bytes)).sum();
    let shares: Vec<f64> =
        table.masses.iter().map(|mass| to_float(mass.bytes) / total.max(1.0)).collect();
    let powers = |share: &f64| if *share > 0.0 { share.powf(options.alpha) } else { 0.0 };
    let sum: f64 = shares.iter().map(powers).sum();
    let weight = |(name, share): (&String, &f64)| {
        let factor = options.weights.get(name).copied().unwrap_or(1.0);
        let is_plain = options.alpha == 1.0 || *share == 0.0;
        if is_plain { factor } else { powers(share) / sum / share * factor }
    };
    Ok(groups.iter().zip(&shares).map(weight).collect())
}

/// Beyond 2^53 to the nearest.
#[expect(clippy::cast_precision_loss, reason = "shares and weights are no exact numbers")]
pub(super) fn to_float(count: u64) -> f64 {
    count as f64
}

/// To the nearest; saturates.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "weights are finite and not negative; the cast saturates"
)]
fn to_whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::super::count::TextTotals;
    use super::*;

    fn table() -> PretokenTable {
        let group = |words: &[(&str, u64)]| {
            words.iter().map(|(word, count)| ((*word).into(), *count)).collect()
        };
        let mass = |bytes| TextTotals { bytes, texts: 1, ..TextTotals::default() };
        PretokenTable {
            groups: vec![group(&[("the", 900), ("rare", 1)]), group(&[("na", 90), ("the", 10)])],
            masses: vec![mass(9000), mass(1000)],
            sampled_one_in: 1,
        }
    }

    fn names() -> Vec<String> {
        vec!["en".to_owned(), "sw".to_owned()]
    }

    #[test]
    fn alpha_one_leaves_the_counts() {
        let table = table();
        let weighed = weigh(&table, &names(), &TrainOptions::default()).unwrap();
        assert_eq!((weighed.words["the"], weighed.words["na"], weighed.unit), (910, 90, 1));
        assert_eq!(weighed.weights, [1.0, 1.0]);
    }

    #[test]
    fn alpha_zero_makes_groups_equal_and_keeps_their_words_in_proportion() {
        let table = table();
        let options = TrainOptions { alpha: 0.0, ..TrainOptions::default() };
        let weighed = weigh(&table, &names(), &options).unwrap();
        // 0.5 / 0.9 and 0.5 / 0.1.
        assert!((weighed.weights[0] - 5.0 / 9.0).abs() < 1e-12);
        assert!((weighed.weights[1] - 5.0).abs() < 1e-12);
        assert_eq!(weighed.unit, 2);
        assert_eq!(weighed.words["na"], 900);
        assert_eq!(weighed.words["the"], 1100);
        assert_eq!(weighed.words["rare"], 1, "10 / 9 of a half");
        let total: f64 = weighed.weights[0] * 0.9 + weighed.weights[1] * 0.1;
        assert!((total - 1.0).abs() < 1e-12, "the mass stays");
    }

    #[test]
    fn factors_multiply_and_unknown_names_are_refused() {
        let table = table();
        let weights = BTreeMap::from([("sw".to_owned(), 3.0), ("en".to_owned(), 0.0)]);
        let options = TrainOptions { weights, ..TrainOptions::default() };
        let weighed = weigh(&table, &names(), &options).unwrap();
        assert_eq!(weighed.words, BTreeMap::from([("na", 270), ("the", 30)]));
        let weights = BTreeMap::from([("sv".to_owned(), 3.0)]);
        let options = TrainOptions { weights, ..TrainOptions::default() };
        let error = weigh(&table, &names(), &options).err().unwrap().to_string();
        assert!(error.contains("`sv` has a weight, but the groups are en, sw"), "{error}");
    }
}
