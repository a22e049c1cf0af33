//! Token ids and trained tokens of documents: one way to make them, for newcomers, for later
//! tokenizers and for what is kept again.

use super::error::DecideError;
use crate::model::{DocId, LossSpan, SourceId, TextForm, TokenizerId};
use crate::store::{Batch, Header, StoreError, View};
use crate::tokenizer::{Encoder, Tokenizer, TokenizerError};
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

/// What one tokenizer makes of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Encoded {
    /// Its ids.
    pub ids: Vec<u32>,
    /// The trained ones; none: all.
    pub spans: Option<Vec<LossSpan>>,
}

/// Encodes a text as its form says; without one it is plain text.
///
/// # Errors
/// [`TokenizerError`] when the tokenizer refuses the text.
pub fn encode_text(
    tokenizer: &Tokenizer,
    encoder: &mut Encoder<'_>,
    text: &str,
    form: Option<&TextForm>,
) -> Result<Encoded, TokenizerError> {
    let Some(form) = form.filter(|form| form.specials || form.spans.is_some()) else {
        let mut ids = Vec::with_capacity(text.len() / 3 + 1);
        encoder.encode(text, &mut ids)?;
        return Ok(Encoded { ids, spans: None });
    };
    let (ids, offsets) = tokenizer.encode_with_offsets(text, form.specials)?;
    let spans = form.spans.as_ref().map(|spans| token_spans(spans, &offsets));
    Ok(Encoded { ids, spans })
}

/// The tokens that begin within each span of bytes. Where tokens share a character, they begin with it.
fn token_spans(bytes: &[LossSpan], offsets: &[(u32, u32)]) -> Vec<LossSpan> {
    let first_at = |byte: u32| {
        let before = offsets.partition_point(|(start, _)| *start < byte);
        u32::try_from(before).unwrap_or(u32::MAX)
    };
    let spans = bytes.iter().map(|span| LossSpan {
        start: first_at(span.start),
        end: first_at(span.end),
        weight: span.weight,
    });
    spans.filter(|span| span.start < span.end).collect()
}

/// Encodes a stored document as its form says.
///
/// # Errors
/// [`DecideError`] when the store cannot be read or the text is refused.
pub fn encode_document(
    view: &View,
    tokenizer: &Tokenizer,
    encoder: &mut Encoder<'_>,
    document: DocId,
    header: &Header,
) -> Result<Encoded, DecideError> {
    let text = view.text_of_owner(header.text_owner(document))?;
    let form = view.text_form(document)?;
    Ok(encode_text(tokenizer, encoder, &text, form.as_ref())?)
}

/// Stores what a tokenizer made of a kept document; answers how many tokens.
///
/// # Errors
/// [`StoreError`] when the rows cannot be written.
pub fn store_encoded(
    batch: &mut Batch<'_>,
    tokenizer: TokenizerId,
    vocab_size: u32,
    document: DocId,
    source: SourceId,
    encoded: &Encoded,
) -> Result<u64, StoreError> {
    batch.tokens(tokenizer, document, source, &encoded.ids, vocab_size)?;
    if let Some(spans) = &encoded.spans {
        batch.loss(tokenizer, document, spans)?;
    }
    Ok(encoded.ids.len() as u64)
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
    let encoded: Vec<Encoded> = unencoded
        .par_iter()
        .with_min_len(8)
        .map_init(
            || tokenizer.tokenizer.encoder(),
            |encoder, (document, header)| {
                encode_document(&view, &tokenizer.tokenizer, encoder, *document, header)
            },
        )
        .collect::<Result<_, _>>()?;
    let mut total = 0;
    for ((document, header), encoded) in unencoded.iter().zip(encoded) {
        let (id, vocab_size) = (tokenizer.id, tokenizer.vocab_size);
        total += store_encoded(batch, id, vocab_size, *document, header.source, &encoded)?;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_trained_when_it_begins_within_a_span() {
        let span = |start, end| LossSpan { start, end, weight: 0.5 };
        // A token over the border, two that share a character, one that stands for nothing.
        let offsets = [(0, 3), (3, 7), (7, 10), (7, 10), (10, 10), (10, 12)];
        assert_eq!(token_spans(&[span(3, 10)], &offsets), [span(1, 4)]);
        assert_eq!(token_spans(&[span(4, 7), span(8, 12)], &offsets), [span(4, 6)]);
        assert_eq!(token_spans(&[span(0, 1), span(12, 20)], &offsets), [span(0, 1)]);
    }
}
