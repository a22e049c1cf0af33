//! The small records of a corpus and what goes with them, one file for each family or two that belong together.

pub(in crate::store) mod commits;
pub(in crate::store) mod contamination;
pub(in crate::store) mod outputs;
pub(in crate::store) mod plans;
pub(in crate::store) mod rejects;
pub(in crate::store) mod removals;
pub(in crate::store) mod snapshots;
pub(in crate::store) mod sources;
pub(in crate::store) mod suites;
pub(in crate::store) mod tokenizers;
