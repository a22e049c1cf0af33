//! Shows the stored tokens of one document with their texts, and compares them with an encoder's.

use super::encode::spread;
use crate::corpus::Corpus;
use crate::decide::{EncodedBatch, LoadedTokenizer, encode_document, encode_placed};
use crate::sql::SqlError;
use model::{DocId, Error, ErrorKind, LossSpan, TokenizerId};
use serde::Serialize;
use store::View;
use tokenizer::Tokenizer;

/// The tokens of one document by one tokenizer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ShownTokens {
    /// The id of the document whose tokens these are.
    pub document: u64,
    /// The name of the tokenizer.
    pub tokenizer: String,
    /// Its tokens, in order.
    pub tokens: Vec<ShownToken>,
}

/// One stored token of a document, as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ShownToken {
    /// The id of the token.
    pub id: u32,
    /// Its text; if tokens share a character, the first one has it.
    pub text: String,
    /// Whether it is trained on.
    pub trained: bool,
    /// Its weight in the loss; 0 if it is not trained on.
    pub weight: f32,
}
impl Corpus {
    /// The stored token ids of a document, each with its text and whether it is trained on. Without a name the first
    /// tokenizer of the corpus is meant.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`](crate::tokenizer::TokenizerError::Unknown); [`SqlError::NoDocument`];
    /// [`Error`] when it was never encoded.
    pub fn tokens_of(
        &self,
        document: DocId,
        tokenizer: Option<&str>,
    ) -> Result<ShownTokens, Error> {
        let documents = self.view().documents();
        if document.0 >= documents {
            return Err(SqlError::NoDocument { document, documents }.into());
        }
        let loaded = self.tokenizer(tokenizer)?;
        let LoadedTokenizer { id, name, tokenizer, .. } = &loaded;
        shown_tokens(self.view(), document, *id, name, tokenizer)
    }
}

/// The stored tokens of a document.
///
/// # Errors
/// [`Error`] when it was never encoded, or a row cannot be read.
pub fn shown_tokens(
    view: &View,
    document: DocId,
    id: TokenizerId,
    name: &str,
    tokenizer: &Tokenizer,
) -> Result<ShownTokens, Error> {
    let mut ids = Vec::new();
    if !view.tokens(id, document, &mut ids)? {
        return Err(Error::of(
            ErrorKind::NotFound,
            format!(
                "document {document} was never encoded by tokenizer `{name}`: only kept documents are"
            ),
        ));
    }
    let texts = texts(view, document, tokenizer, &ids)?;
    let spans = view.loss(id, document)?;
    let tokens = (0_u32..).zip(ids).zip(texts).map(|((at, id), text)| {
        let weight = weight(spans.as_deref(), at);
        ShownToken { id, text, trained: weight > 0.0, weight }
    });
    Ok(ShownTokens { document: document.0, tokenizer: name.to_owned(), tokens: tokens.collect() })
}

/// Where each token of a document's text ends, in bytes, by encoding it again as it was encoded; none when its ids came
/// with its record.
///
/// # Errors
/// [`Error`] when rows cannot be read, or the text is refused.
pub fn token_ends(
    view: &View,
    tokenizer: &Tokenizer,
    document: DocId,
    text: &str,
) -> Result<Option<Vec<u32>>, Error> {
    let form = view.text_form(document)?.unwrap_or_default();
    if form.given.is_some() {
        return Ok(None);
    }
    let (_, offsets) = encode_placed(&mut tokenizer.encoder(), text, &form)?;
    Ok(Some(offsets.into_iter().map(|(_, end)| end).collect()))
}

/// A stored document whose ids are not those that its tokenizer gives now, among some hundred spread
/// over the corpus.
///
/// # Errors
/// [`Error`] when one cannot be read.
pub fn other_ids(view: &View, loaded: &LoadedTokenizer) -> Result<Option<DocId>, Error> {
    let (mut encoder, mut stored) = (loaded.tokenizer.encoder(), Vec::new());
    for document in spread(view)? {
        let place = view.place(document)?;
        let form = view.text_form(document)?;
        stored.clear();
        if form.is_some_and(|form| form.given == Some(loaded.id))
            || !view.tokens(loaded.id, document, &mut stored)?
        {
            continue;
        }
        let mut now = EncodedBatch::default();
        encode_document(view, &loaded.tokenizer, &mut encoder, document, &place, &mut now)?;
        if now.iter().any(|(ids, _)| ids != stored) {
            return Ok(Some(document));
        }
    }
    Ok(None)
}

/// The texts of ids by their place in the text, where encoding it gives these ids; else each id is decoded by itself.
fn texts(
    view: &View,
    document: DocId,
    tokenizer: &Tokenizer,
    ids: &[u32],
) -> Result<Vec<String>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let text = view.text(document)?;
    let form = view.text_form(document)?.unwrap_or_default();
    let (computed, offsets) = encode_placed(&mut tokenizer.encoder(), &text, &form)?;
    if computed != ids {
        return ids.iter().map(|id| Ok(tokenizer.decode(&[*id])?)).collect();
    }
    let mut told = 0;
    let pieces = offsets.into_iter().map(|(start, end)| {
        let piece = text.get(start.max(told) as usize..end as usize).unwrap_or_default();
        told = told.max(end);
        piece.to_owned()
    });
    Ok(pieces.collect())
}

fn weight(spans: Option<&[LossSpan]>, at: u32) -> f32 {
    let Some(spans) = spans else { return 1.0 };
    let next = spans.partition_point(|span| span.end <= at);
    spans.get(next).filter(|span| span.start <= at).map_or(0.0, |span| span.weight)
}
