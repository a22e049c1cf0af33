//! Reports on what dedup did, without SQL.
//!
//! `pairs` lists removed documents beside their witnesses; `summary` counts them, with `losses`, `histogram` and
//! `cluster_sizes`; `matrix` counts them by group of document and witness; `near` shows where two texts begin to
//! differ; `clusters` shows one document among its duplicates; `similar` looks a text up in the index; `policy_cost`
//! says what a policy detects and costs; `sweep` has the options and the report of what other thresholds and shingle sizes
//! would remove. `craft` alone knows sketches and buckets.

pub(in crate::inspect) mod candidates;
mod counts;
mod diff;
mod document;
mod excerpts;
mod matrix;
mod policy_cost;
mod similar;
mod summary;
mod sweep;

pub use counts::{ClusterSizes, LossShare, PairShare, Similarities, SimilarityBin};
pub use diff::{DiffPart, diff};
pub use document::DocumentBlocker;
pub(super) use document::blockers;
pub use document::{ClosePair, ClusterMembers, DocumentDuplicates, document_duplicates};
pub(super) use excerpts::beginning;
pub use excerpts::diff_near;
pub use matrix::{DuplicatesMatrix, GroupLoss, GroupPair, duplicates_matrix};
pub use policy_cost::{
    CandidateSample, DedupExplanation, DetectionLine, FamilyBytes, PolicyChange, StoredBytes,
    explain_dedup, explain_policy,
};
pub use similar::{SimilarDocument, SimilarOptions, SimilarReport, SimilarTo, similar};
pub use summary::{
    ClusterSource, DuplicatesOptions, DuplicatesSummary, ExamplePair, LargeCluster, RemovedCount,
    SourceLoss, SourcePair, duplicates_summary,
};
pub use sweep::{DedupSweep, SimilarityQuartiles, SweepLine, SweepOptions, SweepRemovals};
