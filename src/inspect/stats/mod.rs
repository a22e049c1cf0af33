//! A corpus in numbers: sizes by group, lengths, spreads of numbers, losses and rejects.
//!
//! `scope` says which documents are examined. `groups` counts them by source and language, `lengths` by length;
//! `spread` finds quantiles of declared numbers, and `by_source` those of each source; `losses` says why documents are
//! not kept, `rejected` why records were not read, and `misfits` which values are of another type than their field.
//! These read columns and bitmaps block by block and no text, and metadata where fields are declared. `quality` says
//! what published rules would remove; it reads texts where their scores are not stored.

mod by_source;
mod groups;
mod lengths;
mod losses;
mod misfits;
mod quality;
pub(in crate::inspect) mod rejects;
mod scope;
mod spread;

pub(crate) use by_source::spread_by_source;
pub use by_source::{SourceLengths, SourceSpread};
pub use groups::GroupStats;
pub(crate) use groups::SourceLanguageCounts;
pub(crate) use lengths::lengths;
pub use lengths::{DocumentLengthBin, LengthStats};
pub use losses::LossStats;
pub use misfits::MisfitStats;
pub(crate) use quality::quality;
pub use quality::{
    QualityExample, QualityOptions, QualityReport, QualityRule, QualityScore, QualitySource,
    QualityThreshold,
};
pub(crate) use rejects::reject_reasons;
pub use rejects::{RejectReasonGroup, RejectStats};
pub use spread::{ColumnStats, StatsValue};

use super::snapshots::{SnapshotInfo, SnapshotState};
use crate::inspect::InspectError;
use crate::inspect::counts::DocumentCounts;
use crate::sql::DocumentFilter;
use model::SourceId;
use roaring::RoaringTreemap;
use scope::StatsScope;
use serde::Serialize;
use std::collections::BTreeMap;
use store::View;

/// Sources whose lengths are shown, at most: every four take a few passes over a column.
const SOURCES: usize = 12;

/// A corpus in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Stats {
    /// The snapshot that was counted; `now` without one.
    pub moment: SnapshotInfo,
    /// The condition, as it was given.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// The source asked for.
    pub source: Option<String>,
    /// Counts of all documents.
    pub all: DocumentCounts,
    /// Counts of kept documents.
    pub kept: DocumentCounts,
    /// The same by source and language.
    pub groups: Vec<GroupStats>,
    /// How long kept documents are, in tokens of the first tokenizer, or in bytes: of the twelve sources that have most.
    pub lengths: Vec<SourceLengths>,
    /// Whether languages are not distinguished, because there would be more than 1,000 groups.
    pub is_by_source_alone: bool,
    /// Lengths and declared numbers: of all documents, and of those that are kept.
    pub columns: Vec<ColumnStats>,
    /// Why documents are not kept, by source.
    pub losses: Vec<LossStats>,
    /// Values of declared fields that are of another type, and so null; fields without any are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misfits: Vec<MisfitStats>,
    /// Why records were not read, by source; none with a condition or a snapshot, since they are not documents.
    pub rejects: Vec<RejectStats>,
}

/// The corpus of `view` in numbers. They are exact, and a function of the commit and the filter. Beside bitmaps of
/// documents it holds some 6 MB a thread: a quantile is found by counting values in 65,536 ranges, again within the
/// range that has it, until that is one value.
///
/// # Errors
/// [`InspectError`] for a condition, source or snapshot that cannot be used, or when rows cannot be read.
pub fn stats(view: &View, filter: &DocumentFilter) -> Result<Stats, InspectError> {
    let moment = SnapshotState::named(view, filter.snapshot.as_deref())?;
    let scope = StatsScope::new(view, filter, &moment)?;
    let counted = groups::count(&scope)?;
    let largest = largest(view, &counted.groups)?;
    let has_rejects = filter.condition.is_none() && filter.snapshot.is_none();
    Ok(Stats {
        condition: filter.condition.clone(),
        source: filter.source.clone(),
        all: counted.all,
        kept: counted.kept,
        groups: counted.groups,
        lengths: by_source::source_lengths(&scope, &largest)?,
        is_by_source_alone: counted.is_by_source_alone,
        columns: spread::columns(&scope)?,
        losses: losses::losses(&scope, &moment, filter.snapshot.is_some())?,
        misfits: misfits::misfits(&scope)?,
        rejects: match has_rejects {
            true => rejects::rejected(view, filter.source.as_deref())?,
            false => Vec::new(),
        },
        moment: moment.info,
    })
}

/// These documents by source and language, whatever has become of them; as `kept` those that still are.
///
/// # Errors
/// [`InspectError`] when rows cannot be read.
pub(crate) fn group_counts(
    view: &View,
    documents: RoaringTreemap,
) -> Result<SourceLanguageCounts, InspectError> {
    let moment = SnapshotState::named(view, None)?;
    groups::count(&StatsScope::of(view, documents, &moment))
}

/// The sources with most kept documents, most first.
fn largest(view: &View, groups: &[GroupStats]) -> Result<Vec<SourceId>, InspectError> {
    let mut kept: BTreeMap<&str, u64> = BTreeMap::new();
    groups.iter().for_each(|it| *kept.entry(&it.source).or_default() += it.kept.documents);
    let mut kept: Vec<(&str, u64)> = kept.into_iter().filter(|(_, kept)| *kept > 0).collect();
    kept.sort_by_key(|(_, kept)| std::cmp::Reverse(*kept));
    kept.into_iter().take(SOURCES).map(|(name, _)| Ok(view.expect_source(name)?.0)).collect()
}
