//! What can go wrong with a file that is written; each layer tells it as its own.

use parquet::errors::ParquetError;
use std::io;
use std::path::{Path, PathBuf};

/// A file or directory that could not be written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// The file system.
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// The Parquet library.
    Parquet { action: &'static str, path: PathBuf, source: ParquetError },
}

impl WriteError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn parquet(action: &'static str, path: &Path) -> impl FnOnce(ParquetError) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Parquet { action, path, source }
    }
}
