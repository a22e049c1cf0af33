//! Encodes the kept documents that a later tokenizer has not seen, in resumable commits.

use super::error::CurateError;
use crate::decide::{Encoded, encode_document, store_encoded};
use crate::model::{DocId, Interrupt, Progress, TokenizerId};
use crate::store::{CommitRecord, View, Writer};
use crate::tokenizer::Tokenizer;
use rayon::prelude::*;

/// Texts encoded per commit, in bytes.
const COMMIT_BYTES: u64 = 32 << 20;
/// Sample for the self-test of an encoder: texts, and bytes of each.
const SAMPLE: u64 = 256;
const SAMPLE_BYTES: usize = 16 << 10;

/// Texts of kept documents, evenly spaced over the corpus, for the self-test of an encoder.
///
/// # Errors
/// [`CurateError::Store`] when a text cannot be read.
pub fn sample_texts(view: &View) -> Result<Vec<String>, CurateError> {
    let kept = view.kept()?;
    let mut texts = Vec::new();
    for at in 0..SAMPLE.min(kept.len()) {
        let Some(document) = kept.select(at * kept.len() / SAMPLE.min(kept.len())) else {
            continue;
        };
        let mut text = view.text(DocId(document))?;
        let end = (0..=SAMPLE_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
        texts.push(text);
    }
    Ok(texts)
}

/// Encodes every kept document from where the tokenizer's record says that it stopped; answers how
/// many tokens were added. Already encoded documents are passed over.
///
/// # Errors
/// [`CurateError`]; [`CurateError::Interrupted`] leaves what was committed.
pub fn encode_stored(
    writer: &mut Writer,
    id: TokenizerId,
    tokenizer: &Tokenizer,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<u64, CurateError> {
    let mut total = 0;
    progress.begin("encoding stored documents", Some(writer.view().documents()));
    loop {
        let mut batch = writer.begin()?;
        let view = batch.view().clone();
        let Some((_, record)) = view.tokenizers().find(|(other, _)| *other == id) else {
            return Ok(total);
        };
        let mut record = record.clone();
        if record.encoded_to == u64::MAX {
            return Ok(total);
        }
        let mut work = Vec::new();
        let mut bytes = 0;
        let mut next = record.encoded_to;
        while next < view.documents() && bytes < COMMIT_BYTES {
            let document = DocId(next);
            next += 1;
            if batch.is_kept(document) && batch.token_count(id, document)?.is_none() {
                let header = view.expect_header(document)?;
                bytes += header.bytes;
                work.push((document, header));
            }
        }
        let encoded: Vec<Encoded> = work
            .par_iter()
            .with_min_len(8)
            .map_init(
                || tokenizer.encoder(),
                |encoder, (document, header)| {
                    encode_document(&view, tokenizer, encoder, *document, header)
                },
            )
            .collect::<Result<_, _>>()?;
        for ((document, header), encoded) in work.iter().zip(encoded) {
            let vocab_size = record.vocab_size;
            total += store_encoded(&mut batch, id, vocab_size, *document, header.source, &encoded)?;
        }
        let is_last = next >= view.documents();
        record.encoded_to = if is_last { u64::MAX } else { next };
        batch.update_tokenizer(id, &record)?;
        let subject = record.name.clone();
        batch.commit(&CommitRecord {
            kind: "tokenizer".to_owned(),
            subject,
            ..CommitRecord::default()
        })?;
        progress.advance(next);
        if is_last {
            return Ok(total);
        }
        if interrupt.is_raised() {
            return Err(CurateError::Interrupted);
        }
    }
}
