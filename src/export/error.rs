//! What can go wrong while documents are written out.

use crate::query::QueryError;
use files::output::{OutputError, WriteError};
use files::remote::RemoteError;
use model::near_names::way_out;
use model::{Error, ErrorKind, Hint, Interrupted, IoError, from_lower};
use std::path::PathBuf;
use store::StoreError;

/// An error of an export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// Options that do not go together, or that a format does not have.
    #[error("{0}")]
    Options(String),
    /// What cannot be made under its name, or would replace what is not to be replaced.
    #[error(transparent)]
    Destination(OutputError),
    /// A column that an export cannot be parted by.
    #[error("cannot partition an export by `{name}`: {why}")]
    NoPartition {
        /// The name asked for.
        name: String,
        /// Why not.
        why: String,
        /// Those that it can be parted by.
        known: Vec<String>,
    },
    /// A value that no directory can be named by so that readers give it back.
    #[error(
        "cannot partition an export by `{name}`: a document has the value `{value}`, and {why}; leave such documents out with `where=`, or partition by another column"
    )]
    PartitionValue {
        /// The column.
        name: String,
        /// The value, or its beginning.
        value: String,
        /// Why not.
        why: String,
    },
    /// A field of a document has the name of a column beside which it would stand.
    #[error(
        "document {document} has a field `{name}`, which conflicts with the column `{name}`: write its fields as one column with `columns=` {instead}"
    )]
    Collision {
        /// The document.
        document: u64,
        /// The name.
        name: String,
        /// Columns that do.
        instead: String,
    },
    /// The file system.
    #[error(transparent)]
    Io(IoError),
    /// The library that writes a format.
    #[error("{action} {}", path.display())]
    Library {
        /// The operation that failed, such as `write`.
        action: &'static str,
        /// The file or folder that it was done to.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An object of a store.
    #[error(transparent)]
    Remote(RemoteError),
    /// The stream written to.
    #[error("writing the stream")]
    Output(#[source] std::io::Error),
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Worker threads could not be had.
    #[error("starting {threads} worker threads: {why}")]
    Threads {
        /// Threads asked for.
        threads: usize,
        /// Why not.
        why: String,
    },
    /// A broken invariant of this code.
    #[error("bug in an export: {0}; please report it")]
    Bug(String),
    /// A condition or a column.
    #[error(transparent)]
    Query(QueryError),
    /// Rows that cannot be read.
    #[error(transparent)]
    Store(StoreError),
}

impl ExportError {
    /// Whether the same export may go on where this one stopped.
    pub(super) const fn can_pass(&self) -> bool {
        matches!(
            self,
            Self::Interrupted(_)
                | Self::Io(_)
                | Self::Library { .. }
                | Self::Remote(_)
                | Self::Store(_)
        )
    }

    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Io(error) => error.hint(),
            Self::Destination(error) => error.hint(),
            Self::Query(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::NoPartition { name, known, .. } => Some(Hint::text(way_out(name, known))),
            _ => None,
        }
    }
}

from_lower!(ExportError::Remote(RemoteError));
from_lower!(ExportError::Query(QueryError));
from_lower!(ExportError::Store(StoreError));

impl From<IoError> for ExportError {
    fn from(error: IoError) -> Self {
        match RemoteError::within(&error.source) {
            Some(remote) => remote.clone().into(),
            None => Self::Io(error),
        }
    }
}

impl From<OutputError> for ExportError {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Io(error) => error.into(),
            OutputError::Remote(error) => error.into(),
            OutputError::Interrupted(stop) => stop.into(),
            error => Self::Destination(error),
        }
    }
}

impl From<WriteError> for ExportError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Io(error) => error.into(),
            WriteError::Library { action, path, source } => Self::Library { action, path, source },
            WriteError::Stream(error) => Self::Output(error),
            WriteError::Unfit(why) => Self::Options(why),
            WriteError::Bug(why) => Self::Bug(why),
        }
    }
}

impl From<ExportError> for Error {
    /// Errors of files, conditions and objects keep their own kind, whichever room met them.
    fn from(error: ExportError) -> Self {
        let kind = match error {
            ExportError::Interrupted(stop) => return stop.into(),
            ExportError::Store(error) => return error.into(),
            ExportError::Query(error) => return error.into(),
            ExportError::Remote(error) => return error.into(),
            ExportError::Destination(ref error) => error.kind(),
            ExportError::NoPartition { .. } => ErrorKind::NotFound,
            ExportError::Options(_)
            | ExportError::Collision { .. }
            | ExportError::PartitionValue { .. } => ErrorKind::BadInput,
            _ => ErrorKind::Failed,
        };
        let hint = error.hint();
        Self::new(kind, error).with_hint(hint)
    }
}
