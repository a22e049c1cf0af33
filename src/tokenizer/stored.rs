//! The verdict of the self-test as a corpus stores it, and a tokenizer loaded by it.

use super::encode::{EncoderBackend, Tokenizer};
use super::error::TokenizerError;
use super::{FAST, REFERENCE};

/// The word for the reference encoder, as [`EncoderBackend::name`] has it.
const ORACLE: &str = "oracle";

impl EncoderBackend {
    /// The encoder in words, with its library or with the reason that there is none: what is stored.
    pub(crate) fn verdict(&self) -> String {
        match self {
            Self::Fast => format!("{}, {FAST}", self.name()),
            Self::Oracle { reason } => format!("{} ({reason})", self.name()),
        }
    }
}

impl Tokenizer {
    /// Loads a file by the verdict that is stored with it, and the reference library that the verdict is of. By
    /// another pair of libraries nothing is proven yet.
    ///
    /// # Errors
    /// As [`Tokenizer::load`].
    pub(crate) fn load_stored(
        json: &[u8],
        verdict: &str,
        reference: &str,
    ) -> Result<Self, TokenizerError> {
        let is_proven = reference == REFERENCE
            && (verdict == EncoderBackend::Fast.verdict()
                || verdict.starts_with(&format!("{ORACLE} (")));
        if is_proven {
            Self::load_proven(json, !verdict.starts_with(ORACLE))
        } else {
            Self::load(json, &[])
        }
    }
}
