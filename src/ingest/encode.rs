//! Token ids and trained tokens of newcomers: made here, or brought along.

use super::error::IngestError;
use super::prepare::Prepared;
use crate::decide::{Encoded, LoadedTokenizer, encode_text, store_encoded};
use crate::model::{DocId, SourceId};
use crate::store::Batch;
use crate::tokenizer::TokenizerError;
use rayon::prelude::*;

/// Stores how a newcomer's text is encoded, and the ids that it brought, whatever its standing: no
/// encoder could give them again.
pub(super) fn store_form(
    batch: &mut Batch<'_>,
    tokenizers: &[LoadedTokenizer],
    id: DocId,
    prepared: &Prepared,
) -> Result<(), IngestError> {
    let Some(form) = &prepared.form else { return Ok(()) };
    batch.text_form(id, form)?;
    let Some(given) = &prepared.given else { return Ok(()) };
    if let Some(tokenizer) = tokenizers.iter().find(|known| form.given == Some(known.id)) {
        batch.put_tokens(tokenizer.id, id, &given.ids, tokenizer.vocab_size)?;
        if let Some(spans) = &given.spans {
            batch.loss(tokenizer.id, id, spans)?;
        }
    }
    Ok(())
}

/// Encodes kept newcomers in parallel, stores their ids in order; answers how many tokens.
pub(super) fn encode(
    batch: &mut Batch<'_>,
    tokenizer: &LoadedTokenizer,
    source: SourceId,
    kept: &[(DocId, &Prepared)],
) -> Result<u64, IngestError> {
    let encoded: Vec<Option<Encoded>> = kept
        .par_iter()
        .with_min_len(8)
        .map_init(
            || tokenizer.tokenizer.encoder(),
            |encoder, (_, prepared)| {
                let form = prepared.form.as_ref();
                if form.is_some_and(|form| form.given == Some(tokenizer.id)) {
                    return Ok(None);
                }
                encode_text(&tokenizer.tokenizer, encoder, &prepared.record.text, form).map(Some)
            },
        )
        .collect::<Result<_, TokenizerError>>()?;
    let mut total = 0;
    for ((id, prepared), encoded) in kept.iter().zip(encoded) {
        let given = prepared.given.as_ref().map_or(0, |given| given.ids.len());
        total += match encoded {
            Some(encoded) => {
                let vocab_size = tokenizer.vocab_size;
                store_encoded(batch, tokenizer.id, vocab_size, *id, source, &encoded)?
            }
            None => {
                let count = i64::try_from(given).unwrap_or(i64::MAX);
                batch.count_tokens(tokenizer.id, source, count)?;
                given as u64
            }
        };
    }
    Ok(total)
}
