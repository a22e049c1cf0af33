//! Errors of queries: wrong input, a store that cannot be read, failures of the engine.

use arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use model::DocId;
use model::near_names::{UnknownName, did_you_mean};
use model::{Error, ErrorKind, Hint, Interrupted, from_lower};
use store::StoreError;

/// An error of the query layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// Rows that cannot be read.
    #[error(transparent)]
    Store(StoreError),
    /// Several documents without a key that were read at one place.
    #[error(
        "{documents} documents were read at `{place}`: name one by its key ({}{})",
        keys.join(", "),
        if keys.len() < *documents { ", .." } else { "" }
    )]
    Ambiguous {
        /// `PATH` or `PATH:NUMBER`.
        place: String,
        /// How many documents.
        documents: usize,
        /// Keys of the first of them.
        keys: Vec<String>,
    },
    /// A suite that does not fit into memory.
    #[error(
        "evidence of suite `{suite}` needs about {bytes} bytes of memory, and {most} are available: raise `memory=` to {} or more",
        bytes.saturating_mul(4)
    )]
    Suites {
        /// The suite.
        suite: String,
        /// Bytes that it takes.
        bytes: u64,
        /// Bytes that it may take.
        most: u64,
    },
    /// A `--where` expression that is not a boolean expression over `documents`.
    #[error(
        "cannot use the expression `{expression}`: {why}; it takes a SQL boolean expression over the columns {columns}"
    )]
    Where {
        /// The user's expression.
        expression: String,
        /// Why.
        why: String,
        /// The columns of `documents`, comma-separated.
        columns: String,
    },
    /// A condition on records that come in that cannot be used.
    #[error(
        "cannot use the condition `{condition}`: {why}; it takes a SQL boolean expression over the fields of the records and over key, source, text, bytes, chars and meta (a name with capitals needs double quotes, text single ones)"
    )]
    Incoming {
        /// The user's condition.
        condition: String,
        /// Why.
        why: String,
    },
    /// A statement that cannot be parsed or planned.
    #[error("cannot run `{statement}`: {why}")]
    Statement {
        /// The user's statement.
        statement: String,
        /// Why.
        why: String,
    },
    /// Something other than one SELECT.
    #[error(
        "refused `{statement}`: only one SELECT, WITH, EXPLAIN, DESCRIBE or SHOW is run, nothing that writes"
    )]
    NotAQuery {
        /// The user's statement.
        statement: String,
    },
    /// A file that a statement names and that cannot be read.
    #[error("cannot read `{path}`: {why}")]
    File {
        /// The file or pattern.
        path: String,
        /// Why.
        why: String,
    },
    /// A table or column that there is not.
    #[error(transparent)]
    Unknown(UnknownName),
    /// A column of documents that there is not.
    #[error(transparent)]
    NoDocumentColumn(UnknownName),
    /// An answer with two columns of one name.
    #[error("the answer has two columns named `{name}`")]
    SameNames {
        /// The name.
        name: String,
    },
    /// The engine failed while it ran.
    #[error("the query failed: {why}")]
    Run {
        /// Why.
        why: String,
    },
    /// No document has that key.
    #[error("no document has the key {key}")]
    NoKey {
        /// The key asked for.
        key: String,
    },
    /// No document has that id.
    #[error("no document {document}: {}", match documents {
        0 => "the corpus holds none".to_owned(),
        documents => format!("the corpus holds ids 0 to below {documents}"),
    })]
    NoDocument {
        /// The id asked for.
        document: DocId,
        /// Documents stored.
        documents: u64,
    },
    /// Stored metadata is not JSON.
    #[error("the metadata of document {document} is not JSON: {why}")]
    Metadata {
        /// The document.
        document: DocId,
        /// Why.
        why: String,
    },
    /// The output could not be written.
    #[error("cannot write the result")]
    Write(#[source] std::io::Error),
    /// The machine gave no thread or no runtime.
    #[error("cannot start a query thread")]
    Thread(#[source] std::io::Error),
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A query thread ended early: a fault of the engine or of ours.
    #[error("a query thread panicked; please report the query")]
    Panicked,
}

impl SqlError {
    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Metadata { .. } => Some(Hint::deep_check()),
            Self::Unknown(unknown) => Some(unknown.hint()),
            Self::NoDocumentColumn(unknown) => {
                let known = unknown.known.iter().map(String::as_str);
                let field = "a field of the records is no column: `columns=` 'meta.*' writes each of them (JSON lines), `columns=` meta all of them as one JSON text";
                Some(Hint::text(
                    did_you_mean(&unknown.name, known).unwrap_or_else(|| field.to_owned()),
                ))
            }
            Self::SameNames { .. } => Some(Hint::text("rename one with AS")),
            _ => None,
        }
    }
}

from_lower!(SqlError::Store(StoreError));

impl From<SqlError> for Error {
    /// Errors of files keep their own kind, whichever room they come from.
    fn from(error: SqlError) -> Self {
        let kind = match error {
            SqlError::Interrupted(stop) => return stop.into(),
            SqlError::Store(error) => return error.into(),
            SqlError::Ambiguous { .. }
            | SqlError::Where { .. }
            | SqlError::Incoming { .. }
            | SqlError::Statement { .. }
            | SqlError::NotAQuery { .. }
            | SqlError::SameNames { .. }
            | SqlError::File { .. }
            | SqlError::Run { .. } => ErrorKind::BadQuery,
            SqlError::Unknown(_) | SqlError::NoDocumentColumn(_) | SqlError::NoDocument { .. } => {
                ErrorKind::NotFound
            }
            SqlError::NoKey { .. } => ErrorKind::KeyNotFound,
            SqlError::Metadata { .. } => ErrorKind::Corrupt,
            _ => ErrorKind::Failed,
        };
        let hint = error.hint();
        Self::new(kind, error).with_hint(hint)
    }
}

impl SqlError {
    /// An error of the Arrow library; errors of ours that passed through it are unwrapped.
    pub(crate) fn arrow(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(inner) => match inner.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::Run { why: other.to_string() },
            },
            ArrowError::IoError(_, source) => Self::Write(source),
            other => Self::Run { why: other.to_string() },
        }
    }
}

impl From<SqlError> for DataFusionError {
    fn from(error: SqlError) -> Self {
        Self::External(Box::new(error))
    }
}
