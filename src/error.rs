//! The crate's error: wraps the layers' errors, nothing else.

use crate::corpus::ShardError;
use crate::curate::CurateError;
use crate::decide::DecideError;
use crate::epoch::EpochError;
use crate::export::ExportError;
use crate::ingest::IngestError;
use crate::input::ReadError;
use crate::model::{Hint, Interrupted, PolicyError, from_lower};
use crate::query::QueryError;
use crate::remote::RemoteError;
use crate::report::ReportError;
use crate::store::StoreError;
use crate::tokenizer::TokenizerError;

/// Any error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A stop that was asked for: what was committed stays.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The files of the corpus: missing, locked, damaged, or refused by the disk.
    #[error(transparent)]
    Store(StoreError),
    /// A dedup policy that cannot be had.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// An input that cannot be opened or read.
    #[error(transparent)]
    Read(ReadError),
    /// An ingest or a join that could not go on.
    #[error(transparent)]
    Ingest(IngestError),
    /// A dedup decision that could not be taken.
    #[error(transparent)]
    Decide(DecideError),
    /// A change to stored documents, or a check of them, that could not go on.
    #[error(transparent)]
    Curate(CurateError),
    /// An expression or statement that is wrong or fails while it runs.
    #[error(transparent)]
    Query(QueryError),
    /// A recipe that cannot be met, or an epoch that cannot be read or written.
    #[error(transparent)]
    Epoch(EpochError),
    /// Documents that cannot be written out.
    #[error(transparent)]
    Export(ExportError),
    /// An object of a store that cannot be found, read or written.
    #[error(transparent)]
    Remote(RemoteError),
    /// A tokenizer that is unknown, damaged, or refuses a text.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

from_lower!(Error::Store(StoreError));
from_lower!(Error::Read(ReadError));
from_lower!(Error::Ingest(IngestError));
from_lower!(Error::Decide(DecideError));
from_lower!(Error::Query(QueryError));
from_lower!(Error::Remote(RemoteError));

impl From<CurateError> for Error {
    /// What files and tokenizers say of themselves is told as theirs, whoever met it.
    fn from(error: CurateError) -> Self {
        match error {
            CurateError::Interrupted(stop) => Self::Interrupted(stop),
            CurateError::Store(error) => error.into(),
            CurateError::Tokenizer(error) => error.into(),
            other => Self::Curate(other),
        }
    }
}

impl From<EpochError> for Error {
    /// What files say of themselves is told as theirs, whoever met it.
    fn from(error: EpochError) -> Self {
        match error {
            EpochError::Interrupted(stop) => Self::Interrupted(stop),
            EpochError::Store(error) => error.into(),
            other => Self::Epoch(other),
        }
    }
}

impl From<ShardError> for Error {
    fn from(error: ShardError) -> Self {
        EpochError::from(error).into()
    }
}

impl From<ExportError> for Error {
    /// What files and conditions say of themselves is told as theirs, whoever met it.
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Interrupted(stop) => Self::Interrupted(stop),
            ExportError::Store(error) => error.into(),
            ExportError::Query(error) => error.into(),
            other => Self::Export(other),
        }
    }
}

impl From<ReportError> for Error {
    /// A report says what those say that count for it.
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Interrupted(stop) => Self::Interrupted(stop),
            ReportError::Store(error) => error.into(),
            ReportError::Query(error) => error.into(),
            ReportError::Epoch(error) => error.into(),
        }
    }
}

impl Error {
    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Ingest(error) => error.hint(),
            Self::Decide(error) => error.hint(),
            Self::Curate(error) => error.hint(),
            Self::Query(error) => error.hint(),
            Self::Epoch(error) => error.hint(),
            Self::Export(error) => error.hint(),
            Self::Tokenizer(error) => error.hint(),
            _ => None,
        }
    }

    /// Whether this is a stop that was asked for: the corpus is consistent, the command can be run again.
    #[must_use]
    pub const fn is_interrupt(&self) -> bool {
        matches!(self, Self::Interrupted(_))
    }
}
