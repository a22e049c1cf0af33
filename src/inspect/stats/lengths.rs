//! Histograms of document lengths by powers of two, before and after dedup.

use super::scope::{ScopeMember, StatsScope};
use super::spread;
use crate::inspect::InspectError;
use crate::inspect::snapshots::SnapshotState;
use crate::sql::DocumentFilter;
use model::ColumnId;
use model::invariant::part;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde::Serialize;
use store::View;

/// Bins: one for 0, and one for each power of two.
const BINS: usize = 65;

/// Lengths of documents in one measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LengthStats {
    /// The column of the table `documents`: `bytes`, `chars`, or `tokens_NAME` for each tokenizer.
    pub column: String,
    /// Counts, ascending; the bins without a document at either end are left out.
    pub bins: Vec<DocumentLengthBin>,
}

/// Documents whose length lies between two bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DocumentLengthBin {
    /// The least length.
    pub from: u64,
    /// The greatest length.
    pub to: u64,
    /// Documents, kept or not.
    pub all: u64,
    /// Documents kept.
    pub kept: u64,
}

/// Counts lengths in bytes, characters and tokens. Every block of these columns is read once; what is held is a bitmap
/// of kept documents and some numbers a column.
///
/// # Errors
/// [`InspectError`] when a row cannot be read.
pub fn lengths(view: &View) -> Result<Vec<LengthStats>, InspectError> {
    let moment = SnapshotState::named(view, None)?;
    let all = DocumentFilter::default();
    let scope = StatsScope::new(view, &all, &moment)?;
    let columns: Vec<(String, ColumnId)> = spread::lengths(view).collect();
    columns
        .into_par_iter()
        .map(|(column, id)| Ok(LengthStats { column, bins: counted(&scope, id)? }))
        .collect()
}

fn counted(
    scope: &StatsScope<'_>,
    column: ColumnId,
) -> Result<Vec<DocumentLengthBin>, InspectError> {
    let mut bins = vec![DocumentLengthBin::default(); BINS];
    for (power, bin) in (0_u32..).zip(&mut bins) {
        (bin.from, bin.to) = bounds(power);
    }
    for block in scope.blocks() {
        let members = scope.members(block)?;
        for (slot, value) in scope.view.column_block(column, block)?.iter() {
            let length = u64::try_from(value).unwrap_or(0);
            let power = usize::try_from(u64::BITS - length.leading_zeros()).unwrap_or(0);
            let (Some(member), Some(bin)) = (members.get(usize::from(slot)), bins.get_mut(power))
            else {
                continue;
            };
            bin.all += u64::from(*member != ScopeMember::Outside);
            bin.kept += u64::from(*member == ScopeMember::Kept);
        }
    }
    let any = |bin: &DocumentLengthBin| bin.all > 0;
    let first = bins.iter().position(any).unwrap_or(bins.len());
    let end = bins.iter().rposition(any).map_or(first, |last| last + 1);
    Ok(part(&bins, first..end).to_vec())
}

/// The least and greatest length with this many bits.
const fn bounds(bits: u32) -> (u64, u64) {
    match bits {
        0 => (0, 0),
        _ => (1 << (bits - 1), u64::MAX >> (u64::BITS - bits)),
    }
}
