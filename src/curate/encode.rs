//! Encodes the documents that a later tokenizer has not seen, in commits that can be resumed.
//!
//! Documents that are kept now or in a snapshot are encoded, and near duplicates that a plan draws. Ids of a tokenizer
//! that extends a stored one are taken over from its base where no new token stands.

use super::commits::CommitLoop;
use crate::decide::{
    EncodedBatch, LoadedTokenizer, PIECE, RefusedTexts, encode_document, store_encoded,
};
use model::invariant::part;
use model::{Context, DocId, Error, MaskRule, TokenizerId};
use rayon::prelude::*;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use store::{
    CommitBatch, CommitRecord, DocumentPlace, StoreError, StoreWriter, TokenizerRecord, View,
};
use tokenizer::{
    Encoder, EngineTexts, ReencodeFilter, ReencodeScratch, Tokenizer, is_sentencepiece_reference,
};

/// Sample for the self-test of an encoder: texts, and bytes of each.
const SAMPLE: u64 = 256;
const SAMPLE_BYTES: usize = 16 << 10;

/// Counts of a backfill: stored documents that a tokenizer encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackfillReport {
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
    pub refused: RefusedTexts,
    /// By which engines the texts were encoded.
    pub engines: EngineTexts,
}

impl BackfillReport {
    /// Counts the documents of one commit, whose ids `taken` has piece by piece.
    fn count(
        &mut self,
        tokenizer: &Tokenizer,
        work: &[(DocId, DocumentPlace)],
        taken: &[(EncodedBatch, u64)],
    ) {
        self.documents += work.len() as u64;
        for (piece, (encoded, copied)) in work.chunks(PIECE).zip(taken) {
            for (place, why) in encoded.refused() {
                let found = piece.get(place).into_iter();
                found.for_each(|(document, _)| self.refused.add(*document, why));
            }
            encoded.add_spelled(tokenizer, &mut self.special_tokens_in_text);
            self.copied += copied;
            self.engines.add(encoded.engines.clone());
        }
    }
}

/// The stored ids of the base of an extended tokenizer, and which of them still hold.
pub struct BaseIds {
    base: TokenizerId,
    affected: ReencodeFilter,
}

/// Gives the ids of stored documents, on one thread: its buffers are used again.
pub struct StoredDocumentEncoder<'a> {
    view: &'a View,
    tokenizer: &'a Tokenizer,
    base: Option<&'a BaseIds>,
    encoder: Encoder<'a>,
    affected: ReencodeScratch,
}

impl<'a> StoredDocumentEncoder<'a> {
    /// Ids of `tokenizer`, which extends the one of `base` if there is any.
    #[must_use]
    pub fn of(view: &'a View, tokenizer: &'a Tokenizer, base: Option<&'a BaseIds>) -> Self {
        let (encoder, affected) = (tokenizer.encoder(), ReencodeScratch::default());
        Self { view, tokenizer, base, encoder, affected }
    }

    /// Puts the ids of a document behind others: copied from the base when they are stored there and have
    /// nothing new in them; else its text is encoded. Answers whether they were copied.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read or the tokenizer cannot be used.
    pub fn take(
        &mut self,
        document: DocId,
        place: &DocumentPlace,
        out: &mut EncodedBatch,
    ) -> Result<bool, Error> {
        let Self { view, tokenizer, base, encoder, affected } = self;
        if let Some(base) = base
            && out.push_with(|ids| base.take(view, affected, document, ids))?
        {
            return Ok(true);
        }
        encode_document(view, tokenizer, encoder, document, place, out)?;
        Ok(false)
    }
}

impl BaseIds {
    /// The base of a stored tokenizer, when it extends one whose ids are all stored here.
    ///
    /// # Errors
    /// [`Error`] when the one is not an extension of the other, so that ids of the one mean nothing to the other, or
    /// when rows cannot be read.
    pub fn of(view: &View, extended: TokenizerId) -> Result<Option<Self>, Error> {
        let found = |id: TokenizerId| view.tokenizers().find(|(other, _)| *other == id);
        let base = found(extended).and_then(|(_, record)| record.base).map(TokenizerId);
        // Dropped, or not encoded to its end: then there is nothing to take over. Nor are ids of SentencePiece: an
        // extension of a `.model` is a `tokenizer.json`, to which the library gives ids.
        let is_usable = |base: &TokenizerRecord| {
            base.encoded_to == u64::MAX
                && base.drawn().is_none()
                && !is_sentencepiece_reference(&base.reference)
        };
        let Some((base, _)) = base.and_then(found).filter(|(_, base)| is_usable(base)) else {
            return Ok(None);
        };
        let (old, new) = (view.tokenizer_file(base)?, view.tokenizer_file(extended)?);
        Ok(Some(Self { base, affected: ReencodeFilter::between(&old, &new)? }))
    }

