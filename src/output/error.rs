//! What can go wrong with a file that is written; each layer reports it as an error of its own.

use crate::model::IoError;
use parquet::errors::ParquetError;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// A file or directory that could not be written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// The file system.
    Io(IoError),
    /// The library that writes a format.
    Library { action: &'static str, path: PathBuf, source: Box<dyn Error + Send + Sync> },
    /// The stream written to.
    Stream(io::Error),
    /// What the format cannot hold, in words for the user.
    Unfit(String),
    /// A broken invariant of this code.
    Bug(String),
}

impl From<IoError> for WriteError {
    fn from(error: IoError) -> Self {
        Self::Io(error)
    }
}

impl WriteError {
    /// The error of the Parquet library, which passes on those of the file beneath it.
    pub(crate) fn parquet(action: &'static str, path: &Path) -> impl FnOnce(ParquetError) -> Self {
        let path = path.to_path_buf();
        move |source| match source {
            ParquetError::External(source) => match source.downcast::<io::Error>() {
                Ok(error) => IoError::of(action, &path)(*error).into(),
                Err(source) => Self::Library { action, path, source },
            },
            source => Self::Library { action, path, source: source.into() },
        }
    }

    /// The error of a file, or of a stream, which has no path.
    pub(crate) fn of_output(
        action: &'static str,
        path: Option<&Path>,
    ) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.map(Path::to_path_buf);
        move |error| match path {
            Some(path) => IoError::of(action, &path)(error).into(),
            None => Self::Stream(error),
        }
    }
}
