//! Errors of reports: what cannot be counted by, compared or looked for, and errors of the queries they are made of.

use crate::sql::SqlError;
use model::near_names::way_out;
use model::{DocId, Error, ErrorKind, Hint, Interrupted};
use store::StoreError;

/// An error of a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// A condition, a source, a snapshot or a document that there is not; rows that cannot be read.
    #[error(transparent)]
    Sql(SqlError),
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
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl InspectError {
    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Sql(error) => error.hint(),
            Self::Sketch { .. } => Some(Hint::deep_check()),
            Self::NoGroups { name, known } => Some(Hint::text(way_out(name, known))),
            Self::NotLooked => {
                let text = "create a corpus in mode witness and ingest into it";
                Some(Hint::text(text).with_command("corpusdb init NEW --mode witness"))
            }
            _ => None,
        }
    }
}

model::from_lower!(InspectError::Sql(SqlError));

impl From<StoreError> for InspectError {
    fn from(error: StoreError) -> Self {
        SqlError::from(error).into()
    }
}

impl From<InspectError> for Error {
    fn from(error: InspectError) -> Self {
        let kind = match error {
            InspectError::Interrupted(stop) => return stop.into(),
            InspectError::Sql(error) => return error.into(),
            InspectError::Fixed { .. } => ErrorKind::BadPolicy,
            InspectError::Sketch { .. } => ErrorKind::Corrupt,
            _ => ErrorKind::BadQuery,
        };
        let hint = error.hint();
        Self::new(kind, error).with_hint(hint)
    }
}
