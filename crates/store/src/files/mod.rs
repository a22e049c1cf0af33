//! The files of a corpus beside RocksDB's own tables: paths, journal and logs, scratch directories, outputs, backups.
//!
//! `directory` has the paths, the format line and the writer's lock; `held_folder` is the folder as its writer opened
//! it. `journal`, `wal`, `record_log` and `manifest_note` notice what was lost. `backups` are files under their hashes
//! with a manifest for each moment (`backup_manifest`) in a `backup_place`: a directory, or a bucket, which the package
//! above hands in and the store does not know.

pub(crate) mod backup_manifest;
pub(crate) mod backup_place;
pub(crate) mod backups;
pub(crate) mod directory;
pub(crate) mod held_folder;
pub(crate) mod journal;
pub(crate) mod manifest_note;
pub(crate) mod outputs;
pub(crate) mod process;
pub(crate) mod record_log;
pub(crate) mod scratch;
pub(crate) mod wal;
