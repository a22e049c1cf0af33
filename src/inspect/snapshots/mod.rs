//! Reports on snapshots: what one holds, and what became of documents between two moments.
//!
//! `moment` finds the moment of a name; `changes` walks over the documents whose state differs in the later moment,
//! with the reasons that `reasons` reads as they were then; `diff` counts the documents by group, `listed` names each;
//! `show` counts what one snapshot keeps. Only documents that differ are read, and the
//! bitmaps of kept ones.

pub(in crate::inspect) mod changed_documents;
mod changes;
mod diff;
mod moment;
mod show;

pub(crate) use changed_documents::snapshot_changes;
pub use changed_documents::{ChangedDocument, ChangedDocuments};
pub(in crate::inspect) use changes::LossReasonReader;
pub(crate) use diff::snapshot_diff;
pub use diff::{GroupChanges, LossCounts, SnapshotChanges, SnapshotDiff};
pub use moment::SnapshotInfo;
pub(in crate::inspect) use moment::SnapshotState;
pub(crate) use show::show_snapshot;
pub use show::{SnapshotDetails, SnapshotSource};
