//! The errors of an output: its name, what stands there, and the files that are written.

use crate::remote::RemoteError;
use model::{Error, ErrorKind, Hint, Interrupted, IoError};
use parquet::errors::ParquetError;
use std::io;
use std::path::{Path, PathBuf};

/// A name that no output can be made under, or an output that could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The address of a store: it would become a directory named `s3:`. It is not repeated, for it may have secrets.
    #[error(
        "{scheme}:// is an address, and this must be written to disk: give a path, and copy it from there"
    )]
    Address {
        /// The scheme of the address.
        scheme: String,
    },
    /// A directory, or the name of none.
    #[error("{}: it is a directory; name a file in it", path.display())]
    Directory {
        /// The name.
        path: PathBuf,
    },
    /// Neither a file nor anything that can be written to from front to end.
    #[error("{}: it is a {what}, which cannot be written to; name a file, a pipe or /dev/stdout", path.display())]
    Unsuitable {
        /// The name.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// What is read stands there.
    #[error("{}: this command reads it ({}), and it would be overwritten; give another path", path.display(), input.display())]
    Input {
        /// The name.
        path: PathBuf,
        /// The input that it is.
        input: PathBuf,
    },
    /// A file stands there that nobody asked to replace.
    #[error("{}: the file exists, and it is {instead}; remove it, or give another path", path.display())]
    Taken {
        /// The name.
        path: PathBuf,
        /// What it would have to be.
        instead: &'static str,
    },
    /// Something stands where the output is to be, or in the directory that it is to replace.
    #[error("{} exists; {instead}", path.display())]
    Exists {
        /// The file, directory or object.
        path: PathBuf,
        /// The way out.
        instead: &'static str,
    },
    /// Something came to stand where the output is to be while it was written.
    #[error(
        "{} appeared while this was written, and is left as it is; what was written waits in {}: move {} away, and run the same command again",
        path.display(), kept.display(), path.display()
    )]
    Appeared {
        /// The file, directory or object.
        path: PathBuf,
        /// Where the finished files are.
        kept: PathBuf,
    },
    /// The place of an output is a corpus, or inside of one.
    #[error("{} is in the corpus {}, which holds nothing but its own files; give a path outside", path.display(), corpus.display())]
    InCorpus {
        /// The path given.
        path: PathBuf,
        /// The directory of the corpus.
        corpus: PathBuf,
    },
    /// The output cannot be made by a rename.
    #[error("{option} {} does not end in a name; give the path of a file or of a new directory", path.display())]
    Unnamed {
        /// The option that it was given by.
        option: &'static str,
        /// The path given, such as `.`.
        path: PathBuf,
    },
    /// Somebody else makes the same output.
    #[error("{} is being written by another {by}; wait for it, or give another path", path.display())]
    UnderWay {
        /// The output.
        path: PathBuf,
        /// What makes it, such as `export`.
        by: &'static str,
    },
    /// The file system.
    #[error(transparent)]
    Io(#[from] IoError),
    /// An object of a store.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl OutputError {
    /// The way out, where there is one to name besides the message.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Io(error) => error.hint(),
            _ => None,
        }
    }

    /// What it means to programs.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Taken { .. }
            | Self::Exists { .. }
            | Self::Appeared { .. }
            | Self::UnderWay { .. } => ErrorKind::AlreadyExists,
            Self::Address { .. }
            | Self::Directory { .. }
            | Self::Unsuitable { .. }
            | Self::Input { .. }
            | Self::InCorpus { .. }
            | Self::Unnamed { .. } => ErrorKind::BadInput,
            Self::Interrupted(_) => ErrorKind::Interrupted,
            Self::Io(_) | Self::Remote(_) => ErrorKind::Failed,
        }
    }
}

impl From<OutputError> for Error {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Io(error) => of_file(error),
            OutputError::Remote(error) => error.into(),
            OutputError::Interrupted(stop) => stop.into(),
            error => Self::new(error.kind(), error),
        }
    }
}

/// The error of a file, or of the object that it is.
fn of_file(error: IoError) -> Error {
    match RemoteError::within(&error.source) {
        Some(remote) => remote.clone().into(),
        None => error.into(),
    }
}

/// A file or directory that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file system.
    #[error(transparent)]
    Io(IoError),
    /// The library that writes a format.
    #[error("{action} {}", path.display())]
    Library {
        /// What it was doing.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Its own error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The stream written to.
    #[error("writing the stream")]
    Stream(#[source] io::Error),
    /// What the format cannot hold, in words for the user.
    #[error("{0}")]
    Unfit(String),
    /// A broken invariant of this code.
    #[error("bug in an export: {0}; please report it")]
    Bug(String),
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Io(error) => of_file(error),
            WriteError::Unfit(why) => Self::bad_input(why),
            error => Self::new(ErrorKind::Failed, error),
        }
    }
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
