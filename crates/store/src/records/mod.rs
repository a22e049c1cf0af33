//! The small records of a corpus and what goes with them, one file for each family or two that belong together.

pub(crate) mod commits;
pub(crate) mod contamination;
pub(crate) mod outputs;
pub(crate) mod plans;
pub(crate) mod rejects;
pub(crate) mod removals;
pub(crate) mod snapshots;
pub(crate) mod sources;
pub(crate) mod suites;
pub(crate) mod tokenizers;
