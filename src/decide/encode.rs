//! Makes token ids and trained tokens of documents: of newcomers, for later tokenizers, of those kept again.
//!
//! A document whose text a tokenizer refuses is stored, without ids of that tokenizer.

use model::invariant::run;
use model::{DocId, Error, LossSpan, MaskRule, SourceId, TextForm, TokenizerId};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use store::{CommitBatch, DocumentPlace, StoreError, View};
use tokenizer::{Encoder, EngineTexts, TokenOffsets, Tokenizer, TokenizerError};

/// Documents encoded into one buffer, by one thread.
pub const PIECE: usize = 64;

/// A registered tokenizer, ready to encode.
#[derive(Clone)]
pub struct LoadedTokenizer {
    /// Its id in the store.
    pub id: TokenizerId,
    /// The name under which it was registered.
    pub name: String,
    /// One more than its largest id, as registered.
    pub vocab_size: u32,
    /// How its trained tokens follow from the trained bytes of a text.
    pub mask_rule: MaskRule,
    /// The tokenizer with its encoder, as it was loaded.
    pub tokenizer: Arc<Tokenizer>,
}

/// What one tokenizer makes of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EncodedText {
    /// Its ids.
    pub ids: Vec<u32>,
    /// The trained ones; none: all.
    pub spans: Option<Vec<LossSpan>>,
}

/// What one tokenizer makes of some documents: their ids one behind the other in one buffer.
#[derive(Debug, Default)]
pub struct EncodedBatch {
    mask_rule: MaskRule,
    ids: Vec<u32>,
    ends: Vec<usize>,
    /// The documents whose tokens are not all trained, by place, with the trained tokens.
    spans: Vec<(usize, Vec<LossSpan>)>,
    /// Documents that spell a special token as text, by its place among the tokenizer's, and the last of
    /// them; empty while there is none.
    spelled: Vec<(u64, usize)>,
    /// Documents whose texts were refused: their place, and why. They have no ids.
    refused: Vec<(usize, String)>,
    /// By which engines the texts were encoded.
    pub engines: EngineTexts,
}

impl EncodedBatch {
    /// One without documents, for a tokenizer of this rule.
    #[must_use]
    pub fn of(mask_rule: MaskRule) -> Self {
        Self { mask_rule, ..Self::default() }
    }

    /// Encodes a text as its form says, behind the others. One that the tokenizer refuses has no ids; see
    /// [`EncodedBatch::refused`].
    ///
    /// # Errors
    /// [`TokenizerError`] when it is the tokenizer that cannot be used.
    pub fn push(
        &mut self,
        tokenizer: &Tokenizer,
        encoder: &mut Encoder<'_>,
        text: &str,
        form: Option<&TextForm>,
    ) -> Result<(), TokenizerError> {
        let start = self.ids.len();
        let appended = append_text(encoder, text, (form, self.mask_rule), &mut self.ids);
        self.engines.add(encoder.take_engine_texts());
        let spans = match appended {
            Ok(spans) => spans,
            Err(error) => {
                let why = error.refusal().ok_or(error)?;
                self.ids.truncate(start);
                self.refused.push((self.ends.len(), why));
                self.ends.push(start);
                return Ok(());
            }
        };
        self.spans.extend(spans.map(|spans| (self.ends.len(), spans)));
        self.ends.push(self.ids.len());
        match form.filter(|form| form.specials) {
            None => self.see_spelled(tokenizer, [text]),
            Some(form) => {
                let range = |range: &Range<u32>| range.start as usize..range.end as usize;
                let plain = form.plain.iter().filter_map(|plain| text.get(range(plain)));
                self.see_spelled(tokenizer, plain)
            }
        }
    }

    /// Puts the ids of a plain text behind the others, which the tokenizer made elsewhere.
    ///
    /// # Errors
    /// As [`EncodedBatch::push`].
    pub fn push_ids(
        &mut self,
        tokenizer: &Tokenizer,
        text: &str,
        ids: &[u32],
    ) -> Result<(), TokenizerError> {
        self.ids.extend_from_slice(ids);
        self.ends.push(self.ids.len());
        self.see_spelled(tokenizer, [text])
    }

