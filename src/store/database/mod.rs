//! RocksDB as the store uses it: what a family is, tuning, merge operators and what they made, a pinned moment with
//! typed reads and checked iteration, rows beside damaged ones, compaction.

pub(in crate::store) mod compact;
pub(in crate::store) mod family;
pub(in crate::store) mod merge;
pub(in crate::store) mod page_cache;
pub(in crate::store) mod reads;
pub(in crate::store) mod tuning;
pub(in crate::store) mod whole_rows;

#[cfg(test)]
pub(crate) use reads::counted;
pub(in crate::store) use reads::{Database, PinnedMoment, RowCursor};
