//! Resolves the name of a moment: a snapshot, or the present.

use crate::sql::QueryError;
use model::{CommitSeq, Generation};
use roaring::RoaringTreemap;
use serde::Serialize;
use store::View;

/// The name of the present moment, where no snapshot has it.
const NOW: &str = "now";

/// One of the two states that are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SnapshotMoment {
    /// The name of the snapshot; `now` for the last commit.
    pub name: String,
    /// Its commit.
    pub commit: u64,
    /// Documents stored then.
    pub documents: u64,
    /// Documents kept then, without those purged since.
    pub kept: u64,
    /// Documents kept then that have been purged since.
    pub purged: u64,
}

/// A moment with the documents that it keeps.
pub(in crate::inspect) struct SnapshotState {
    pub(in crate::inspect) told: SnapshotMoment,
    /// The policy generation that was in force.
    pub(in crate::inspect) generation: Generation,
    pub(in crate::inspect) kept: RoaringTreemap,
}

impl SnapshotState {
    /// The snapshot of that name; without a name, or for `now` where no snapshot has that name, the present moment.
    pub(in crate::inspect) fn named(view: &View, name: Option<&str>) -> Result<Self, QueryError> {
        let record = match name {
            None => None,
            Some(NOW) => view.snapshot(NOW)?,
            Some(name) => Some(view.expect_snapshot(name)?),
        };
        let Some(record) = record else {
            let kept = view.kept()?;
            let (commit, documents) = (view.commit().0, view.documents());
            let name = NOW.to_owned();
            let told = SnapshotMoment { name, commit, documents, kept: kept.len(), purged: 0 };
            return Ok(Self { told, generation: view.generation(), kept });
        };
        let kept = view.snapshot_kept(&record.name)?;
        let told = SnapshotMoment {
            name: record.name,
            commit: record.commit,
            documents: record.documents,
            kept: record.kept,
            purged: record.purged,
        };
        Ok(Self { told, generation: Generation(record.generation), kept })
    }

    /// The policy generation and commit of the moment: later rows are not part of it.
    pub(in crate::inspect) const fn at(&self) -> (Generation, CommitSeq) {
        (self.generation, CommitSeq(self.told.commit))
    }
}
