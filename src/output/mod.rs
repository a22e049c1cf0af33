//! Files on the way out: rows in record batches become groups, groups files; a file is made beside its name, hashed
//! while it is written, and whole before anybody sees it.
//!
//! `output_file` judges what a name for a single file stands for, and makes the file;
//! `files` writes and hashes on a thread of its own; `compression` compresses on the way; `format` says what a format
//! is, and `formats` has each of them in a file; `shards` cuts rows into groups and files;
//! `place` locks the directory in which files are made, proves what an earlier run left there, and syncs. Where rows
//! come from is not known here: training rows come from `epoch`, documents from `export`, answers from `query`.

mod compression;
mod error;
mod files;
mod format;
mod formats;
mod output_file;
mod place;
mod shards;

pub use compression::OutputCompression;
pub(crate) use compression::{CompressedFile, FileOutput};
pub(crate) use error::WriteError;
pub use files::ManifestFile;
pub(crate) use files::{HashedFile, Target, write_whole};
pub(crate) use format::{FileSpec, OutputFormat, ShardFile, TableColumns, TableFormat};
pub use formats::FormatName;
pub(crate) use formats::{TableFile, csv_header, csv_rows, json_rows};
pub use output_file::{OutputError, OutputFile, OutputWriter};
pub(crate) use place::{LOCK_FILE, Lock, holds, is_taken, sync};
pub(crate) use shards::{GroupSize, PositionedRows, ShardOutcome, ShardWriter};
