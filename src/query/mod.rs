//! Looking: selections, SQL, samples, single documents, duplicates, and a summary of the corpus.
//!
//! [`sql`] answers expressions and statements from the indexes and, for the rest, an engine; `duplicates` is what dedup
//! did, pair by pair, by cluster and in numbers; `show`, `sample` and `info` look at one document, some, and all;
//! `format` prints. Nothing here writes, and all of it reads one [`View`](crate::store::View).
//!
//! Not for ingest or dedup: they read the store's indexes themselves.

mod duplicates;
mod error;
mod format;
mod info;
mod keys;
mod policy_settings;
mod relations;
mod sample;
mod show;
mod sql;
#[cfg(test)]
mod tests;

pub use duplicates::{
    CandidateSample, ClosePair, ClusterMembers, ClusterSizes, ClusterSource, DedupExplanation,
    DetectionLine, DiffPart, DocumentDuplicates, DuplicatePair, Duplicates, DuplicatesOptions,
    DuplicatesSummary, ExamplePair, FamilyBytes, LargeCluster, PolicyChange, RemovedCount,
    ShownBlocker, SimilarDocument, SimilarOptions, SimilarReport, SimilarTo, Similarities,
    SimilarityBin, SourceLoss, SourcePair, StoredBytes, diff, document_duplicates, duplicates,
    duplicates_summary, explain_dedup, explain_policy, similar,
};
pub use error::QueryError;
pub use format::{Format, Printer};
pub use info::{
    CommitInfo, DiskInfo, EpochInfo, FieldInfo, Info, SnapshotInfo, SourceInfo, StandingCount,
    TokenizerInfo, info,
};
pub use keys::find_key;
pub use policy_settings::{PolicySetting, policy_settings};
pub use sample::sample;
pub use show::{Cluster, Shown, ShownDocuments, ShownMatch, ShownTemplate, documents, show};
pub use sql::{Dependence, Rows, count, dependence, numbers, select, sql, texts};
