//! How the values of a column are spread: least, greatest, mean, and quantiles, each a value of the column.
//!
//! A quantile is found by counting. The range from the least to the greatest value is split into 65,536 bins; the bin
//! with the quantile's rank is the next range, until the range is one value. That takes one to four passes over the
//! blocks of the column, with at most ten ranges counted at a time.

use super::scope::{ScopeMember, StatsScope};
use crate::inspect::InspectError;
use model::{ColumnId, FieldKind, shown_timestamp, unsortable_float};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde::{Serialize, Serializer};
use store::{View, system_fields};

/// Bins of a range.
const BINS: u64 = 1 << 16;
/// Quantiles, in percent.
const PERCENTS: [u64; 5] = [5, 25, 50, 75, 95];

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema), schemars(untagged))]
#[non_exhaustive]
pub enum StatsValue {
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// Microseconds since 1970, in UTC.
    #[cfg_attr(feature = "cli", schemars(with = "String"))]
    Timestamp(i64),
}

impl std::fmt::Display for StatsValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Timestamp(value) => f.write_str(&shown_timestamp(*value)),
        }
    }
}

impl Serialize for StatsValue {
    /// Numbers as numbers, timestamps as text.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(value) => to.serialize_i64(*value),
            Self::Float(value) => to.serialize_f64(*value),
            Self::Timestamp(value) => to.serialize_str(&shown_timestamp(*value)),
        }
    }
}

/// The distribution of a column among some documents. Without a value all of them are absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ColumnStats {
    /// The column of the table `documents`.
    pub column: String,
    /// `int`, `float` or `timestamp`.
    pub kind: &'static str,
    /// Whether it is among those that are kept only.
    pub of_kept: bool,
    /// Documents with a value.
    pub count: u64,
    /// Documents without one.
    pub nulls: u64,
    /// The least value.
    pub min: Option<StatsValue>,
    /// The least value that 5 in 100 values do not exceed; the others likewise.
    pub p5: Option<StatsValue>,
    /// The least value that a quarter do not exceed.
    pub p25: Option<StatsValue>,
    /// The median: the least value that half do not exceed.
    pub p50: Option<StatsValue>,
    /// The least value that three quarters do not exceed.
    pub p75: Option<StatsValue>,
    /// The least value that 95 in 100 do not exceed.
    pub p95: Option<StatsValue>,
    /// The greatest value.
    pub max: Option<StatsValue>,
    /// The mean; of timestamps cut to a microsecond.
    pub mean: Option<StatsValue>,
    /// The standard deviation of these values; of timestamps in seconds.
    pub spread: Option<f64>,
}

/// A column whose spread is measured.
pub(super) struct MeasuredColumn {
    name: String,
    pub(super) column: ColumnId,
    kind: FieldKind,
}

/// The columns of document lengths.
pub(super) fn lengths(view: &View) -> impl Iterator<Item = (String, ColumnId)> {
    let of_text = [("bytes", system_fields::BYTES), ("chars", system_fields::CHARS)];
    let of_text = of_text.map(|(name, column)| (name.to_owned(), column));
    let tokens = view.own_tokenizers();
    let tokens = tokens
        .map(|(id, record)| (format!("tokens_{}", record.name), system_fields::tokens_of(id)));
    of_text.into_iter().chain(tokens)
}

/// The columns to measure: lengths, then declared numbers.
pub(super) fn measured(view: &View) -> Vec<MeasuredColumn> {
    let int = |(name, column)| MeasuredColumn { name, column, kind: FieldKind::Int };
    let mut columns: Vec<MeasuredColumn> = lengths(view).map(int).collect();
    for field in view.fields() {
        if matches!(field.kind, FieldKind::Int | FieldKind::Float | FieldKind::Timestamp) {
            let (name, column) = (field.name.clone(), system_fields::column_of(field.id));
            columns.push(MeasuredColumn { name, column, kind: field.kind });
        }
    }
    columns
}

/// The spread of lengths and declared numbers in a scope: for each column first of all documents, then of kept ones.
pub(super) fn columns(scope: &StatsScope<'_>) -> Result<Vec<ColumnStats>, InspectError> {
    let measured: Vec<[ColumnStats; 2]> = measured(scope.view)
        .into_par_iter()
        .map(|column| column.measure(scope))
        .collect::<Result<_, InspectError>>()?;
    Ok(measured.into_iter().flatten().collect())
}

impl MeasuredColumn {
    /// An empty set of this column's values.
    pub(super) fn set(&self) -> QuantileSet {
        QuantileSet::new(self.kind)
    }

    fn measure(&self, scope: &StatsScope<'_>) -> Result<[ColumnStats; 2], InspectError> {
        let mut sets = [QuantileSet::new(self.kind), QuantileSet::new(self.kind)];
        // Bounds and sums first; then ranges are counted until every quantile is known.
        let documents = self.pass(scope, &mut sets, QuantileSet::take)?;
        sets.iter_mut().for_each(QuantileSet::begin);
        while sets.iter().any(|set| !set.is_done()) {
            self.pass(scope, &mut sets, QuantileSet::place)?;
            sets.iter_mut().for_each(QuantileSet::narrow);
        }
        let [all, kept] = sets;
        let [of_all, of_kept] = documents;
        Ok([self.column_stats(&all, of_all, false), self.column_stats(&kept, of_kept, true)])
    }

