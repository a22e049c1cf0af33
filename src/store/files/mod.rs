//! The files of a corpus beside RocksDB's own tables: the paths of its directory, the journal and the logs that it
//! names, scratch directories, the folder of outputs, and backups.

pub(in crate::store) mod backup_manifest;
pub(in crate::store) mod backup_place;
pub(in crate::store) mod backups;
pub(in crate::store) mod directory;
pub(in crate::store) mod held_folder;
pub(in crate::store) mod journal;
pub(in crate::store) mod manifest_note;
pub(in crate::store) mod outputs;
pub(in crate::store) mod record_log;
pub(in crate::store) mod scratch;
pub(in crate::store) mod wal;
