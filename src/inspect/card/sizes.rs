//! The part of a report about sizes: of the corpus or of the documents of a plan, with their groups, dates and
//! licences, and the spread of the corpus's numbers.

use super::largest::{Largest, Summable, largest};
use crate::inspect::{
    self, ColumnStats, DateRange, DocumentCounts, GroupStats, LicenceCount, SourceLanguageCounts,
    SourceSpread,
};
use model::{Error, SourceId};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use store::View;

/// Groups by source and language, and licences, that are listed, at most.
const GROUPS: usize = 100;
const LICENCES: usize = 20;

/// Columns whose distribution is reported by source, at most.
const COLUMNS: usize = 48;

/// How large a corpus is, before and after dedup and removals.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CardSizes {
    /// Counts of all stored documents.
    pub all: DocumentCounts,
    /// Counts of kept documents.
    pub kept: DocumentCounts,
    /// The same by source and language.
    pub groups: Largest<GroupStats>,
    /// Whether languages are not distinguished, because there would be more than 1,000 groups.
    pub is_by_source_alone: bool,
}

impl CardSizes {
    /// The sizes of groups that are counted; one group of several corpora is one.
    pub(super) fn of(counted: Vec<SourceLanguageCounts>) -> Self {
        let (mut all, mut kept) = (DocumentCounts::default(), DocumentCounts::default());
        let mut is_by_source_alone = false;
        let mut groups: BTreeMap<(String, Option<String>), GroupStats> = BTreeMap::new();
        for counts in counted {
            all.add(&counts.all);
            kept.add(&counts.kept);
            is_by_source_alone |= counts.is_by_source_alone;
            for group in counts.groups {
                let name = (group.source.clone(), group.language.clone());
                if let Some(sum) = groups.get_mut(&name) {
                    sum.add(&group);
                } else {
                    groups.insert(name, group);
                }
            }
        }
        let groups = largest(groups.into_values().collect(), GROUPS);
        Self { all, kept, groups, is_by_source_alone }
    }
}

/// What documents say of their dates and licences, in the metadata or in declared fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Provenance {
    /// The span of each declared time, and of the members `date`, `created`, `published` and `timestamp`.
    pub dates: Vec<DateRange>,
    /// The licences that they name (`license`, `licence` or `licenses`), most documents first.
    pub licences: Largest<LicenceCount>,
    /// Documents that name none.
    pub without_licence: u64,
}

/// What these documents say, each corpus with its own.
pub(super) fn provenance(of: &[(&View, RoaringTreemap)]) -> Result<Provenance, Error> {
    let (dates, licences) = inspect::provenance(of)?;
    let documents: u64 = of.iter().map(|(_, documents)| documents.len()).sum();
    let with: u64 = licences.iter().map(|it| it.documents).sum();
    Ok(Provenance {
        dates,
        licences: largest(licences, LICENCES),
        without_licence: documents.saturating_sub(with),
    })
}

/// Distributions of lengths and declared numbers: among all documents, and in the largest sources.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CardSpreads {
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
) -> Result<CardSpreads, Error> {
    let mut all: Vec<(Reverse<u64>, String, SourceId)> = view
        .sources()
        .filter(|(_, record)| record.kept > 0)
        .map(|(id, record)| (Reverse(record.kept), record.name.clone(), id))
        .collect();
    all.sort();
    let largest: Vec<SourceId> = all.iter().take(sources).map(|(_, _, id)| *id).collect();
    let measured = columns.len() / 2;
    Ok(CardSpreads {
        by_source: inspect::spread_by_source(view, &largest, COLUMNS)?,
        columns,
        columns_left_out: measured.saturating_sub(COLUMNS) as u64,
        sources_left_out: (all.len() - largest.len()) as u64,
    })
}