    /// Notes which special tokens the last document spells in these parts of its text.
    fn see_spelled<'t>(
        &mut self,
        tokenizer: &Tokenizer,
        parts: impl IntoIterator<Item = &'t str>,
    ) -> Result<(), TokenizerError> {
        let document = self.ends.len();
        let spelled = &mut self.spelled;
        let mut see = |special: usize, _| {
            if spelled.len() <= special {
                spelled.resize(special + 1, (0, 0));
            }
            if let Some((documents, last)) = spelled.get_mut(special)
                && *last != document
            {
                (*documents, *last) = (*documents + 1, document);
            }
        };
        parts.into_iter().try_for_each(|part| tokenizer.specials_in(part, &mut see))
    }

    /// Puts ids behind the others, if `take` says that it appended them.
    ///
    /// # Errors
    /// What `take` says.
    pub fn push_with<E>(
        &mut self,
        take: impl FnOnce(&mut Vec<u32>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let start = self.ids.len();
        let taken = take(&mut self.ids);
        if matches!(taken, Ok(true)) {
            self.ends.push(self.ids.len());
        } else {
            self.ids.truncate(start);
        }
        taken
    }

    /// The places of documents whose texts the tokenizer refused, and why.
    pub fn refused(&self) -> impl Iterator<Item = (usize, &str)> {
        self.refused.iter().map(|(place, why)| (*place, why.as_str()))
    }

    /// Keeps a place for a document that has its ids already.
    pub fn pass(&mut self) {
        self.ends.push(self.ids.len());
    }

    /// The ids of each document, and the spans of them that are trained on; none: all are.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], Option<&[LossSpan]>)> {
        let mut spans = self.spans.iter().peekable();
        (0..self.ends.len()).map(move |at| {
            let spans = spans.next_if(|(place, _)| *place == at);
            (run(&self.ids, &self.ends, at), spans.map(|(_, spans)| spans.as_slice()))
        })
    }

    /// Adds to `documents` how many of these spell each special token of their tokenizer.
    pub fn add_spelled(&self, tokenizer: &Tokenizer, documents: &mut BTreeMap<String, u64>) {
        if self.spelled.is_empty() {
            return;
        }
        let specials = tokenizer.specials();
        for ((count, _), (_, special)) in self.spelled.iter().zip(specials) {
            if *count > 0 {
                *documents.entry(special).or_default() += count;
            }
        }
    }
}

/// Encodes a text as its form says; without one it is plain text. One that is refused has no ids.
///
/// # Errors
/// [`TokenizerError`] when it is the tokenizer that cannot be used.
pub fn encode_text(
    encoder: &mut Encoder<'_>,
    text: &str,
    form: Option<&TextForm>,
    mask_rule: MaskRule,
) -> Result<EncodedText, TokenizerError> {
    let mut ids = Vec::with_capacity(text.len() / 3 + 1);
    match append_text(encoder, text, (form, mask_rule), &mut ids) {
        Ok(spans) => Ok(EncodedText { ids, spans }),
        Err(error) if error.refusal().is_some() => Ok(EncodedText::default()),
        Err(error) => Err(error),
    }
}

/// Appends the ids of a text, encoded as its form says; answers which are trained, none: all.
fn append_text(
    encoder: &mut Encoder<'_>,
    text: &str,
    (form, mask_rule): (Option<&TextForm>, MaskRule),
    out: &mut Vec<u32>,
) -> Result<Option<Vec<LossSpan>>, TokenizerError> {
    let Some(form) = form.filter(|form| form.specials || form.spans.is_some()) else {
        encoder.encode(text, out)?;
        return Ok(None);
    };
    let (ids, offsets) = encode_placed(encoder, text, form)?;
    out.extend(ids);
    Ok(form.spans.as_ref().map(|spans| token_spans(spans, &offsets, mask_rule)))
}

/// The ids of a text, encoded as its form says, and where each stands in it.
///
/// # Errors
/// [`TokenizerError`] when it is refused, or the tokenizer cannot be used.
pub fn encode_placed(
    encoder: &mut Encoder<'_>,
    text: &str,
    form: &TextForm,
) -> Result<(Vec<u32>, TokenOffsets), TokenizerError> {
    if form.plain.is_empty() {
        encoder.encode_with_offsets(text, form.specials)
    } else {
        encoder.encode_beside_plain(text, &form.plain)
    }
}

