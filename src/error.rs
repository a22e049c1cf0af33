//! The crate's error: wraps the layers' errors, nothing else.

use crate::curate::CurateError;
use crate::decide::DecideError;
use crate::epoch::EpochError;
use crate::ingest::IngestError;
use crate::ingest::read::ReadError;
use crate::model::PolicyError;
use crate::query::QueryError;
use crate::store::StoreError;
use crate::tokenizer::TokenizerError;

/// Any error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A dedup policy that cannot be had.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Reading inputs.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Ingest.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// Dedup decisions.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// Changes of mind and deep checks.
    #[error(transparent)]
    Curate(#[from] CurateError),
    /// Queries.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// Epochs.
    #[error(transparent)]
    Epoch(#[from] EpochError),
    /// Tokenizers.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

impl Error {
    /// Whether this is a stop that was asked for: the corpus is consistent, the command can be run again.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(
            self,
            Self::Ingest(IngestError::Interrupted { .. } | IngestError::JoinInterrupted { .. })
                | Self::Curate(CurateError::Interrupted)
                | Self::Epoch(EpochError::Interrupted)
        )
    }
}
