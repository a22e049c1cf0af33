//! Files on the way out: made beside their name, hashed while they are written, whole before anybody sees them.
//!
//! `output_file` judges what a name for a single file stands for, and makes the file;
//! `files` writes and hashes on a thread of its own; `sink` compresses on the way; `table` writes Parquet row groups;
//! `place` locks the directory in which files are made, proves what an earlier run left there, and syncs. What stands
//! in the files is not known here: training rows come from `epoch`, documents from `export`.

mod error;
mod files;
mod output_file;
mod place;
mod sink;
mod table;

pub(crate) use error::WriteError;
pub use files::ManifestFile;
pub(crate) use files::{HashedFile, Target, write_whole};
pub use output_file::{OutputError, OutputFile, OutputWriter};
pub(crate) use place::{LOCK_FILE, Lock, holds, is_taken, sync};
pub(crate) use sink::{Frame, Sink};
pub(crate) use table::TableFile;