/// The tokens of each span of bytes: those that begin within it, and by the later rule the one that holds its first byte,
/// unless that is of the span before. Where tokens share a character, they begin with it.
fn token_spans(bytes: &[LossSpan], offsets: &[(u32, u32)], rule: MaskRule) -> Vec<LossSpan> {
    let first_at = |byte: u32| offsets.partition_point(|(start, _)| *start < byte);
    let number = |token: usize| u32::try_from(token).unwrap_or(u32::MAX);
    let (mut spans, mut free) = (Vec::new(), 0);
    for span in bytes {
        let (mut start, end) = (first_at(span.start), first_at(span.end));
        let holds = |token: usize| offsets.get(token).is_some_and(|(_, end)| *end > span.start);
        while rule >= MaskRule::Hold && start > free && holds(start - 1) {
            start -= 1;
        }
        if start < end {
            spans.push(LossSpan { start: number(start), end: number(end), ..*span });
        }
        free = end;
    }
    spans
}

/// Encodes a stored document as its form says, behind others.
///
/// # Errors
/// [`Error`] when the store cannot be read or the tokenizer cannot be used.
pub fn encode_document(
    view: &View,
    tokenizer: &Tokenizer,
    encoder: &mut Encoder<'_>,
    document: DocId,
    place: &DocumentPlace,
    out: &mut EncodedBatch,
) -> Result<(), Error> {
    let text = view.text_of_owner(place.text_owner(document))?;
    let form = view.text_form(document)?;
    Ok(out.push(tokenizer, encoder, &text, form.as_ref())?)
}

/// Stores the ids of a document and which are trained; answers how many. A kept document has the source that they
/// count for.
///
/// # Errors
/// [`StoreError`] when the rows cannot be written.
pub fn store_encoded(
    batch: &mut CommitBatch<'_>,
    tokenizer: TokenizerId,
    vocab_size: u32,
    document: DocId,
    source: Option<SourceId>,
    (ids, spans): (&[u32], Option<&[LossSpan]>),
) -> Result<u64, StoreError> {
    let count = batch.put_tokens(tokenizer, document, ids, vocab_size)?;
    if let Some(source) = source {
        batch.count_tokens(tokenizer, source, count)?;
    }
    if let Some(spans) = spans {
        batch.loss(tokenizer, document, spans)?;
    }
    Ok(ids.len() as u64)
}

/// Counts the tokens of stored documents that came back, and encodes those that never were; answers
/// how many tokens were encoded. A text that is refused has none.
///
/// # Errors
/// [`Error`] when the store cannot be read or the tokenizer cannot be used.
pub fn encode_kept_again(
    batch: &mut CommitBatch<'_>,
    tokenizer: &LoadedTokenizer,
    documents: &[DocId],
) -> Result<u64, Error> {
    let (mut refused, mut engines) = Default::default();
    encode_again(batch, tokenizer, documents, (&mut refused, &mut engines))
}

/// Works like [`encode_kept_again`], and adds to `refused` the texts that have no ids, and to `engines` those that
/// were encoded.
///
/// # Errors
/// As [`encode_kept_again`].
pub fn encode_again(
    batch: &mut CommitBatch<'_>,
    tokenizer: &LoadedTokenizer,
    documents: &[DocId],
    (refused, engines): (&mut RefusedTexts, &mut EngineTexts),
) -> Result<u64, Error> {
    let mut unencoded = Vec::new();
    for document in documents {
        let place = batch.view().place(*document)?;
        match batch.token_count(tokenizer.id, *document)? {
            Some(count) => batch.count_tokens(tokenizer.id, place.source, count)?,
            None => unencoded.push((*document, place)),
        }
    }
    let view = batch.view().clone();
    if !unencoded.is_empty() {
        tokenizer.tokenizer.build_encoder();
    }
    let encoded: Vec<EncodedBatch> = unencoded
        .par_chunks(PIECE)
        .map_init(
            || tokenizer.tokenizer.encoder(),
            |encoder, piece| {
                let mut out = EncodedBatch::of(tokenizer.mask_rule);
                for (document, place) in piece {
                    let tokenizer = &tokenizer.tokenizer;
                    encode_document(&view, tokenizer, encoder, *document, place, &mut out)?;
                }
                Ok(out)
            },
        )
        .collect::<Result<_, Error>>()?;
    for (piece, encoded) in unencoded.chunks(PIECE).zip(&encoded) {
        for (place, why) in encoded.refused() {
            piece.get(place).into_iter().for_each(|(document, _)| refused.add(*document, why));
        }
        engines.add(encoded.engines.clone());
    }
    let mut total = 0;
    let encoded = encoded.iter().flat_map(EncodedBatch::iter);
    for ((document, place), encoded) in unencoded.iter().zip(encoded) {
        let (id, vocab_size, source) = (tokenizer.id, tokenizer.vocab_size, Some(place.source));
        total += store_encoded(batch, id, vocab_size, *document, source, encoded)?;
    }
    Ok(total)
}