    /// Appends the ids of a document, if they hold for the extended tokenizer too.
    fn take(
        &self,
        view: &View,
        affected: &mut ReencodeScratch,
        document: DocId,
        out: &mut Vec<u32>,
    ) -> Result<bool, Error> {
        // The trained tokens of a chat, or of given spans, are found by its text.
        if view.text_form(document)?.is_some() {
            return Ok(false);
        }
        let start = out.len();
        let is_stored = view.tokens(self.base, document, out)?;
        let ids = part(out, start..);
        // A text that the base refused has none, which says nothing of this one.
        if !is_stored || ids.is_empty() || self.affected.is_affected(ids, affected) {
            return Ok(false);
        }
        Ok(!(self.affected.needs_text() && self.affected.is_text_affected(&view.text(document)?)))
    }
}

/// Kept documents, evenly spaced over the corpus.
pub(super) fn spread(view: &View) -> Result<Vec<DocId>, Error> {
    let kept = view.kept()?;
    let count = SAMPLE.min(kept.len());
    let documents = (0..count).filter_map(|at| kept.select(at * kept.len() / count));
    Ok(documents.map(DocId).collect())
}

/// Texts of kept documents, evenly spaced over the corpus, for the self-test of an encoder.
///
/// # Errors
/// [`Error`] when a text cannot be read.
pub fn sample_texts(view: &View) -> Result<Vec<String>, Error> {
    let mut texts = Vec::new();
    for document in spread(view)? {
        let mut text = view.text(document)?;
        text.truncate(text.floor_char_boundary(SAMPLE_BYTES));
        texts.push(text);
    }
    Ok(texts)
}

/// Encodes every document that is kept, or was in a snapshot, from where the tokenizer's record says that it stopped.
/// Already encoded documents are skipped; an extended tokenizer takes over the ids of its base where nothing new
/// stands. While a repair makes ids again, every document that has a length in tokens gets its ids.
///
/// # Errors
/// [`Error`]; an interrupt leaves what was committed.
pub fn encode_stored(
    writer: &mut StoreWriter,
    id: TokenizerId,
    tokenizer: &Tokenizer,
    context: &Context<'_>,
) -> Result<BackfillReport, Error> {
    let mut total = BackfillReport::default();
    let is_complete = |(other, record): (TokenizerId, &TokenizerRecord)| {
        other == id && record.encoded_to == u64::MAX
    };
    // Every ingest asks: snapshots and the base are read only when there is something to do.
    if writer.view().tokenizers().any(is_complete) {
        return Ok(total);
    }
    tokenizer.build_encoder();
    let shown = kept_in_snapshots(writer.view())?;
    let is_repair = writer.view().repairs()?.contains_key("tokens");
    let base = BaseIds::of(writer.view(), id)?;
    let commit_bytes = writer.batch_bytes();
    let documents = writer.view().documents();
    let mut commits = CommitLoop::begin("encoding stored documents", Some(documents), context);
    loop {
        let mut batch = commits.batch(writer)?;
        let view = batch.view().clone();
        let Some((_, record)) = view.tokenizers().find(|(other, _)| *other == id) else {
            return Ok(total);
        };
        let mut record = record.clone();
        if record.encoded_to == u64::MAX {
            return Ok(total);
        }
        let (work, next) =
            unencoded(&batch, (id, is_repair), &shown, (record.encoded_to, commit_bytes))?;
        let taken = take_ids(&view, (tokenizer, record.mask_rule), base.as_ref(), &work)?;
        total.count(tokenizer, &work, &taken);
        total.tokens += store_ids(&mut batch, (id, record.vocab_size), &work, &taken)?;
        let is_last = next >= view.documents();
        record.encoded_to = if is_last { u64::MAX } else { next };
        batch.update_tokenizer(id, &record)?;
        commits.commit(batch, &CommitRecord::about("tokenizer", &record.name), next)?;
        if is_last {
            commits.end();
            return Ok(total);
        }
    }
}

