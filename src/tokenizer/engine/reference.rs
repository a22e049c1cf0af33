//! The reference encoder: tokenizers 0.23. What it says is right by definition.

use crate::model::catch_panic;
use crate::tokenizer::error::{ENCODING, TokenizerError};
use crate::tokenizer::file::unigram::{self, UnigramVariants};
use std::sync::OnceLock;
use tokenizers::models::ModelWrapper;

/// A tokenizer of the reference implementation, set so that text is only text: special tokens
/// inside it are not recognised, nothing is added, cut or padded.
pub(in crate::tokenizer) struct LibraryReference {
    /// Where text could spell special tokens, they have other names in it.
    plain: tokenizers::Tokenizer,
    /// The tokenizer of the file itself, where `plain` is not that.
    whole: Option<tokenizers::Tokenizer>,
    /// Twins that tell positions, made when first asked: of plain text, and of text with special tokens.
    placing: [OnceLock<tokenizers::Tokenizer>; 2],
}

/// Ids, and for each the bytes of the text that it stands for.
pub(in crate::tokenizer) type EncodedWithOffsets = (Vec<u32>, Vec<(usize, usize)>);

impl LibraryReference {
    pub(in crate::tokenizer) fn load(json: &[u8]) -> Result<Self, TokenizerError> {
        Self::load_by(json, unigram::unigram_variants(json)?.as_ref())
    }

    /// `readings`: what [`unigram::unigram_variants`] made of the file.
    pub(in crate::tokenizer) fn load_by(
        json: &[u8],
        readings: Option<&UnigramVariants>,
    ) -> Result<Self, TokenizerError> {
        let (plain, whole) = match readings {
            Some(readings) => (read(&readings.plain)?, Some(read(&readings.whole)?)),
            None => (read(json)?, None),
        };
        Ok(Self { plain, whole, placing: Default::default() })
    }

    /// The tokenizer of the file itself.
    fn whole(&self) -> &tokenizers::Tokenizer {
        self.whole.as_ref().unwrap_or(&self.plain)
    }

    pub(in crate::tokenizer) fn encode(
        &self,
        text: &str,
        out: &mut Vec<u32>,
    ) -> Result<(), TokenizerError> {
        let encoding = guard(ENCODING, || self.plain.encode_fast(text, false))?
            .map_err(|source| TokenizerError::Encode { bytes: text.len(), source })?;
        out.extend_from_slice(encoding.get_ids());
        Ok(())
    }

    /// As [`LibraryReference::encode`], with positions; `specials`: special tokens in the text are recognised.
    pub(in crate::tokenizer) fn encode_placed(
        &self,
        text: &str,
        specials: bool,
    ) -> Result<EncodedWithOffsets, TokenizerError> {
        let [plain, special] = &self.placing;
        let twin = if specials { special } else { plain };
        let twin = twin.get_or_init(|| {
            let mut twin = if specials { self.whole().clone() } else { self.plain.clone() };
            twin.set_encode_special_tokens(!specials);
            // It adds nothing here, and some trim the space off positions.
            twin.with_post_processor(None::<tokenizers::PostProcessorWrapper>);
            twin
        });
        let encoding = guard(ENCODING, || twin.encode(text, false))?
            .map_err(|source| TokenizerError::Encode { bytes: text.len(), source })?;
        Ok((encoding.get_ids().to_vec(), encoding.get_offsets().to_vec()))
    }

    /// The model's own tokens with their ids, in no particular order.
    pub(in crate::tokenizer) fn vocabulary(&self) -> impl Iterator<Item = (String, u32)> {
        self.whole().get_vocab(false).into_iter()
    }

    /// Added tokens as they are spelled, in no particular order: id, spelling, whether special.
    pub(in crate::tokenizer) fn added(&self) -> impl Iterator<Item = (u32, String, bool)> {
        let added = self.whole().get_added_tokens_decoder();
        added.into_iter().map(|(id, token)| (id, token.content, token.special))
    }

    pub(in crate::tokenizer) fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        guard("decoding", || self.whole().decode(ids, false))?
            .map_err(|source| TokenizerError::Decode { ids: ids.len(), source })
    }
}

fn read(json: &[u8]) -> Result<tokenizers::Tokenizer, TokenizerError> {
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
    Ok(tokenizer)
}

/// Runs third-party code so that its panic is an error of ours. Sound to resume after: the
/// tokenizer is never changed by encoding, and its caches are cleared or keyed by whole words.
pub(in crate::tokenizer) fn guard<T>(
    doing: &'static str,
    run: impl FnOnce() -> T,
) -> Result<T, TokenizerError> {
    catch_panic(run).map_err(|why| TokenizerError::Panicked { doing, why })
}
