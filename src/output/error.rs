//! What can go wrong with a file that is written; each layer tells it as its own.

use crate::model::IoError;
use parquet::errors::ParquetError;
use std::path::{Path, PathBuf};

/// A file or directory that could not be written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// The file system.
    Io(IoError),
    /// The Parquet library.
    Parquet { action: &'static str, path: PathBuf, source: ParquetError },
}

impl From<IoError> for WriteError {
    fn from(error: IoError) -> Self {
        Self::Io(error)
    }
}

impl WriteError {
    pub(crate) fn parquet(action: &'static str, path: &Path) -> impl FnOnce(ParquetError) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Parquet { action, path, source }
    }
}
