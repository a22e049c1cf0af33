//! Looking: selections, SQL, samples, single documents, duplicates, and a summary of the corpus.
//!
//! A SQL boolean expression or statement is planned by DataFusion (`session`). What the indexes can
//! answer exactly of it becomes a tree over bitmaps and columns (`predicate`, `ranges`), evaluated
//! block by block (`evaluate`); the rest is left to the engine. `provider` and `columns` produce the
//! rows of the table `documents`, `small_tables` those of the others, both through the one plan node
//! of `scan`. Nothing here writes, and all of it reads one [`View`](crate::store::View).
//!
//! Not for ingest or dedup: they read the store's indexes themselves.

mod columns;
mod diff;
mod duplicates;
mod error;
mod evaluate;
mod format;
mod info;
mod keys;
mod predicate;
mod provider;
mod ranges;
mod relations;
mod runtime;
mod sample;
mod scan;
mod schema;
mod select;
mod session;
mod show;
mod small_tables;
mod statement;
#[cfg(test)]
mod tests;

pub use diff::{DiffPart, diff};
pub use duplicates::{DuplicatePair, duplicates};
pub use error::QueryError;
pub use format::{Format, Printer};
pub use info::{
    CommitInfo, DiskInfo, EpochInfo, FieldInfo, Info, SnapshotInfo, SourceInfo, StandingCount,
    TokenizerInfo, info,
};
pub use keys::find_key;
pub use sample::sample;
pub use select::{count, select};
pub use show::{Cluster, Shown, ShownMatch, show};
pub use statement::sql;
