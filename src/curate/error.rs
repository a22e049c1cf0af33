//! What can go wrong with changes of mind.

use crate::decide::DecideError;
use crate::model::DocId;
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
    /// A decision that could not be taken.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// A policy that the stored sketches do not serve.
    #[error(
        "the stored sketches were made with another normaliser, shingle length or sketch function; these are fixed at `init`: make a new corpus and ingest again"
    )]
    OtherSketches,
    /// Nothing that could be made current.
    #[error("no finished re-decision under this policy; run `corpusdb dedup redo` again")]
    NoRedo,
    /// A policy that cannot be written.
    #[error("the policy cannot be stored: {0}")]
    Policy(String),
    /// A document that a tokenizer never encoded.
    #[error(
        "document {document} was never encoded by tokenizer `{tokenizer}`: only kept documents are"
    )]
    NotEncoded {
        /// The document.
        document: DocId,
        /// The tokenizer's name.
        tokenizer: String,
    },
    /// Nothing to train on.
    #[error("the corpus has no kept documents to train a tokenizer on; ingest some first")]
    NothingToTrainOn,
    /// A stop was asked for.
    #[error("interrupted; run the same command again to go on")]
    Interrupted,
}
