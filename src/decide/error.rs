//! What can go wrong while deciding: what the store says, what a tokenizer refuses, what was decided elsewhere and
//! cannot be true.

use model::{DocId, Error, ErrorKind, Hint, Interrupted, from_lower};
use store::StoreError;
use tokenizer::TokenizerError;

/// An error of the decision layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecideError {
    /// Rows that cannot be read or written.
    #[error(transparent)]
    Store(StoreError),
    /// A tokenizer that refused a text.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// A stop was asked for; nothing of the commit is stored.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A decision made elsewhere that cannot be true.
    #[error("document {}: {}", .0.document, .0.why)]
    InvalidDecision(InvalidDecision),
    /// Stored bytes that the craft cannot use.
    #[error("the sketch of document {document} has {bytes} bytes, which does not match the policy")]
    Sketch {
        /// The document.
        document: u64,
        /// Length found.
        bytes: usize,
    },
}

impl DecideError {
    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Tokenizer(error) => error.hint(),
            Self::Sketch { .. } => Some(Hint::deep_check()),
            _ => None,
        }
    }
}

from_lower!(DecideError::Store(StoreError));

impl From<DecideError> for Error {
    /// Errors of files and tokenizers keep their own kind, whichever room met them.
    fn from(error: DecideError) -> Self {
        let kind = match error {
            DecideError::Interrupted(stop) => return stop.into(),
            DecideError::Store(error) => return error.into(),
            DecideError::Tokenizer(error) => return error.into(),
            DecideError::Sketch { .. } => ErrorKind::Corrupt,
            DecideError::InvalidDecision(_) => ErrorKind::BadInput,
        };
        let hint = error.hint();
        Self::new(kind, error).with_hint(hint)
    }
}

/// Of which document a decision cannot be true, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDecision {
    /// The document.
    pub document: DocId,
    /// What is wrong, in words.
    pub why: String,
}
