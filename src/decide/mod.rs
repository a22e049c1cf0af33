//! Decides which documents are kept, for ingests and for every later change of mind.
//!
//! A [`DecisionSession`] decides within one commit. First everything that comes and goes is registered: newcomers,
//! superseded, removed and restored documents. Then [`DecisionSession::settle`] decides what follows, and
//! [`CommitDecisions::apply`] writes the outcome into the batch. So standing is a function of the eligible documents
//! and the policy, not of the order or the commits in which they came.
//!
//! * `decision`: the types; `overlay`: the store as it will be after the decisions made so far; `view_ranker`: ranks of
//!   stored documents;
//! * `text_leaders`: the exact rows, while documents come and go;
//! * `crowd`: the kept members of crowded buckets; `cluster_crowd`: the crowd of mode `components`, which holds
//!   clusters in part (`cluster_labels`); `writer_cache`: what a commit leaves of it in memory for the next;
//! * `buckets`: keys and members; `crowd_search`: candidates of crowded buckets, also of those that memory does not
//!   hold; `candidates`: all candidates, with estimate and verification;
//! * `session`: what comes and goes; `witness_mode`: modes `witness` and `exact`; `component_mode`: modes `components`
//!   and `lsh`, with `cluster_links` through crowded buckets; `import`: decisions that were made elsewhere;
//! * `lineage`: whose place each document took; `successors`: lineage of documents that depart as a similar one comes;
//! * `apply`: the outcome, written into the batch; `marks`: of decisions that left candidates out;
//! * `blocklist`: what removals by the user keep out;
//! * `encode`: ids and trained tokens, of newcomers and of what is kept again.
//!
//! A session is made of parts (`Overlay`, `Agenda`, `CandidateFinder`, `TextLeaders`, `OpenMarks`, `ImportState`,
//! counts), and a method belongs to the part that it changes. `CommitDecisions` can be read and not changed; applying
//! consumes it and gives `AppliedDecisions` for reports.

mod apply;
mod blocklist;
mod buckets;
mod candidates;
mod cluster_crowd;
mod cluster_labels;
mod cluster_links;
mod component_mode;
mod crowd;
mod crowd_search;
#[cfg(test)]
mod crowd_tests;
mod decision;
mod encode;
mod fingerprints;
mod import;
mod lineage;
mod marks;
mod overlay;
mod session;
mod successors;
mod text_leaders;
mod view_ranker;
mod witness_mode;
mod writer_cache;

pub use apply::{decide, decide_reranked};
pub use blocklist::{BlockExtent, BlockKeys, BlockReach, Blocklist};
pub(crate) use decision::check_removal;
pub use decision::{Decision, DecisionCounts, ImportContext, ImportedDecision, Newcomer};
pub use encode::{
    EncodedBatch, EncodedText, LoadedTokenizer, PIECE, RefusedTexts, encode_again, encode_document,
    encode_placed, encode_text, store_encoded,
};
pub use fingerprints::{print_of, stored_fingerprint, stored_sketch};
pub use import::InvalidDecision;
pub use lineage::Lineages;
pub use session::{CommitDecisions, DecisionSession, Orphans};
pub use view_ranker::{MemberSorter, RankNumbers, ViewRanker};
