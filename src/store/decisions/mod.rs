//! Decisions about documents (matches, lineage, blocks), the families that find documents to decide about (hashes,
//! buckets), and the generation of a policy that is filled beside the current one.

pub(in crate::store) mod bands;
pub(in crate::store) mod blocks;
pub(in crate::store) mod generations;
pub(in crate::store) mod hashes;
pub(in crate::store) mod lineage;
pub(in crate::store) mod matches;
