//! Token ids of documents that are kept now and were not.

use super::error::DecideError;
use crate::model::{DocId, TokenizerId};
use crate::store::Batch;
use crate::tokenizer::Tokenizer;
use rayon::prelude::*;
use std::sync::Arc;

/// A registered tokenizer, ready to encode.
#[derive(Clone)]
pub struct LoadedTokenizer {
    /// Its id in the store.
    pub id: TokenizerId,
    /// Its name.
    pub name: String,
    /// One more than its largest id, as registered.
    pub vocab_size: u32,
    /// The encoder.
    pub tokenizer: Arc<Tokenizer>,
}

/// Counts the tokens of stored documents that came back, and encodes those that never were; answers
/// how many tokens were encoded.
///
/// # Errors
/// [`DecideError`] when the store cannot be read or a text is refused.
pub fn encode_kept_again(
    batch: &mut Batch<'_>,
    tokenizer: &LoadedTokenizer,
    documents: &[DocId],
) -> Result<u64, DecideError> {
    let mut unencoded = Vec::new();
    for document in documents {
        let header = batch.view().expect_header(*document)?;
        match batch.token_count(tokenizer.id, *document)? {
            Some(count) => batch.count_tokens(tokenizer.id, header.source, count)?,
            None => unencoded.push((*document, header)),
        }
    }
    let view = batch.view().clone();
    let encoded: Vec<Vec<u32>> = unencoded
        .par_iter()
        .with_min_len(8)
        .map_init(
            || tokenizer.tokenizer.encoder(),
            |encoder, (document, header)| {
                let mut ids = Vec::new();
                let text = view.text_of_owner(header.text_owner(*document))?;
                encoder.encode(&text, &mut ids)?;
                Ok::<_, DecideError>(ids)
            },
        )
        .collect::<Result<_, _>>()?;
    let mut total = 0;
    for ((document, header), ids) in unencoded.iter().zip(encoded) {
        batch.tokens(tokenizer.id, *document, header.source, &ids, tokenizer.vocab_size)?;
        total += ids.len() as u64;
    }
    Ok(total)
}
