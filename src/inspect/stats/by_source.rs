//! How lengths and declared numbers are spread in each source.
//!
//! A score whose spread differs between sources tells them apart; one with the same spread in all tells nothing.

use super::scope::{ScopeMember, StatsScope};
use super::spread::{ColumnStats, MeasuredColumn, QuantileSet, measured};
use crate::inspect::InspectError;
use crate::inspect::snapshots::SnapshotState;
use crate::sql::DocumentFilter;
use model::{DocId, SourceId};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde::Serialize;
use store::{View, system_fields};

/// Sources whose quantiles are searched for in one pass: each takes some 3 MB for each thread.
const TOGETHER: usize = 4;

/// The distribution of a column among the kept documents of a source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourceSpread {
    /// The name of the source.
    pub source: String,
    /// The distribution of its values.
    #[serde(flatten)]
    pub column: ColumnStats,
}

/// How long the kept documents of a source are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourceLengths {
    /// The source, and the distribution of its lengths.
    #[serde(flatten)]
    pub spread: SourceSpread,
    /// Documents by length, in four bins to each power of two: bin 0 is of length 0, bin 1 + 4e + m of lengths from
    /// 2^e (1 + m/4) on. Behind the last bin there are none.
    pub bins: Vec<u64>,
}

/// The lengths of the kept documents of these sources: in tokens of the first tokenizer, or in bytes.
pub(super) fn source_lengths(
    scope: &StatsScope<'_>,
    sources: &[SourceId],
) -> Result<Vec<SourceLengths>, InspectError> {
    let tokens = scope.view.own_tokenizers().next().is_some();
    // The columns begin with bytes, characters and the tokens of each tokenizer.
    let Some(column) = measured(scope.view).into_iter().nth(if tokens { 2 } else { 0 }) else {
        return Ok(Vec::new());
    };
    let mut bins: Vec<Vec<u64>> = vec![Vec::new(); sources.len()];
    let mut told = Vec::with_capacity(sources.len());
    for (sources, bins) in sources.chunks(TOGETHER).zip(bins.chunks_mut(TOGETHER)) {
        told.extend(spread(scope, &column, sources, |at, value| {
            let Some(bins) = bins.get_mut(at) else { return };
            let bin = bin(u64::try_from(value).unwrap_or(0));
            bins.resize(bins.len().max(bin + 1), 0);
            if let Some(count) = bins.get_mut(bin) {
                *count += 1;
            }
        })?);
    }
    Ok(told.into_iter().zip(bins).map(|(spread, bins)| SourceLengths { spread, bins }).collect())
}

/// The bin of a length, as [`SourceLengths`] counts them.
fn bin(length: u64) -> usize {
    let Some(power) = length.checked_ilog2() else { return 0 };
    // The two bits behind the highest one.
    let quarter = if power < 2 { length << (2 - power) } else { length >> (power - 2) } & 3;
    1 + 4 * power as usize + quarter as usize
}

/// How the first `columns` of the lengths and declared numbers are spread in each of `sources`, among the documents
/// that are kept: column by column, the sources in the order given. What it says of a source is what
/// [`stats`](super::stats) says of it alone; a column is read some three times for each four sources.
///
/// # Errors
/// [`InspectError`] when a row cannot be read.
pub fn spread_by_source(
    view: &View,
    sources: &[SourceId],
    columns: usize,
) -> Result<Vec<SourceSpread>, InspectError> {
    let moment = SnapshotState::named(view, None)?;
    let all = DocumentFilter::default();
    let scope = StatsScope::new(view, &all, &moment)?;
    let columns: Vec<MeasuredColumn> = measured(view).into_iter().take(columns).collect();
    let told: Vec<Vec<SourceSpread>> = columns
        .into_par_iter()
        .map(|column| {
            let mut told = Vec::with_capacity(sources.len());
            for together in sources.chunks(TOGETHER) {
                told.extend(spread(&scope, &column, together, |_, _| {})?);
            }
            Ok(told)
        })
        .collect::<Result<_, InspectError>>()?;
    Ok(told.into_iter().flatten().collect())
}

/// Spreads of a column by source; each value is given to `also`, too, with the place of its source.
fn spread(
    scope: &StatsScope<'_>,
    column: &MeasuredColumn,
    sources: &[SourceId],
    mut also: impl FnMut(usize, i64),
) -> Result<Vec<SourceSpread>, InspectError> {
    let mut sets: Vec<QuantileSet> = sources.iter().map(|_| column.set()).collect();
    let documents = pass(scope, column, sources, |at, value| {
        if let Some(set) = sets.get_mut(at) {
            set.take(value);
            also(at, value);
        }
    })?;
    sets.iter_mut().for_each(QuantileSet::begin);
    while sets.iter().any(|set| !set.is_done()) {
        pass(scope, column, sources, |at, value| {
            if let Some(set) = sets.get_mut(at) {
                set.place(value);
            }
        })?;
        sets.iter_mut().for_each(QuantileSet::narrow);
    }
    let told = sources.iter().zip(&sets).zip(documents);
    told.map(|((source, set), documents)| {
        let source = scope.view.source_name(*source)?.to_owned();
        Ok(SourceSpread { source, column: column.column_stats(set, documents, true) })
    })
    .collect()
}

/// Calls with every value of a kept document of the sources, and the place of its source; answers how many documents
/// each source has.
fn pass(
    scope: &StatsScope<'_>,
    column: &MeasuredColumn,
    sources: &[SourceId],
    mut take: impl FnMut(usize, i64),
) -> Result<Vec<u64>, InspectError> {
    let mut documents = vec![0; sources.len()];
    for block in scope.blocks() {
        let of = scope.view.column_block(system_fields::SOURCE_OF, block)?;
        let members = scope.members(block)?;
        let mut places = vec![None; members.len()];
        for ((slot, member), found) in (0..=u16::MAX).zip(&members).zip(&mut places) {
            if *member == ScopeMember::Kept {
                let source = of.source_of(DocId::at(block, slot))?;
                *found = sources.iter().position(|other| *other == source);
                if let Some(count) = found.and_then(|at: usize| documents.get_mut(at)) {
                    *count += 1;
                }
            }
        }
        for (slot, value) in scope.view.column_block(column.column, block)?.iter() {
            if let Some(Some(at)) = places.get(usize::from(slot)) {
                take(*at, value);
            }
        }
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_lengths_are_quarters_of_powers_of_two() {
        let bins = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 1023, 1024, u64::MAX].map(bin);
        assert_eq!(bins, [0, 1, 5, 7, 9, 10, 12, 13, 13, 14, 40, 41, 256]);
        for (at, length) in (1..100_000).map(|length| (bin(length), length as f64)) {
            let from = |at: usize| {
                let (power, quarter) = ((at - 1) / 4, (at - 1) % 4);
                f64::from(1 << power) * (1.0 + quarter as f64 / 4.0)
            };
            assert!(from(at) <= length && length < from(at + 1), "{length}");
        }
    }
}
