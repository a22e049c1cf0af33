//! Encodes the documents that a later tokenizer has not seen, kept now or in a snapshot, in resumable commits.

use super::error::CurateError;
use super::extend::{BaseIds, BaseScratch, take_ids};
use crate::decide::{EncodedBatch, PIECE, Refused, store_encoded};
use crate::model::{DocId, Interrupt, Progress, TokenizerId};
use crate::store::{CommitRecord, TokenizerRecord, View, Writer};
use crate::tokenizer::Tokenizer;
use rayon::prelude::*;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// Sample for the self-test of an encoder: texts, and bytes of each.
const SAMPLE: u64 = 256;
const SAMPLE_BYTES: usize = 16 << 10;

/// Kept documents, evenly spaced over the corpus.
pub(super) fn spread(view: &View) -> Result<Vec<DocId>, CurateError> {
    let kept = view.kept()?;
    let count = SAMPLE.min(kept.len());
    let documents = (0..count).filter_map(|at| kept.select(at * kept.len() / count));
    Ok(documents.map(DocId).collect())
}

/// Texts of kept documents, evenly spaced over the corpus, for the self-test of an encoder.
///
/// # Errors
/// [`CurateError::Store`] when a text cannot be read.
pub fn sample_texts(view: &View) -> Result<Vec<String>, CurateError> {
    let mut texts = Vec::new();
    for document in spread(view)? {
        let mut text = view.text(document)?;
        let end = (0..=SAMPLE_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
        texts.push(text);
    }
    Ok(texts)
}

/// Counts of a backfill: stored documents that a tokenizer encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backfilled {
    /// Documents that got ids.
    pub documents: u64,
    /// Of these, those whose ids were taken over from the tokenizer that this one extends; the texts of
    /// the others were encoded.
    pub copied: u64,
    /// Tokens that were stored.
    pub tokens: u64,
    /// Documents among the encoded that spell a special token, which was encoded as the text that it is.
    pub special_tokens_in_text: BTreeMap<String, u64>,
    /// Documents whose texts it refused: they count as encoded, to no tokens.
    pub refused: Refused,
}

/// A tokenizer that was registered or backfilled, and what it encoded.
#[derive(Clone, Debug)]
pub struct Added {
    /// The record as it is now.
    pub record: TokenizerRecord,
    /// Counts of the documents that it encoded.
    pub done: Backfilled,
    /// What the templates of stored conversations set turns apart with that is ordinary text to it, each with
    /// how many tokens it becomes.
    pub ordinary_markers: Vec<(String, usize)>,
}

/// Encodes every document that is kept, or was in a snapshot, from where the tokenizer's record says that
/// it stopped. Already encoded documents are passed over; an extended tokenizer takes over the ids of its
/// base where nothing new stands.
///
/// # Errors
/// [`CurateError`]; [`CurateError::Interrupted`] leaves what was committed.
pub fn encode_stored(
    writer: &mut Writer,
    id: TokenizerId,
    tokenizer: &Tokenizer,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Backfilled, CurateError> {
    let mut total = Backfilled::default();
    let is_complete = |(other, record): (TokenizerId, &TokenizerRecord)| {
        other == id && record.encoded_to == u64::MAX
    };
    // Every ingest asks: snapshots and the base are read only when there is something to do.
    if writer.view().tokenizers().any(is_complete) {
        return Ok(total);
    }
    let shown = kept_in_snapshots(writer.view())?;
    let base = BaseIds::of(writer.view(), id)?;
    let commit_bytes = writer.batch_bytes();
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
        while next < view.documents() && bytes < commit_bytes {
            let document = DocId(next);
            next += 1;
            let is_wanted = batch.is_kept(document) || shown.contains(document.0);
            if is_wanted && batch.token_count(id, document)?.is_none() {
                let header = view.expect_header(document)?;
                bytes += header.bytes;
                work.push((document, header));
            }
        }
        let taken: Vec<(EncodedBatch, u64)> = work
            .par_chunks(PIECE)
            .map_init(
                || BaseScratch::new(tokenizer),
                |scratch, piece| {
                    let (mut out, mut copied) = (EncodedBatch::default(), 0);
                    for (document, header) in piece {
                        let base = base.as_ref();
                        let is_copied =
                            take_ids(base, &view, tokenizer, scratch, *document, header, &mut out)?;
                        copied += u64::from(is_copied);
                    }
                    Ok((out, copied))
                },
            )
            .collect::<Result<_, CurateError>>()?;
        for (piece, (encoded, copied)) in work.chunks(PIECE).zip(&taken) {
            for (place, why) in encoded.refused() {
                let found = piece.get(place).into_iter();
                found.for_each(|(document, _)| total.refused.add(*document, why));
            }
            encoded.add_spelled(tokenizer, &mut total.special_tokens_in_text);
            total.copied += copied;
        }
        let encoded = taken.iter().flat_map(|(encoded, _)| encoded.iter());
        for ((document, header), encoded) in work.iter().zip(encoded) {
            let vocab_size = record.vocab_size;
            let source = batch.is_kept(*document).then_some(header.source);
            total.tokens += store_encoded(&mut batch, id, vocab_size, *document, source, encoded)?;
            total.documents += 1;
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

/// Documents that a snapshot shows as kept.
fn kept_in_snapshots(view: &View) -> Result<RoaringTreemap, CurateError> {
    let mut shown = RoaringTreemap::new();
    for snapshot in view.snapshots()? {
        shown |= view.snapshot_kept(&snapshot.name)?;
    }
    Ok(shown)
}
