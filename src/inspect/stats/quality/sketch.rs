//! A sketch of nonnegative values for quantiles in bounded memory, from one pass.
//!
//! Bins are as narrow as their values are small: a fixed number of bins for each power of two.

use crate::inspect::stats::spread::CompensatedSum;
use crate::inspect::stats::{ColumnStats, StatsValue};

/// Bins of a power of two: values of one bin differ by less than one in 256.
const BINS: u64 = 256;
/// Powers of two that are distinguished: from 2^-24, below which all values share a bin, to 2^40.
const DOUBLINGS: u64 = 64;
const LEAST: u64 = 1023 - 24;

/// The least value of a bin, and the number of values.
type ScoreBin = (f64, u64);

/// The sketch of some values: at most 256 kB, mostly some 40.
#[derive(Clone, Default)]
pub(super) struct QuantileSketch {
    count: u64,
    nulls: u64,
    low: f64,
    high: f64,
    sum: CompensatedSum,
    /// Welford's running mean, and sum of squared differences from it.
    mean: f64,
    squares: f64,
    /// By power of two; allocated when a value comes.
    bins: Vec<Option<Box<[ScoreBin]>>>,
}

impl QuantileSketch {
    /// Takes a value; NaN counts as missing.
    pub(super) fn take(&mut self, value: f64) {
        if value.is_nan() {
            self.nulls += 1;
            return;
        }
        self.low = if self.count == 0 { value } else { self.low.min(value) };
        self.high = if self.count == 0 { value } else { self.high.max(value) };
        self.count += 1;
        self.sum.add(value);
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
        let (doubling, bin) = place(value);
        if self.bins.len() <= doubling {
            self.bins.resize(doubling + 1, None);
        }
        let Some(bins) = self.bins.get_mut(doubling) else { return };
        let bins = bins.get_or_insert_with(|| vec![(f64::INFINITY, 0); BINS as usize].into());
        if let Some((least, count)) = bins.get_mut(bin) {
            *least = least.min(value);
            *count += 1;
        }
    }

    /// The least value of the bin that has the percentile.
    fn quantile(&self, percent: u64) -> Option<f64> {
        let rank = (u128::from(percent) * u128::from(self.count)).div_ceil(100).max(1);
        let mut passed = 0;
        for (least, count) in self.bins.iter().flatten().flat_map(|bins| bins.iter()) {
            passed += u128::from(*count);
            if *count > 0 && passed >= rank {
                return Some(*least);
            }
        }
        None
    }

    /// The spread as that of a column; `whole` for columns of whole numbers.
    pub(super) fn column_stats(&self, column: &str, whole: bool) -> ColumnStats {
        let float = |value: f64| self.some(StatsValue::Float(value));
        // Counts of words and sentences are far below 2^53.
        let value = |value: f64| match whole {
            true => self.some(StatsValue::Int(value as i64)),
            false => float(value),
        };
        let percent = |percent: u64| self.quantile(percent).and_then(value);
        ColumnStats {
            column: column.to_owned(),
            kind: if whole { "int" } else { "float" },
            of_kept: true,
            count: self.count,
            nulls: self.nulls,
            min: value(self.low),
            p5: percent(5),
            p25: percent(25),
            p50: percent(50),
            p75: percent(75),
            p95: percent(95),
            max: value(self.high),
            mean: float(self.sum.total() / self.count.max(1) as f64),
            spread: (self.count > 0).then(|| (self.squares / self.count as f64).sqrt()),
        }
    }

    const fn some(&self, value: StatsValue) -> Option<StatsValue> {
        if self.count > 0 { Some(value) } else { None }
    }
}

/// The index of the power of two, and of the bin in it; both ascend with the value.
fn place(value: f64) -> (usize, usize) {
    let bits = value.max(0.0).to_bits();
    let doubling = (bits >> 52).saturating_sub(LEAST);
    let (doubling, bin) = match (bits >> 52 < LEAST, doubling < DOUBLINGS) {
        (true, _) => (0, 0),
        (false, true) => (doubling, (bits >> 44) % BINS),
        (false, false) => (DOUBLINGS - 1, BINS - 1),
    };
    (usize::try_from(doubling).unwrap_or(0), usize::try_from(bin).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(value: Option<StatsValue>) -> f64 {
        match value {
            Some(StatsValue::Float(value)) => value,
            Some(StatsValue::Int(value)) => value as f64,
            other => panic!("{other:?}"),
        }
    }

    fn checked(values: &[f64], whole: bool) {
        let mut sketch = QuantileSketch::default();
        values.iter().for_each(|value| sketch.take(*value));
        sketch.take(f64::NAN);
        let told = sketch.column_stats("x", whole);
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        for (percent, found) in
            [(5, told.p5), (25, told.p25), (50, told.p50), (75, told.p75), (95, told.p95)]
        {
            let exact = sorted[(percent * sorted.len()).div_ceil(100).max(1) - 1];
            let found = number(found);
            assert!(sorted.contains(&found), "p{percent}: {found} is no value");
            assert!(
                found <= exact && exact - found <= exact / 256.0 + 1e-7,
                "p{percent}: {found} {exact}"
            );
            assert!(!whole || exact >= 512.0 || found == exact, "p{percent}: {found} {exact}");
        }
        assert_eq!((number(told.min), number(told.max)), (sorted[0], sorted[sorted.len() - 1]));
        assert_eq!((told.count, told.nulls), (values.len() as u64, 1));
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let spread = (squares / values.len() as f64).sqrt();
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * sorted[sorted.len() - 1].max(1.0);
        assert!(close(number(told.mean), mean) && close(told.spread.unwrap(), spread));
    }

    proptest! {
        #[test]
        fn quantiles_are_values_hardly_below_the_exact_ones(
            shares in prop::collection::vec(0.0_f64..1.0, 1..300),
            counts in prop::collection::vec(0_u32..100_000, 1..300),
            few in prop::collection::vec(0_u32..600, 1..50),
        ) {
            checked(&shares, false);
            let whole = |values: &[u32]| values.iter().map(|it| f64::from(*it)).collect::<Vec<_>>();
            checked(&whole(&counts), true);
            checked(&whole(&few), true);
        }
    }

    #[test]
    fn out_of_range_values_are_in_the_outer_bins() {
        checked(&[0.0, 1e-30, 1e-9, 0.5], false);
        let mut sketch = QuantileSketch::default();
        sketch.take(1e300);
        assert_eq!(number(sketch.column_stats("x", false).p50), 1e300);
        assert_eq!(QuantileSketch::default().column_stats("x", true).p50, None);
        assert_eq!(QuantileSketch::default().column_stats("x", true).min, None);
    }
}
