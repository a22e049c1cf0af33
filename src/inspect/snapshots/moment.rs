//! Resolves the name of a moment: a snapshot, or the present.

use crate::inspect::InspectError;
use model::{CommitSeq, Generation};
use roaring::RoaringTreemap;
use serde::Serialize;
use store::{SnapshotRecord, View};

/// The name of the present moment, where no snapshot has it.
const NOW: &str = "now";

/// A snapshot, or the present moment: its commit and counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SnapshotInfo {
    /// The name of the snapshot; `now` for the present moment.
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

impl From<SnapshotRecord> for SnapshotInfo {
    fn from(record: SnapshotRecord) -> Self {
        Self {
            name: record.name,
            commit: record.commit,
            documents: record.documents,
            kept: record.kept,
            purged: record.purged,
        }
    }
}

/// A moment with the documents that it keeps.
pub(in crate::inspect) struct SnapshotState {
    pub(in crate::inspect) info: SnapshotInfo,
    /// The policy generation that was in force.
    pub(in crate::inspect) generation: Generation,
    pub(in crate::inspect) kept: RoaringTreemap,
}

impl SnapshotState {
    /// The snapshot of that name; without a name, or for `now` where no snapshot has that name, the present moment.
    pub(in crate::inspect) fn named(view: &View, name: Option<&str>) -> Result<Self, InspectError> {
        let record = match name {
            None => None,
            Some(NOW) => view.snapshot(NOW)?,
            Some(name) => Some(view.expect_snapshot(name)?),
        };
        let Some(record) = record else {
            let kept = view.kept()?;
            let (commit, documents) = (view.commit().0, view.documents());
            let name = NOW.to_owned();
            let info = SnapshotInfo { name, commit, documents, kept: kept.len(), purged: 0 };
            return Ok(Self { info, generation: view.generation(), kept });
        };
        let kept = view.snapshot_kept(&record.name)?;
        let generation = Generation(record.generation);
        Ok(Self { info: record.into(), generation, kept })
    }

    /// The policy generation and commit of the moment: later rows are not part of it.
    pub(in crate::inspect) const fn at(&self) -> (Generation, CommitSeq) {
        (self.generation, CommitSeq(self.info.commit))
    }
}
