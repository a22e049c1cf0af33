//! Counts what changed from one moment to a later one, in all and by group.

use super::changes::{ChangeReader, DocumentChange};
use super::changes::{LossKind, reason_name};
use super::moment::{SnapshotInfo, SnapshotState};
use crate::inspect::InspectError;
use crate::inspect::counts::{CountsSum, DocumentCounts, DocumentSizes};
use crate::inspect::groups::{DocumentGroups, GroupId};
use model::Standing;
use serde::Serialize;
use std::collections::BTreeMap;
use store::View;

/// What changed from one state to a later one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SnapshotDiff {
    /// The earlier state.
    pub earlier: SnapshotInfo,
    /// The later one.
    pub later: SnapshotInfo,
    /// How documents are grouped: by `source`, or by fields with commas between them, with the values that they have
    /// today, with ` / ` between them.
    pub by: String,
    /// All changes.
    #[serde(flatten)]
    pub all: SnapshotChanges,
    /// The changes of each group that has any; they sum up to all.
    pub groups: Vec<GroupChanges>,
}

/// Changes of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GroupChanges {
    /// The source, or the value of the field; `(none)` for documents without one.
    pub group: String,
    /// Its changes.
    #[serde(flatten)]
    pub changes: SnapshotChanges,
}

/// Documents by what changed. Kept later = kept earlier - `removed` + `kept_again` + `added`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SnapshotChanges {
    /// New documents that are kept.
    pub added: DocumentCounts,
    /// Stored documents that were not kept and now are.
    pub kept_again: DocumentCounts,
    /// Documents that were kept and no longer are.
    pub removed: DocumentCounts,
    /// The same by reason.
    pub removed_by: Vec<LossCounts>,
    /// New documents that are not kept.
    pub not_kept: DocumentCounts,
    /// The same by reason.
    pub not_kept_by: Vec<LossCounts>,
}

/// Documents that are not kept for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LossCounts {
    /// `exact`, `near`, `superseded`, `empty`, `blocked`, `removed`, `purged`, or `unknown` if the reason is no longer stored.
    pub reason: &'static str,
    /// Their counts.
    #[serde(flatten)]
    pub counts: DocumentCounts,
}

#[derive(Default)]
struct ChangeSums {
    added: CountsSum,
    kept_again: CountsSum,
    removed: CountsSum,
    removed_by: BTreeMap<LossKind, CountsSum>,
    not_kept: CountsSum,
    not_kept_by: BTreeMap<LossKind, CountsSum>,
}

/// What changed from the snapshot `from` to the snapshot `to`, or to the present moment, by source or by fields with
/// commas between them; a timestamp may have a unit behind it, as in `published:month`.
///
/// # Errors
/// [`InspectError::Backwards`] when `to` is the earlier one; [`InspectError::NoGroups`], [`InspectError::NoUnit`],
/// [`InspectError::GroupedTwice`], [`InspectError::TooManyGroups`];
/// [`InspectError`] for a snapshot that there is not, or when rows cannot be read.
pub fn snapshot_diff(
    view: &View,
    from: &str,
    to: Option<&str>,
    by: Option<&str>,
) -> Result<SnapshotDiff, InspectError> {
    let names: Vec<String> = by.iter().flat_map(|by| by.split(',')).map(str::to_owned).collect();
    let mut groups = DocumentGroups::by(view, &names)?;
    let mut sizes = DocumentSizes::new(view);
    let from = SnapshotState::named(view, Some(from))?;
    let mut changes = ChangeReader::between(view, from, SnapshotState::named(view, to)?)?;
    let mut all = ChangeSums::default();
    let mut of_groups: BTreeMap<GroupId, ChangeSums> = BTreeMap::new();
    while let Some((document, change)) = changes.next_change()? {
        let size = sizes.of(document)?;
        let of_group = of_groups.entry(groups.of(document)?).or_default();
        for sums in [&mut all, of_group] {
            match change {
                DocumentChange::Added => sums.added.add(&size),
                DocumentChange::KeptAgain => sums.kept_again.add(&size),
                DocumentChange::Removed(loss) => {
                    sums.removed.add(&size);
                    sums.removed_by.entry(loss.reason).or_default().add(&size);
                }
                DocumentChange::NotKept(loss) => {
                    sums.not_kept.add(&size);
                    sums.not_kept_by.entry(loss.reason).or_default().add(&size);
                }
            }
        }
    }
    let mut told = Vec::with_capacity(of_groups.len());
    for group in groups.in_order(of_groups.keys().copied())? {
        let changes = of_groups.get(&group).map(|sums| sums.changes(view)).unwrap_or_default();
        told.push(GroupChanges { group: groups.label(group)?, changes });
    }
    let (earlier, later) = changes.into_moments();
    Ok(SnapshotDiff {
        earlier,
        later,
        by: groups.names().join(","),
        all: all.changes(view),
        groups: told,
    })
}

impl ChangeSums {
    fn changes(&self, view: &View) -> SnapshotChanges {
        let by = |sums: &BTreeMap<LossKind, CountsSum>| {
            // None is the first of the map, and the last that is told.
            let reasons = Standing::ALL.into_iter().map(Some).chain([None]);
            let of = |reason| {
                let counts = sums.get(&reason)?.counts(view);
                Some(LossCounts { reason: reason_name(reason), counts })
            };
            reasons.filter_map(of).collect()
        };
        SnapshotChanges {
            added: self.added.counts(view),
            kept_again: self.kept_again.counts(view),
            removed: self.removed.counts(view),
            removed_by: by(&self.removed_by),
            not_kept: self.not_kept.counts(view),
            not_kept_by: by(&self.not_kept_by),
        }
    }
}
