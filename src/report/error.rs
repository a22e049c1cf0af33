//! Why a corpus cannot be reported on.

use crate::epoch::EpochError;
use crate::query::QueryError;
use model::{Error, Interrupted, from_lower};
use store::StoreError;

/// Why a corpus cannot be reported on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// Something of it cannot be counted.
    #[error(transparent)]
    Query(QueryError),
    /// The plan cannot be told.
    #[error(transparent)]
    Epoch(EpochError),
    /// Rows cannot be read.
    #[error(transparent)]
    Store(StoreError),
    /// A stop was asked for.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

from_lower!(ReportError::Query(QueryError));
from_lower!(ReportError::Epoch(EpochError));
from_lower!(ReportError::Store(StoreError));

impl From<ReportError> for Error {
    /// A report says what those say that count for it.
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Interrupted(stop) => stop.into(),
            ReportError::Store(error) => error.into(),
            ReportError::Query(error) => error.into(),
            ReportError::Epoch(error) => error.into(),
        }
    }
}
