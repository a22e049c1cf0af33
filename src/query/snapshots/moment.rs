//! The moment that a name stands for: a snapshot, or the present.

use crate::query::error::QueryError;
use model::{CommitSeq, Generation};
use roaring::RoaringTreemap;
use serde::Serialize;
use store::{StoreError, View};

/// What the present moment is called, where no snapshot has this name.
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

/// A moment with what is kept in it.
pub(in crate::query) struct Moment {
    pub(in crate::query) told: SnapshotMoment,
    /// The policy generation that was current.
    pub(in crate::query) generation: Generation,
    pub(in crate::query) kept: RoaringTreemap,
}

impl Moment {
    /// The snapshot of that name; without one, or for `now` where no snapshot is called so, the present moment.
    pub(in crate::query) fn named(view: &View, name: Option<&str>) -> Result<Self, QueryError> {
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

    /// Policy generation and commit: rows up to these are what it shows.
    pub(in crate::query) const fn at(&self) -> (Generation, CommitSeq) {
        (self.generation, CommitSeq(self.told.commit))
    }
}

/// The documents that a snapshot keeps.
///
/// # Errors
/// [`StoreError::Unknown`], with those that there are.
pub fn kept_in(view: &View, snapshot: &str) -> Result<RoaringTreemap, StoreError> {
    view.snapshot_kept(&view.expect_snapshot(snapshot)?.name)
}
