//! The matrix of duplicates: how many documents of each group were removed in favour of each group.

use super::counts::{LossShare, PairShare, RemovedCounts, lost, pair_counts};
use crate::inspect::InspectError;
use crate::inspect::groups::{DocumentGroups, GroupId, GroupTotal};
use crate::sql::SqlError;
use arrow::array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::View;

/// How many documents of each group were removed, and which group their witnesses are in.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DuplicatesMatrix {
    /// What the groups are by: `source`, a field, or a timestamp with its unit; several make a group together.
    pub by: Vec<String>,
    /// The one source whose documents are counted; absent: all. Witnesses are of any source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How many documents are counted, kept or not.
    pub documents: u64,
    /// Of these, exact and near duplicates.
    pub removed: u64,
    /// Every group of the counted documents, in the order of their values: the rows of the matrix.
    pub groups: Vec<GroupLoss>,
    /// The values of every group of a witness, in their order: the columns.
    pub witness_groups: Vec<Vec<Option<String>>>,
    /// Every pair of groups that there is, in the order of the rows and then of the columns.
    pub cells: Vec<GroupPair>,
}

/// What duplicates take from a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GroupLoss {
    /// Its values, one for each of `by`; none where documents have none.
    pub group: Vec<Option<String>>,
    /// What it lost.
    #[serde(flatten)]
    pub loss: LossShare,
}

/// Duplicates of one group whose witnesses are in one group.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GroupPair {
    /// The values of the removed documents, one for each of `by`.
    pub group: Vec<Option<String>>,
    /// Those of their witnesses.
    pub witness_group: Vec<Option<String>>,
    /// What was removed.
    #[serde(flatten)]
    pub removed: PairShare,
}

/// Duplicates by group, of all documents or of those of one source: from matches, columns and terms; no document is
/// read.
///
/// # Errors
/// [`InspectError`], [`InspectError::NoGroups`], [`InspectError::NoUnit`] and [`InspectError::GroupedTwice`] for what
/// cannot be counted by; [`InspectError::TooManyGroups`] and [`InspectError::TooManyPairs`]; [`InspectError`] when a
/// row cannot be read.
pub fn duplicates_matrix(
    view: &View,
    by: &[String],
    source: Option<&str>,
) -> Result<DuplicatesMatrix, InspectError> {
    let only = source.map(|name| view.expect_source(name)).transpose()?.map(|(id, _)| id);
    let mut groups = DocumentGroups::by(view, by)?;
    let totals = groups.totals(only)?;
    let pairs = pair_counts(view, &mut groups, only, |_| ())?;
    let lost = lost(&pairs);
    let mut told = Vec::with_capacity(totals.len());
    for group in groups.in_order(totals.keys().copied())? {
        let total = totals.get(&group).copied().unwrap_or_default();
        let lost = lost.get(&group).copied().unwrap_or_default();
        told.push(GroupLoss { group: groups.values(group)?, loss: LossShare::of(lost, total) });
    }
    Ok(DuplicatesMatrix {
        by: groups.names(),
        source: source.map(str::to_owned),
        documents: totals.values().map(|total| total.documents).sum(),
        removed: lost.values().map(|lost| lost.documents).sum(),
        groups: told,
        witness_groups: groups
            .in_order(pairs.keys().map(|(_, witness)| *witness).collect::<BTreeSet<_>>())?
            .into_iter()
            .map(|group| groups.values(group))
            .collect::<Result<_, _>>()?,
        cells: cells(&groups, &totals, pairs)?,
    })
}

fn cells(
    groups: &DocumentGroups<'_>,
    totals: &BTreeMap<GroupId, GroupTotal>,
    pairs: BTreeMap<(GroupId, GroupId), RemovedCounts>,
) -> Result<Vec<GroupPair>, InspectError> {
    let met: BTreeSet<GroupId> =
        pairs.keys().flat_map(|(group, witness)| [*group, *witness]).collect();
    let mut places = BTreeMap::new();
    for (place, group) in groups.in_order(met)?.into_iter().enumerate() {
        places.insert(group, (place, groups.values(group)?));
    }
    let mut found = Vec::with_capacity(pairs.len());
    for ((group, witness), count) in pairs {
        let total = totals.get(&group).copied().unwrap_or_default();
        let (Some(group), Some(witness)) = (places.get(&group), places.get(&witness)) else {
            continue;
        };
        let cell = GroupPair {
            group: group.1.clone(),
            witness_group: witness.1.clone(),
            removed: PairShare::of(count, total),
        };
        found.push(((group.0, witness.0), cell));
    }
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, cell)| cell).collect())
}

impl DuplicatesMatrix {
    /// The cells as a table: the values of the removed documents under the names of `by`, those of the witnesses under
    /// these names with `witness_` before them, then the counts.
    ///
    /// # Errors
    /// [`InspectError`] when the table cannot be made.
    pub fn to_record_batch(&self) -> Result<RecordBatch, InspectError> {
        let mut columns: Vec<(String, ArrayRef)> = Vec::new();
        let texts = |of: &dyn Fn(&GroupPair) -> Option<Option<String>>| -> ArrayRef {
            Arc::new(self.cells.iter().map(|cell| of(cell).flatten()).collect::<StringArray>())
        };
        for (at, name) in self.by.iter().enumerate() {
            columns.push((name.clone(), texts(&|cell| cell.group.get(at).cloned())));
        }
        for (at, name) in self.by.iter().enumerate() {
            let witness = texts(&|cell| cell.witness_group.get(at).cloned());
            columns.push((format!("witness_{name}"), witness));
        }
        let counts = |of: fn(&GroupPair) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(self.cells.iter().map(of)))
        };
        let shares = |of: fn(&GroupPair) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(self.cells.iter().map(of)))
        };
        let counted = [
            ("documents", counts(|cell| cell.removed.documents)),
            ("exact", counts(|cell| cell.removed.exact)),
            ("bytes", counts(|cell| cell.removed.bytes)),
            ("share", shares(|cell| cell.removed.share)),
            ("share_bytes", shares(|cell| cell.removed.share_bytes)),
        ];
        columns.extend(counted.map(|(name, column)| (name.to_owned(), column)));
        let values = 2 * self.by.len();
        let field = |(at, (name, column)): (usize, &(String, ArrayRef))| {
            Field::new(name, column.data_type().clone(), at < values)
        };
        let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        RecordBatch::try_new(Arc::new(schema), columns)
            .map_err(|error| SqlError::arrow(error).into())
    }
}
