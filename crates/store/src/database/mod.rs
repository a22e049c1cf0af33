//! RocksDB as the store uses it, with typed families and reads.
//!
//! `family` says what a column family is, `tuning` how RocksDB treats it; `merge` has the merge operators, and
//! `page_cache` keeps the blocks that a read had to put together. `reads` is the pinned moment, and the only place with
//! a raw iterator; `whole_rows` reads beside damage; `compact` rewrites families in pieces.

pub(crate) mod compact;
pub(crate) mod family;
pub(crate) mod merge;
pub(crate) mod page_cache;
pub(crate) mod reads;
pub(crate) mod tuning;
pub(crate) mod whole_rows;

pub use reads::counted;
pub(crate) use reads::{Database, PinnedMoment, RowCursor};
