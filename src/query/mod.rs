//! Looking: selections, SQL, samples, single documents, duplicates, and a summary of the corpus.
//!
//! A SQL boolean expression or statement is planned by DataFusion (`session`). What the indexes can
//! answer exactly of it becomes a tree over bitmaps and columns (`predicate`, `ranges`), evaluated
//! block by block (`evaluate`); the rest is left to the engine. `provider` and `columns` produce the
//! rows of the table `documents`, `small_tables` those of the others, both through the one plan node
//! of `scan`. What dedup did is looked at without SQL: `duplicates` pair by pair, `summary` in numbers,
//! `clusters` around one document; `similar` asks the index about a text, `explain` what a policy comes to;
//! `craft` is all they know of sketches and buckets. Nothing here writes, and all of it reads one [`View`](crate::store::View).
//!
//! Not for ingest or dedup: they read the store's indexes themselves.

mod blockers;
mod catalogue;
mod cluster_sizes;
mod clusters;
mod columns;
mod craft;
mod diff;
mod duplicates;
mod error;
mod evaluate;
mod excerpt;
mod explain;
mod format;
mod groups;
mod growing;
mod histogram;
mod info;
mod keys;
mod limits;
mod metered;
mod nesting;
mod parser;
mod policy;
mod pool;
mod predicate;
mod present;
mod provider;
mod ranges;
mod rejects;
mod relations;
mod runtime;
mod sample;
mod scan;
mod schema;
mod select;
mod session;
mod show;
mod similar;
mod small_tables;
mod source_runs;
mod statement;
mod summary;
#[cfg(test)]
mod tests;
mod values;

pub use blockers::ShownBlocker;
pub use cluster_sizes::ClusterSizes;
pub use clusters::{ClosePair, ClusterMembers, DocumentDuplicates, document_duplicates};
pub use diff::{DiffPart, diff};
pub use duplicates::{DuplicatePair, duplicates, for_each_duplicate};
pub use error::QueryError;
pub use explain::{
    CandidateSample, DedupExplanation, DetectionLine, FamilyBytes, PolicyChange, StoredBytes,
    explain_dedup, explain_policy,
};
pub use format::{Format, Printer};
pub use histogram::{Similarities, SimilarityBin};
pub use info::{
    CommitInfo, DiskInfo, EpochInfo, FieldInfo, Info, SnapshotInfo, SourceInfo, StandingCount,
    TokenizerInfo, info,
};
pub use keys::find_key;
pub use policy::{PolicySetting, policy_settings};
pub use present::{Dependence, dependence};
pub use sample::sample;
pub use select::{count, select};
pub use show::{Cluster, Shown, ShownMatch, ShownTemplate, show};
pub use similar::{SimilarDocument, SimilarOptions, SimilarReport, SimilarTo, similar};
pub use statement::sql;
pub use summary::{
    ClusterSource, DuplicatesOptions, DuplicatesSummary, ExamplePair, LargeCluster, RemovedCount,
    SourceLoss, SourcePair, duplicates_summary,
};
pub use values::{numbers, texts};
