//! The crate's error: wraps the layers' errors, nothing else.

use crate::curate::CurateError;
use crate::decide::DecideError;
use crate::epoch::EpochError;
use crate::export::ExportError;
use crate::ingest::IngestError;
use crate::input::ReadError;
use crate::model::PolicyError;
use crate::query::QueryError;
use crate::report::ReportError;
use crate::store::StoreError;
use crate::tokenizer::TokenizerError;

/// Any error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The files of the corpus: missing, locked, damaged, or refused by the disk.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A dedup policy that cannot be had.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// An input that cannot be opened or read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An ingest or a join that could not go on.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// A dedup decision that could not be taken.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// A change to stored documents, or a check of them, that could not go on.
    #[error(transparent)]
    Curate(CurateError),
    /// An expression or statement that is wrong or fails while it runs.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A recipe that cannot be met, or an epoch that cannot be read or written.
    #[error(transparent)]
    Epoch(EpochError),
    /// Documents that cannot be written out.
    #[error(transparent)]
    Export(ExportError),
    /// A tokenizer that is unknown, damaged, or refuses a text.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

impl From<CurateError> for Error {
    /// What files and tokenizers say of themselves is told as theirs, whoever met it.
    fn from(error: CurateError) -> Self {
        match error {
            CurateError::Store(error) => Self::Store(error),
            CurateError::Tokenizer(error) => Self::Tokenizer(error),
            other => Self::Curate(other),
        }
    }
}

impl From<EpochError> for Error {
    /// What files say of themselves is told as theirs, whoever met it.
    fn from(error: EpochError) -> Self {
        match error {
            EpochError::Store(error) => Self::Store(error),
            other => Self::Epoch(other),
        }
    }
}

impl From<ExportError> for Error {
    /// What files and conditions say of themselves is told as theirs, whoever met it.
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Store(error) => Self::Store(error),
            ExportError::Query(error) => Self::Query(error),
            other => Self::Export(other),
        }
    }
}

impl From<ReportError> for Error {
    /// A report says what those say that count for it.
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Store(error) => Self::Store(error),
            ReportError::Query(error) => Self::Query(error),
            ReportError::Epoch(error) => error.into(),
        }
    }
}

impl Error {
    /// Whether this is a stop that was asked for: the corpus is consistent, the command can be run again.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(
            self,
            Self::Ingest(
                IngestError::Interrupted { .. }
                    | IngestError::JoinInterrupted { .. }
                    | IngestError::Stopped
                    | IngestError::Decide(DecideError::Interrupted)
            ) | Self::Store(StoreError::Interrupted)
                | Self::Curate(CurateError::Interrupted)
                | Self::Epoch(EpochError::Interrupted)
                | Self::Export(ExportError::Interrupted)
                | Self::Query(QueryError::Interrupted)
        )
    }
}
