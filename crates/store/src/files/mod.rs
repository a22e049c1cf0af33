//! The files of a corpus beside RocksDB's own tables: the paths of its directory, the journal and the logs that it
//! names, scratch directories, the folder of outputs, and backups.

pub(crate) mod backup_manifest;
pub(crate) mod backup_place;
pub(crate) mod backups;
pub(crate) mod directory;
pub(crate) mod held_folder;
pub(crate) mod journal;
pub(crate) mod manifest_note;
pub(crate) mod outputs;
pub(crate) mod record_log;
pub(crate) mod scratch;
pub(crate) mod wal;
