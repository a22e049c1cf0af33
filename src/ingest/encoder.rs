//! Token ids and trained tokens of newcomers: made here, or brought along by conversations and loads.

use super::error::bad_record;
use super::fingerprinter::FingerprintedRecord;
use super::identify::ChunkSources;
use super::load_validator::LoadValidator;
use super::options::OnError;
use crate::decide::{
    EncodedBatch, LoadedTokenizer, PIECE, RefusedTexts, encode_text, store_encoded,
};
use model::{DocId, Error, Hint, LossSpan, TextForm};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use store::CommitBatch;
use tokenizer::{Encoder, EngineTexts};

/// Stores how a newcomer's text is encoded, and the ids that it brought, whatever its standing: no
/// encoder could give them again.
pub(super) fn store_text_form(
    batch: &mut CommitBatch<'_>,
    tokenizers: &[LoadedTokenizer],
    id: DocId,
    prepared: &FingerprintedRecord,
) -> Result<(), Error> {
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

/// What a tokenizer made of the kept newcomers of a commit.
#[derive(Default)]
pub(super) struct EncodedDocuments {
    /// Tokens stored.
    pub(super) tokens: u64,
    /// How many documents spell each special token as text.
    pub(super) spelled: BTreeMap<String, u64>,
    /// Texts that have no ids.
    pub(super) refused: RefusedTexts,
    /// Documents whose ids came with a load.
    pub(super) brought: u64,
    /// By which engines the texts were encoded.
    pub(super) engines: EngineTexts,
    /// Documents that are trained on, but in no token of their own.
    pub(super) untrained: BTreeSet<DocId>,
}

/// The ids that came with a document of a load.
fn supplied_ids<'p>(
    prepared: &'p FingerprintedRecord,
    tokenizer: &LoadedTokenizer,
) -> Option<&'p [u32]> {
    let mut all = prepared.decided.iter().flat_map(|decided| &decided.ids);
    all.find(|(of, _)| *of == tokenizer.id).map(|(_, ids)| ids.as_slice())
}

/// Makes the ids that came with a document again: they must be the same.
///
/// # Errors
/// [`Error`] when they are not, or the tokenizer cannot be used.
fn check_supplied_ids(
    prepared: &FingerprintedRecord,
    tokenizer: &LoadedTokenizer,
    encoder: &mut Encoder<'_>,
    ids: &[u32],
) -> Result<(), Error> {
    let made = encode_text(encoder, &prepared.record.text, None, tokenizer.mask_rule)?.ids;
    if made == ids {
        return Ok(());
    }
    let same = made.iter().zip(ids).take_while(|(made, came)| made == came).count();
    let why = format!(
        "its {} token ids are not the {} of tokenizer `{}` for its text: they differ from number {same} on (counted from 0)",
        ids.len(),
        made.len(),
        tokenizer.name
    );
    Err(prepared.load_row(why))
}

/// Whether a document brought its ids, which were stored with it.
fn is_given(prepared: &FingerprintedRecord, tokenizer: &LoadedTokenizer) -> bool {
    prepared.form.as_ref().is_some_and(|form| form.given == Some(tokenizer.id))
}

/// Encodes kept newcomers in parallel: [`PIECE`] of them in each batch.
///
/// # Errors
/// [`Error`] when ids that came along are not those of the text, or the tokenizer
/// cannot be used.
pub(super) fn encode(
    tokenizer: &LoadedTokenizer,
    kept: &[(DocId, &FingerprintedRecord)],
    judge: Option<&LoadValidator>,
) -> Result<Vec<EncodedBatch>, Error> {
    kept.par_chunks(PIECE)
        .map_init(
            || tokenizer.tokenizer.encoder(),
            |encoder, piece| {
                let mut out = EncodedBatch::of(tokenizer.mask_rule);
                for (_, prepared) in piece {
                    if is_given(prepared, tokenizer) {
                        out.pass();
                        continue;
                    }
                    let (text, form) = (&prepared.record.text, prepared.form.as_ref());
                    if let Some(ids) = supplied_ids(prepared, tokenizer) {
                        if judge.is_some_and(|judge| judge.is_compared(&prepared.identity)) {
                            check_supplied_ids(prepared, tokenizer, encoder, ids)?;
                        }
                        out.push_ids(&tokenizer.tokenizer, text, ids)?;
                        continue;
                    }
                    out.push(&tokenizer.tokenizer, encoder, text, form)?;
                }
                Ok(out)
            },
        )
        .collect()
}

/// Stores what [`encode`] made of kept newcomers, in their order. A text that was refused may be an error.
pub(super) fn store_ids(
    batch: &mut CommitBatch<'_>,
    tokenizer: &LoadedTokenizer,
    sources: &ChunkSources,
    (kept, encoded): (&[(DocId, &FingerprintedRecord)], &[EncodedBatch]),
    on_error: OnError,
) -> Result<EncodedDocuments, Error> {
    let mut made = EncodedDocuments::default();
    for (piece, encoded) in kept.chunks(PIECE).zip(encoded) {
        encoded.add_spelled(&tokenizer.tokenizer, &mut made.spelled);
        made.engines.add(encoded.engines.clone());
        for (place, why) in encoded.refused() {
            let Some((document, prepared)) = piece.get(place) else { continue };
            if on_error == OnError::Fail {
                let origin = &prepared.record.origin;
                let what = format!(
                    "record {} (counted from 0): tokenizer `{}` cannot encode its text: {why}",
                    origin.number, tokenizer.name
                );
                return Err(bad_record(&origin.path, origin.number, None, what).with_hint(
                    Hint::text("store it without ids of that tokenizer (`on_error=reject`)"),
                ));
            }
            made.refused.add(*document, why);
        }
    }
    let came = kept.iter().filter(|(_, prepared)| supplied_ids(prepared, tokenizer).is_some());
    made.brought = came.count() as u64;
    let encoded = encoded.iter().flat_map(EncodedBatch::iter);
    for ((id, prepared), encoded) in kept.iter().zip(encoded) {
        let source = sources.source(&prepared.record);
        if is_given(prepared, tokenizer) {
            // Stored with the document; a kept one's count for its source.
            let given = prepared.given.as_ref().map_or(0, |given| given.ids.len());
            let count = i64::try_from(given).unwrap_or(i64::MAX);
            batch.count_tokens(tokenizer.id, source, count)?;
            made.tokens += given as u64;
        } else {
            let trains =
                |form: &TextForm| form.spans.as_ref().is_some_and(|spans| !spans.is_empty());
            if encoded.1.is_some_and(<[LossSpan]>::is_empty)
                && prepared.form.as_ref().is_some_and(trains)
            {
                made.untrained.insert(*id);
            }
            let vocab_size = tokenizer.vocab_size;
            made.tokens +=
                store_encoded(batch, tokenizer.id, vocab_size, *id, Some(source), encoded)?;
        }
    }
    Ok(made)
}
