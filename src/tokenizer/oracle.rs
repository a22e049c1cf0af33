//! The reference encoder: tokenizers 0.23. What it says is right by definition.

use super::error::TokenizerError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use tokenizers::models::ModelWrapper;

/// A tokenizer of the reference implementation, set so that text is only text: special tokens
/// inside it are not recognised, nothing is added, cut or padded.
pub(super) struct Oracle {
    plain: tokenizers::Tokenizer,
    /// Twins that tell positions, made when first asked: of plain text, and of text with special tokens.
    placing: [OnceLock<tokenizers::Tokenizer>; 2],
}

/// Ids, and for each the bytes of the text that it stands for.
pub(super) type Placed = (Vec<u32>, Vec<(usize, usize)>);

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
        Ok(Self { plain: tokenizer, placing: Default::default() })
    }

    pub(super) fn encode(&self, text: &str, out: &mut Vec<u32>) -> Result<(), TokenizerError> {
        let encoding = guard("encoding", || self.plain.encode_fast(text, false))?
            .map_err(|source| TokenizerError::Encode { bytes: text.len(), source })?;
        out.extend_from_slice(encoding.get_ids());
        Ok(())
    }

    /// As [`Oracle::encode`], with positions; `specials`: special tokens in the text are recognised.
    pub(super) fn encode_placed(
        &self,
        text: &str,
        specials: bool,
    ) -> Result<Placed, TokenizerError> {
        let [plain, special] = &self.placing;
        let twin = if specials { special } else { plain };
        let twin = twin.get_or_init(|| {
            let mut twin = self.plain.clone();
            twin.set_encode_special_tokens(!specials);
            // It adds nothing here, and some trim the space off positions.
            twin.with_post_processor(None::<tokenizers::PostProcessorWrapper>);
            twin
        });
        let encoding = guard("encoding", || twin.encode(text, false))?
            .map_err(|source| TokenizerError::Encode { bytes: text.len(), source })?;
        Ok((encoding.get_ids().to_vec(), encoding.get_offsets().to_vec()))
    }

    /// The model's own tokens with their ids, in no particular order.
    pub(super) fn vocabulary(&self) -> impl Iterator<Item = (String, u32)> {
        self.plain.get_vocab(false).into_iter()
    }

    /// Added tokens as they are spelled.
    pub(super) fn added(&self) -> impl Iterator<Item = (u32, String)> {
        let added = self.plain.get_added_tokens_decoder();
        added.into_iter().map(|(id, token)| (id, token.content))
    }

    /// Special tokens as they are spelled, by id.
    pub(super) fn specials(&self) -> Vec<(u32, String)> {
        let added = self.plain.get_added_tokens_decoder();
        let mut found: Vec<(u32, String)> = added
            .into_iter()
            .filter(|(_, token)| token.special)
            .map(|(id, token)| (id, token.content))
            .collect();
        found.sort_unstable();
        found
    }

    pub(super) fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        guard("decoding", || self.plain.decode(ids, false))?
            .map_err(|source| TokenizerError::Decode { ids: ids.len(), source })
    }

    pub(super) fn token_to_id(&self, token: &str) -> Option<u32> {
        self.plain.token_to_id(token)
    }

    pub(super) fn largest_id(&self) -> Option<u32> {
        self.plain.get_vocab(true).into_values().max()
    }
}

/// Runs third-party code so that its panic is an error of ours. Sound to resume after: the
/// tokenizer is never changed by encoding, and its caches are cleared or keyed by whole words.
pub(super) fn guard<T>(doing: &'static str, run: impl FnOnce() -> T) -> Result<T, TokenizerError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| TokenizerError::Panicked { doing })
}
