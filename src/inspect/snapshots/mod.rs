//! Reports on snapshots: what one holds, and what became of documents between two moments.
//!
//! `moment` finds the moment of a name; `changes` walks over the documents whose state differs in the later moment,
//! with the reasons that `reasons` reads as they were then; `diff` counts the documents by group, `listed` names each;
//! `show` counts what one snapshot keeps. `counts` sums sizes for both. Only documents that differ are read, and the
//! bitmaps of kept ones.

mod changes;
mod counts;
mod diff;
mod listed;
mod moment;
mod reasons;
mod show;

pub use counts::DocumentCounts;
pub(crate) use diff::snapshot_diff;
pub use diff::{GroupChanges, LossCounts, SnapshotChanges, SnapshotDiff};
pub(crate) use listed::snapshot_changes;
pub use listed::{ChangedDocument, ChangedDocuments};
pub(in crate::inspect) use moment::Moment;
pub use moment::SnapshotMoment;
pub(in crate::inspect) use reasons::Reasons;
pub(crate) use show::show_snapshot;
pub use show::{SnapshotDetails, SnapshotSource};