    /// Gives every value to its sets: all documents, and kept ones. Answers how many documents each has.
    fn pass(
        &self,
        scope: &StatsScope<'_>,
        sets: &mut [QuantileSet; 2],
        take: impl Fn(&mut QuantileSet, i64),
    ) -> Result<[u64; 2], InspectError> {
        let [all, kept] = sets;
        let mut documents = [0, 0];
        for block in scope.blocks() {
            let members = scope.members(block)?;
            let [of_all, of_kept] = &mut documents;
            *of_all +=
                members.iter().filter(|member| **member != ScopeMember::Outside).count() as u64;
            *of_kept +=
                members.iter().filter(|member| **member == ScopeMember::Kept).count() as u64;
            for (slot, value) in scope.view.column_block(self.column, block)?.iter() {
                match members.get(usize::from(slot)) {
                    None | Some(ScopeMember::Outside) => {}
                    Some(ScopeMember::Lost) => take(all, value),
                    Some(ScopeMember::Kept) => {
                        take(all, value);
                        take(kept, value);
                    }
                }
            }
        }
        Ok(documents)
    }

    pub(super) fn column_stats(
        &self,
        set: &QuantileSet,
        documents: u64,
        of_kept: bool,
    ) -> ColumnStats {
        let value = |value: i64| match self.kind {
            FieldKind::Float => StatsValue::Float(unsortable_float(value)),
            FieldKind::Timestamp => StatsValue::Timestamp(value),
            _ => StatsValue::Int(value),
        };
        let some = |of: i64| (set.count > 0).then(|| value(of));
        let quantile = |at: usize| set.targets.get(at).map(|target| value(target.low));
        let mean = match self.kind {
            FieldKind::Timestamp => StatsValue::Timestamp(set.mean as i64),
            _ => StatsValue::Float(set.mean),
        };
        let seconds = if self.kind == FieldKind::Timestamp { 1e-6 } else { 1.0 };
        ColumnStats {
            column: self.name.clone(),
            kind: self.kind.name(),
            of_kept,
            count: set.count,
            nulls: documents - set.count,
            min: some(set.low),
            p5: quantile(0),
            p25: quantile(1),
            p50: quantile(2),
            p75: quantile(3),
            p95: quantile(4),
            max: some(set.high),
            mean: (set.count > 0).then_some(mean),
            spread: (set.count > 0).then(|| set.spread() * seconds),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct QuantileTarget {
    /// The least number of values in the range that do not exceed the quantile.
    rank: u64,
    /// The range of the quantile, both ends included.
    low: i64,
    high: i64,
}

struct QuantileBins {
    low: i64,
    high: i64,
    /// How many integers a bin covers.
    width: u64,
    bins: Vec<u64>,
}

/// The values of some documents as the store keeps them: floats as integers of the same order.
pub(super) struct QuantileSet {
    kind: FieldKind,
    count: u64,
    low: i64,
    high: i64,
    /// The sum: exact for integers; for floats with the rounding errors kept.
    whole: i128,
    sum: CompensatedSum,
    mean: f64,
    /// The sum of squared differences from the mean.
    squares: CompensatedSum,
    /// Whether a pass has summed the squares.
    is_summed: bool,
    targets: Vec<QuantileTarget>,
    counted: Vec<QuantileBins>,
}

impl QuantileSet {
    fn new(kind: FieldKind) -> Self {
        Self {
            kind,
            count: 0,
            low: i64::MAX,
            high: i64::MIN,
            whole: 0,
            sum: CompensatedSum::default(),
            mean: 0.0,
            squares: CompensatedSum::default(),
            is_summed: false,
            targets: Vec::new(),
            counted: Vec::new(),
        }
    }

    fn number(&self, value: i64) -> f64 {
        if self.kind == FieldKind::Float { unsortable_float(value) } else { value as f64 }
    }

    /// Takes a value in the first pass.
    pub(super) fn take(&mut self, value: i64) {
        self.count += 1;
        self.low = self.low.min(value);
        self.high = self.high.max(value);
        match self.kind {
            FieldKind::Float => self.sum.add(unsortable_float(value)),
            _ => self.whole += i128::from(value),
        }
    }

    /// After the first pass: starts all quantiles with the range from the least to the greatest value.
    pub(super) fn begin(&mut self) {
        if self.count == 0 {
            return;
        }
        let rank = |percent: u64| {
            let rank = (u128::from(percent) * u128::from(self.count)).div_ceil(100);
            u64::try_from(rank).unwrap_or(u64::MAX).max(1)
        };
        let (low, high) = (self.low, self.high);
        self.targets =
            PERCENTS.map(|percent| QuantileTarget { rank: rank(percent), low, high }).to_vec();
        self.count_next();
        let sum = if self.kind == FieldKind::Float { self.sum.total() } else { self.whole as f64 };
        self.mean = sum / self.count as f64;
        // If all values are equal, no pass over squares is needed.
        self.is_summed = low == high;
    }

    pub(super) fn is_done(&self) -> bool {
        self.counted.is_empty()
    }

    /// Takes a value in a later pass.
    pub(super) fn place(&mut self, value: i64) {
        if !self.is_summed {
            let off = self.number(value) - self.mean;
            self.squares.add(off * off);
        }
        if let Some(range) =
            self.counted.iter_mut().find(|range| range.low <= value && value <= range.high)
        {
            let bin = value.wrapping_sub(range.low).cast_unsigned() / range.width;
            if let Some(count) = usize::try_from(bin).ok().and_then(|bin| range.bins.get_mut(bin)) {
                *count += 1;
            }
        }
    }

    /// After a later pass: narrows each quantile to the bin of its rank.
    pub(super) fn narrow(&mut self) {
        self.is_summed = true;
        for target in &mut self.targets {
            let range =
                self.counted.iter().find(|it| (it.low, it.high) == (target.low, target.high));
            let Some(range) = range else { continue };
            for (bin, count) in (0_u64..).zip(&range.bins) {
                if target.rank > *count {
                    target.rank -= count;
                    continue;
                }
                let low = range.low.wrapping_add((bin * range.width).cast_signed());
                let rest = range.high.wrapping_sub(low).cast_unsigned().min(range.width - 1);
                (target.low, target.high) = (low, low.wrapping_add(rest.cast_signed()));
                break;
            }
        }
        self.count_next();
    }

    /// Makes the next ranges to count, each once: those of quantiles that are not single values yet.
    fn count_next(&mut self) {
        self.counted.clear();
        for QuantileTarget { low, high, .. } in &self.targets {
            let is_counted = self.counted.iter().any(|it| (it.low, it.high) == (*low, *high));
            if low == high || is_counted {
                continue;
            }
            let span = high.wrapping_sub(*low).cast_unsigned();
            let width = span / BINS + 1;
            let bins = usize::try_from(span / width + 1).unwrap_or(0);
            self.counted.push(QuantileBins { low: *low, high: *high, width, bins: vec![0; bins] });
        }
    }

    fn spread(&self) -> f64 {
        (self.squares.total() / self.count.max(1) as f64).sqrt()
    }
}

/// A sum of floats in the order given, with rounding errors kept aside.
#[derive(Clone, Debug, Default)]
pub(super) struct CompensatedSum {
    sum: f64,
    lost: f64,
}

impl CompensatedSum {
    pub(super) fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost += if self.sum.abs() >= value.abs() {
            (self.sum - sum) + value
        } else {
            (value - sum) + self.sum
        };
        self.sum = sum;
    }

    pub(super) fn total(&self) -> f64 {
        self.sum + self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::sortable_float;
    use proptest::prelude::*;

    /// The quantiles that the passes find in `values`.
    fn found(kind: FieldKind, values: &[i64]) -> QuantileSet {
        let mut set = QuantileSet::new(kind);
        values.iter().for_each(|value| set.take(*value));
        set.begin();
        let mut passes = 1;
        while !set.is_done() {
            values.iter().for_each(|value| set.place(*value));
            set.narrow();
            passes += 1;
        }
        assert!(passes <= 5, "{passes}");
        set
    }

    fn sorted(kind: FieldKind, mut values: Vec<i64>) {
        let set = found(kind, &values);
        values.sort_unstable();
        for (percent, target) in PERCENTS.iter().zip(&set.targets) {
            let rank = (*percent as usize * values.len()).div_ceil(100).max(1);
            assert_eq!(
                (target.low, target.high),
                (values[rank - 1], values[rank - 1]),
                "p{percent}"
            );
        }
        assert_eq!((set.low, set.high), (values[0], values[values.len() - 1]));
        let numbers: Vec<f64> = values.iter().map(|value| set.number(*value)).collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let spread =
            numbers.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / numbers.len() as f64;
        let scale = numbers.iter().fold(1.0_f64, |scale, it| scale.max(it.abs()));
        assert!((set.mean - mean).abs() <= 1e-9 * scale, "{} {mean}", set.mean);
        assert!((set.spread() - spread.sqrt()).abs() <= 1e-6 * scale, "{} {spread}", set.spread());
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_values(
            small in prop::collection::vec(0_i64..100, 1..200),
            lengths in prop::collection::vec(0_i64..3_000_000, 1..200),
            wide in prop::collection::vec(any::<i64>(), 1..50),
            floats in prop::collection::vec(-1e9_f64..1e9, 1..100),
        ) {
            sorted(FieldKind::Int, small);
            sorted(FieldKind::Int, lengths);
            sorted(FieldKind::Int, wide);
            sorted(FieldKind::Float, floats.into_iter().map(sortable_float).collect());
        }
    }

    #[test]
    fn the_ends_of_the_range_have_bins_too() {
        sorted(FieldKind::Int, vec![i64::MIN, i64::MAX]);
        sorted(FieldKind::Int, vec![i64::MIN, -1, 0, 1, i64::MAX]);
        sorted(FieldKind::Int, vec![7; 40]);
        assert!(found(FieldKind::Int, &[]).targets.is_empty());
    }
}
