//! What can go wrong while deciding: only what the store says.

use crate::store::StoreError;

/// An error of the decision layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecideError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Stored bytes that the craft cannot use.
    #[error(
        "document {document} has a sketch of {bytes} bytes, not as its policy says; run `corpusdb check --deep`"
    )]
    Sketch {
        /// The document.
        document: u64,
        /// Length found.
        bytes: usize,
    },
}
