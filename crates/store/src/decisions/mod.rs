//! Decisions about documents, the families by which documents to decide about are found, and generations of a policy.
//!
//! Decisions are matches, lineage and blocks; documents are found by hashes and buckets; a generation is filled beside
//! the current one.

pub(crate) mod bands;
pub(crate) mod blocks;
pub(crate) mod generations;
pub(crate) mod hashes;
pub(crate) mod lineage;
pub(crate) mod matches;
