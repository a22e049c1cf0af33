//! What can go wrong with changes of mind.

use crate::store::StoreError;
use crate::tokenizer::TokenizerError;

/// An error of the curate layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CurateError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A tokenizer that refused a text, a file or a training.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// Nothing to train on.
    #[error("the corpus has no kept documents to train a tokenizer on; ingest some first")]
    NothingToTrainOn,
    /// A stop was asked for.
    #[error("interrupted; run the same command again to go on")]
    Interrupted,
}
