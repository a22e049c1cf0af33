//! Ids of a tokenizer that extends a stored one: taken over from its base where nothing new stands.

use super::error::CurateError;
use crate::decide::{EncodedBatch, encode_document};
use crate::model::{DocId, TokenizerId};
use crate::store::{Header, View};
use crate::tokenizer::{Affected, AffectedScratch, Encoder, Tokenizer};

/// The stored ids of the base of an extended tokenizer, and which of them still hold.
pub struct BaseIds {
    base: TokenizerId,
    affected: Affected,
}

/// Gives the ids of stored documents, on one thread: its buffers are used again.
pub struct IdsOfStored<'a> {
    view: &'a View,
    tokenizer: &'a Tokenizer,
    base: Option<&'a BaseIds>,
    encoder: Encoder<'a>,
    affected: AffectedScratch,
}

impl<'a> IdsOfStored<'a> {
    /// Ids of `tokenizer`, which extends the one of `base` if there is any.
    #[must_use]
    pub fn of(view: &'a View, tokenizer: &'a Tokenizer, base: Option<&'a BaseIds>) -> Self {
        let (encoder, affected) = (tokenizer.encoder(), AffectedScratch::default());
        Self { view, tokenizer, base, encoder, affected }
    }

    /// Puts the ids of a document behind others: copied from the base when they are stored there and have
    /// nothing new in them; else its text is encoded. Answers whether they were copied.
    ///
    /// # Errors
    /// [`CurateError`] when the store cannot be read or the tokenizer cannot be used.
    pub fn take(
        &mut self,
        document: DocId,
        header: &Header,
        out: &mut EncodedBatch,
    ) -> Result<bool, CurateError> {
        let Self { view, tokenizer, base, encoder, affected } = self;
        if let Some(base) = base
            && out.push_with(|ids| base.take(view, affected, document, ids))?
        {
            return Ok(true);
        }
        encode_document(view, tokenizer, encoder, document, header, out)?;
        Ok(false)
    }
}

impl BaseIds {
    /// The base of a stored tokenizer, when it extends one whose ids are all stored here.
    ///
    /// # Errors
    /// [`CurateError::Tokenizer`] when the one is no extension of the other, so that ids of the one mean
    /// nothing to the other; [`CurateError::Store`].
    pub fn of(view: &View, extended: TokenizerId) -> Result<Option<Self>, CurateError> {
        let found = |id: TokenizerId| view.tokenizers().find(|(other, _)| *other == id);
        let base = found(extended).and_then(|(_, record)| record.base).map(TokenizerId);
        // Dropped, or not encoded to its end: then there is nothing to take over.
        let Some((base, _)) = base.and_then(found).filter(|(_, base)| base.encoded_to == u64::MAX)
        else {
            return Ok(None);
        };
        let (old, new) = (view.tokenizer_file(base)?, view.tokenizer_file(extended)?);
        Ok(Some(Self { base, affected: Affected::between(&old, &new)? }))
    }

    /// Appends the ids of a document, if they hold for the extended tokenizer too.
    fn take(
        &self,
        view: &View,
        affected: &mut AffectedScratch,
        document: DocId,
        out: &mut Vec<u32>,
    ) -> Result<bool, CurateError> {
        // The trained tokens of a chat, or of given spans, are found by its text.
        if view.text_form(document)?.is_some() {
            return Ok(false);
        }
        let start = out.len();
        let is_stored = view.tokens(self.base, document, out)?;
        let ids = out.get(start..).unwrap_or_default();
        // A text that the base refused has none, which says nothing of this one.
        if !is_stored || ids.is_empty() || self.affected.is_affected(ids, affected) {
            return Ok(false);
        }
        Ok(!(self.affected.needs_text() && self.affected.is_text_affected(&view.text(document)?)))
    }
}
