//! The files of a corpus beside RocksDB's own tables: where they are, the journal and the logs that it names, and
//! directories of links made for a while.

pub(super) mod directory;
pub(super) mod grown;
pub(super) mod held;
pub(super) mod journal;
pub(super) mod logs;
pub(super) mod scratch;
pub(super) mod twin;