/// Encodes `documents` that are not kept and that a plan draws.
///
/// # Errors
/// [`Error`]; an interrupt leaves what was committed.
pub fn encode_members(
    writer: &mut StoreWriter,
    loaded: &LoadedTokenizer,
    documents: &RoaringTreemap,
    context: &Context<'_>,
) -> Result<(), Error> {
    let base = BaseIds::of(writer.view(), loaded.id)?;
    let stage = "encoding near duplicates";
    let mut commits = CommitLoop::begin(stage, Some(documents.len()), context);
    let (mut rest, mut done) = (documents.iter().map(DocId).peekable(), 0);
    while rest.peek().is_some() {
        let (most, mut bytes, mut work) = (writer.batch_bytes(), 0, Vec::new());
        let mut batch = commits.batch(writer)?;
        let view = batch.view().clone();
        while let Some(document) = rest.next_if(|_| bytes < most) {
            bytes += view.text_bytes(document)?;
            work.push((document, view.place(document)?));
        }
        if work.is_empty() {
            break;
        }
        done += work.len() as u64;
        let by = (&*loaded.tokenizer, loaded.mask_rule);
        let taken = take_ids(&view, by, base.as_ref(), &work)?;
        store_ids(&mut batch, (loaded.id, loaded.vocab_size), &work, &taken)?;
        // Not of the tokenizer: nobody takes it back by dropping that.
        commits.commit(batch, &CommitRecord::about("epoch", "near duplicates encoded"), done)?;
    }
    commits.end();
    Ok(())
}

/// Stores the ids of documents; answers how many.
fn store_ids(
    batch: &mut CommitBatch<'_>,
    (id, vocab_size): (TokenizerId, u32),
    work: &[(DocId, DocumentPlace)],
    taken: &[(EncodedBatch, u64)],
) -> Result<u64, StoreError> {
    let (encoded, mut tokens) = (taken.iter().flat_map(|(encoded, _)| encoded.iter()), 0);
    for ((document, place), encoded) in work.iter().zip(encoded) {
        let source = batch.is_kept(*document).then_some(place.source);
        tokens += store_encoded(batch, id, vocab_size, *document, source, encoded)?;
    }
    Ok(tokens)
}

/// Documents of the next commit that have no ids of a tokenizer yet, from number `from` on until their texts are of
/// `bytes`, and the number behind the last that was examined.
fn unencoded(
    batch: &CommitBatch<'_>,
    (id, is_repair): (TokenizerId, bool),
    shown: &RoaringTreemap,
    (from, bytes): (u64, u64),
) -> Result<(Vec<(DocId, DocumentPlace)>, u64), Error> {
    let view = batch.view();
    let (mut work, mut taken, mut next) = (Vec::new(), 0, from);
    while next < view.documents() && taken < bytes {
        let document = DocId(next);
        next += 1;
        let is_wanted = batch.is_kept(document) || shown.contains(document.0);
        let has_length = batch.token_count(id, document)?.is_some();
        let has_ids =
            if is_repair { view.token_bytes(id, document)?.is_some() } else { has_length };
        if (is_wanted || has_length) && !has_ids {
            taken += view.text_bytes(document)?;
            work.push((document, view.place(document)?));
        }
    }
    Ok((work, next))
}

/// The ids of documents, in parallel, piece by piece, and how many of each piece were copied.
fn take_ids(
    view: &View,
    (tokenizer, mask_rule): (&Tokenizer, MaskRule),
    base: Option<&BaseIds>,
    work: &[(DocId, DocumentPlace)],
) -> Result<Vec<(EncodedBatch, u64)>, Error> {
    let take = |ids: &mut StoredDocumentEncoder<'_>, piece: &[(DocId, DocumentPlace)]| {
        let (mut out, mut copied) = (EncodedBatch::of(mask_rule), 0);
        for (document, place) in piece {
            copied += u64::from(ids.take(*document, place, &mut out)?);
        }
        Ok((out, copied))
    };
    let pieces = work.par_chunks(PIECE);
    pieces.map_init(|| StoredDocumentEncoder::of(view, tokenizer, base), take).collect()
}

/// Documents that a snapshot shows as kept.
fn kept_in_snapshots(view: &View) -> Result<RoaringTreemap, Error> {
    let mut shown = RoaringTreemap::new();
    for snapshot in view.snapshots()? {
        shown |= view.snapshot_kept(&snapshot.name)?;
    }
    Ok(shown)
}
