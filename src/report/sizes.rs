//! The part of a report about sizes: of the corpus and its groups, and the spread of its numbers.

use super::largest::Largest;
use crate::query::{self, ColumnStats, DocumentCounts, GroupStats, SourceSpread};
use model::{Error, SourceId};
use serde::Serialize;
use std::cmp::Reverse;
use store::View;

/// Columns whose distribution is reported by source, at most.
const COLUMNS: usize = 48;

/// How large a corpus is, before and after dedup and removals.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Sizes {
    /// Counts of all stored documents.
    pub all: DocumentCounts,
    /// Counts of kept documents.
    pub kept: DocumentCounts,
    /// The same by source and language.
    pub groups: Largest<GroupStats>,
    /// Whether languages are not distinguished, because there would be more than 1,000 groups.
    pub is_by_source_alone: bool,
}

/// Distributions of lengths and declared numbers: among all documents, and in the largest sources.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Spreads {
    /// In the whole corpus: of each column all documents, then those that are kept.
    pub columns: Vec<ColumnStats>,
    /// Among the kept documents of the largest sources: column by column, the largest source first.
    pub by_source: Vec<SourceSpread>,
    /// Columns that are not reported by source, since there are many.
    pub columns_left_out: u64,
    /// Sources that are not reported.
    pub sources_left_out: u64,
}

pub(super) fn spreads(
    view: &View,
    columns: Vec<ColumnStats>,
    sources: usize,
) -> Result<Spreads, Error> {
    let mut all: Vec<(Reverse<u64>, String, SourceId)> = view
        .sources()
        .filter(|(_, record)| record.kept > 0)
        .map(|(id, record)| (Reverse(record.kept), record.name.clone(), id))
        .collect();
    all.sort();
    let largest: Vec<SourceId> = all.iter().take(sources).map(|(_, _, id)| *id).collect();
    let measured = columns.len() / 2;
    Ok(Spreads {
        by_source: query::spread_by_source(view, &largest, COLUMNS)?,
        columns,
        columns_left_out: measured.saturating_sub(COLUMNS) as u64,
        sources_left_out: (all.len() - largest.len()) as u64,
    })
}
