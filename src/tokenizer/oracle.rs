//! The reference encoder: tokenizers 0.23. What it says is right by definition.

use super::error::TokenizerError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokenizers::models::ModelWrapper;

/// A tokenizer of the reference implementation, set so that text is only text: special tokens
/// inside it are not recognised, nothing is added, cut or padded.
pub(super) struct Oracle(tokenizers::Tokenizer);

impl Oracle {
    pub(super) fn load(json: &[u8]) -> Result<Self, TokenizerError> {
        let mut tokenizer = guard("loading", || tokenizers::Tokenizer::from_bytes(json))?
            .map_err(TokenizerError::Load)?;
        if let ModelWrapper::BPE(bpe) = tokenizer.get_model()
            && let Some(dropout) = bpe.dropout
        {
            return Err(TokenizerError::Dropout(dropout));
        }
        tokenizer.with_truncation(None).map_err(TokenizerError::Load)?;
        tokenizer.with_padding(None);
        tokenizer.set_encode_special_tokens(true);
        Ok(Self(tokenizer))
    }

    pub(super) fn encode(&self, text: &str, out: &mut Vec<u32>) -> Result<(), TokenizerError> {
        let encoding = guard("encoding", || self.0.encode_fast(text, false))?
            .map_err(|source| TokenizerError::Encode { bytes: text.len(), source })?;
        out.extend_from_slice(encoding.get_ids());
        Ok(())
    }

    pub(super) fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        guard("decoding", || self.0.decode(ids, false))?
            .map_err(|source| TokenizerError::Decode { ids: ids.len(), source })
    }

    pub(super) fn token_to_id(&self, token: &str) -> Option<u32> {
        self.0.token_to_id(token)
    }

    pub(super) fn largest_id(&self) -> Option<u32> {
        self.0.get_vocab(true).into_values().max()
    }
}

/// Runs third-party code so that its panic is an error of ours. Sound to resume after: the
/// tokenizer is never changed by encoding, and its caches are cleared or keyed by whole words.
pub(super) fn guard<T>(doing: &'static str, run: impl FnOnce() -> T) -> Result<T, TokenizerError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| TokenizerError::Panicked { doing })
}
