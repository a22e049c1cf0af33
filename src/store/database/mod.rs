//! RocksDB as the store uses it: tuning, merge operators and what they made, a pinned moment with typed reads, checked
//! iteration, compaction.

pub(super) mod compact;
#[cfg(test)]
pub(crate) mod counted;
pub(super) mod merge;
pub(super) mod merged;
mod pinned;
mod scan;
pub(super) mod tuning;

pub(super) use pinned::{Pinned, family};
pub(super) use scan::Rows;