/// Documents whose texts a tokenizer refused: they have no tokens of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct RefusedTexts {
    /// How many documents the tokenizer refused.
    pub documents: u64,
    /// The first of them.
    pub first: Option<u64>,
    /// Why, in the words of the tokenizer.
    pub why: String,
}

impl RefusedTexts {
    /// Counts a document.
    pub fn add(&mut self, document: DocId, why: &str) {
        self.documents += 1;
        if self.first.is_none() {
            (self.first, self.why) = (Some(document.0), why.to_owned());
        }
    }

    /// Adds the counts of a later commit.
    pub fn and(&mut self, later: Self) {
        self.documents += later.documents;
        if self.first.is_none() {
            (self.first, self.why) = (later.first, later.why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u32, end: u32) -> LossSpan {
        LossSpan { start, end, weight: 0.5 }
    }

    #[test]
    fn a_token_is_trained_when_it_begins_within_a_span() {
        // A token over the border, two that share a character, one that stands for nothing.
        let offsets = [(0, 3), (3, 7), (7, 10), (7, 10), (10, 10), (10, 12)];
        let spans = |bytes: &[LossSpan]| token_spans(bytes, &offsets, MaskRule::Begin);
        assert_eq!(spans(&[span(3, 10)]), [span(1, 4)]);
        assert_eq!(spans(&[span(4, 7), span(8, 12)]), [span(4, 6)]);
        assert_eq!(spans(&[span(0, 1), span(12, 20)]), [span(0, 1)]);
    }

    // An answer of one token, which begins in the prompt with the space before it, trained nothing.
    #[test]
    fn the_token_that_holds_the_first_byte_is_trained_on() {
        let offsets = [(0, 3), (3, 7), (7, 10), (7, 10), (10, 10), (10, 12)];
        let spans = |bytes: &[LossSpan]| token_spans(bytes, &offsets, MaskRule::Hold);
        assert_eq!(spans(&[span(3, 10)]), [span(1, 4)]);
        assert_eq!(spans(&[span(4, 7)]), [span(1, 2)]);
        assert_eq!(spans(&[span(8, 10)]), [span(2, 4)]);
        assert_eq!(spans(&[span(10, 12)]), [span(4, 6)]);
        assert_eq!(spans(&[span(0, 1), span(12, 20)]), [span(0, 1)]);
        // One that ends an earlier span is of that.
        assert_eq!(spans(&[span(2, 4), span(5, 9)]), [span(0, 2), span(2, 4)]);
        assert_eq!(spans(&[span(2, 4), span(5, 7)]), [span(0, 2)]);
    }

    /// The spans by definition, token by token.
    fn by_definition(
        bytes: &[LossSpan],
        offsets: &[(u32, u32)],
        rule: MaskRule,
    ) -> Vec<Option<usize>> {
        let begins = |at: usize, span: &LossSpan| (span.start..span.end).contains(&offsets[at].0);
        let own = |at: usize| {
            let begun = bytes.iter().position(|span| begins(at, span));
            let (start, end) = offsets[at];
            let held = bytes.iter().position(|span| start < span.start && span.start < end);
            begun.or(held.filter(|_| rule == MaskRule::Hold))
        };
        (0..offsets.len()).map(own).collect()
    }

    proptest::proptest! {
        #[test]
        fn trained_tokens_are_those_of_the_definition(
            lengths in proptest::collection::vec(0u32..5, 0..24),
            cuts in proptest::collection::btree_set(0u32..60, 0..10),
        ) {
            let mut end = 0;
            let offsets: Vec<(u32, u32)> = lengths.iter().map(|length| {
                end += length;
                (end - length, end)
            }).collect();
            let cuts: Vec<u32> = cuts.into_iter().collect();
            let bytes: Vec<LossSpan> = cuts.chunks_exact(2).map(|cut| span(cut[0], cut[1])).collect();
            for rule in [MaskRule::Begin, MaskRule::Hold] {
                let spans = token_spans(&bytes, &offsets, rule);
                proptest::prop_assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
                let is_trained = |at: usize| spans.iter().any(|span| (span.start..span.end).contains(&(at as u32)));
                for (at, own) in by_definition(&bytes, &offsets, rule).into_iter().enumerate() {
                    // One that stands for nothing goes with what it stands in.
                    if offsets[at].0 < offsets[at].1 {
                        proptest::prop_assert_eq!(is_trained(at), own.is_some(), "token {}", at);
                    }
                }
            }
        }
    }
}
