//! Decisions about documents (matches, lineage, blocks), the families that find documents to decide about (hashes,
//! buckets), and the generation of a policy that is filled beside the current one.

pub(crate) mod bands;
pub(crate) mod blocks;
pub(crate) mod generations;
pub(crate) mod hashes;
pub(crate) mod lineage;
pub(crate) mod matches;
