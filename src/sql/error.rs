//! Errors of queries: wrong input, a store that cannot be read, failures of the engine.

use arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use model::DocId;
use model::near_names::{UnknownName, did_you_mean, way_out};
use model::{Error, ErrorKind, Hint, Interrupted, from_lower};
use store::StoreError;

/// An error of the query layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
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
    /// A stored sketch that the policy cannot have made.
    #[error("the sketch of document {document} has {bytes} bytes, which does not match the policy")]
    Sketch {
        /// The document.
        document: DocId,
        /// Bytes stored.
        bytes: usize,
    },
    /// Similar documents asked of a corpus that does not look for any.
    #[error("mode `none` has no index of texts, so similar documents cannot be found")]
    NotLooked,
    /// A text without a token under the policy's normaliser.
    #[error("the text has no words under the normaliser `{normaliser}`: nothing to look for")]
    NoWords {
        /// The normaliser.
        normaliser: &'static str,
    },
    /// A name that documents cannot be counted by.
    #[error(
        "cannot group by `{name}`: it is not `source`, `language` or a declared field that is not a float"
    )]
    NoGroups {
        /// The name asked for.
        name: String,
        /// The names that they can be counted by.
        known: Vec<String>,
    },
    /// A unit of time that a field does not have.
    #[error("cannot group by `{name}`: {why}")]
    NoUnit {
        /// The field with its unit, as asked for.
        name: String,
        /// Why.
        why: String,
    },
    /// Documents are to be counted by one field twice.
    #[error("`{name}` is named twice; name each field once")]
    GroupedTwice {
        /// The field.
        name: String,
    },
    /// Fields with too many values to count by.
    #[error(
        "there are more than {most} groups; group by a field with fewer values, by fewer fields, or by a unit of a timestamp, such as `published:month`"
    )]
    TooManyGroups {
        /// How many groups may be counted.
        most: usize,
    },
    /// Too many pairs of groups to count.
    #[error(
        "there are more than {most} pairs of groups; group by a field with fewer values, by fewer fields, or give one source"
    )]
    TooManyPairs {
        /// How many pairs may be counted.
        most: usize,
    },
    /// The changes from a moment to an earlier one.
    #[error(
        "`{from}` (commit {from_commit}) is later than `{to}` (commit {to_commit}): give the earlier one first, `{to}` and then `{from}`"
    )]
    Backwards {
        /// The moment asked from.
        from: String,
        /// The commit of the moment asked from.
        from_commit: u64,
        /// The moment asked to.
        to: String,
        /// The commit of the moment asked to.
        to_commit: u64,
    },
    /// Another policy that what is stored cannot serve.
    #[error(
        "this corpus cannot change to {asked}: it has {stored}; mode, threshold, bands and rows, keep order and scope can change"
    )]
    Fixed {
        /// What was asked for.
        asked: String,
        /// What the corpus has.
        stored: String,
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

impl QueryError {
    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Sketch { .. } | Self::Metadata { .. } => Some(Hint::deep_check()),
            Self::Unknown(unknown) => Some(unknown.hint()),
            Self::NoDocumentColumn(unknown) => {
                let known = unknown.known.iter().map(String::as_str);
                let field = "a field of the records is no column: `columns=` 'meta.*' writes each of them (JSON lines), `columns=` meta all of them as one JSON text";
                Some(Hint::text(
                    did_you_mean(&unknown.name, known).unwrap_or_else(|| field.to_owned()),
                ))
            }
            Self::NoGroups { name, known } => Some(Hint::text(way_out(name, known))),
            Self::SameNames { .. } => Some(Hint::text("rename one with AS")),
            Self::NotLooked => {
                let text = "create a corpus in mode witness and ingest into it";
                Some(Hint::text(text).with_command("corpusdb init NEW --mode witness"))
            }
            _ => None,
        }
    }
}

from_lower!(QueryError::Store(StoreError));

impl From<QueryError> for Error {
    /// Errors of files keep their own kind, whichever room they come from.
    fn from(error: QueryError) -> Self {
        let kind = match error {
            QueryError::Interrupted(stop) => return stop.into(),
            QueryError::Store(error) => return error.into(),
            QueryError::Ambiguous { .. }
            | QueryError::Where { .. }
            | QueryError::Incoming { .. }
            | QueryError::Statement { .. }
            | QueryError::NotAQuery { .. }
            | QueryError::NotLooked
            | QueryError::NoWords { .. }
            | QueryError::NoGroups { .. }
            | QueryError::NoUnit { .. }
            | QueryError::GroupedTwice { .. }
            | QueryError::TooManyGroups { .. }
            | QueryError::TooManyPairs { .. }
            | QueryError::Backwards { .. }
            | QueryError::SameNames { .. }
            | QueryError::File { .. }
            | QueryError::Run { .. } => ErrorKind::BadQuery,
            QueryError::Unknown(_)
            | QueryError::NoDocumentColumn(_)
            | QueryError::NoDocument { .. } => ErrorKind::NotFound,
            QueryError::NoKey { .. } => ErrorKind::KeyNotFound,
            QueryError::Fixed { .. } => ErrorKind::BadPolicy,
            QueryError::Sketch { .. } | QueryError::Metadata { .. } => ErrorKind::Corrupt,
            _ => ErrorKind::Failed,
        };
        let hint = error.hint();
        Self::new(kind, error).with_hint(hint)
    }
}

impl QueryError {
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

impl From<QueryError> for DataFusionError {
    fn from(error: QueryError) -> Self {
        Self::External(Box::new(error))
    }
}
