//! The family `loss`: which tokens are trained on, and the byte spans of the text that they follow from.

use crate::model::{DocId, LossSpan, TextForm, TokenizerId};
use crate::store::batch::Batch;
use crate::store::columns::Loss;
use crate::store::error::StoreError;
use crate::store::rows::keys::{Key, TokensKey};
use crate::store::rows::loss::{LossRow, TEXT, encode_form, encode_loss};
use crate::store::view::View;

impl View {
    /// The trained tokens of a document in its stored ids, ascending; none: all of them.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn loss(
        &self,
        tokenizer: TokenizerId,
        document: DocId,
    ) -> Result<Option<Vec<LossSpan>>, StoreError> {
        let key = TokensKey { tokenizer, document };
        self.pinned().read_with::<Loss, _>("trained tokens", &key, LossRow::tokens)
    }

    /// Whether any document encoded by `tokenizer` has tokens that are not plainly trained.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn has_loss(&self, tokenizer: TokenizerId) -> Result<bool, StoreError> {
        let key = TokensKey { tokenizer, document: DocId(0) }.to_bytes();
        let prefix = key.get(..2).unwrap_or_default();
        Ok(self.pinned().scan_prefix::<Loss>(prefix)?.advance()?.is_some())
    }

    /// The documents encoded by `tokenizer` that say which tokens are trained on, each with these, ascending by
    /// document.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub fn all_losses(
        &self,
        tokenizer: TokenizerId,
    ) -> Result<impl Iterator<Item = Result<(DocId, Vec<LossSpan>), StoreError>>, StoreError> {
        let prefix = TokensKey { tokenizer, document: DocId(0) }.to_bytes();
        let rows = self.pinned().scan_prefix::<Loss>(prefix.get(..2).unwrap_or_default())?;
        Ok(rows.taken("trained tokens", |key, row| Ok(Some((key.document, row.tokens()?)))))
    }

    /// How a document's text is encoded and what of it is trained on; none: plain text.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn text_form(&self, document: DocId) -> Result<Option<TextForm>, StoreError> {
        let key = TokensKey { tokenizer: TEXT, document };
        self.pinned().read_with::<Loss, _>("trained text", &key, LossRow::text)
    }

    /// Documents whose ids of `tokenizer` came with their records.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn given_by(&self, tokenizer: TokenizerId) -> Result<u64, StoreError> {
        let key = TokensKey { tokenizer: TEXT, document: DocId(0) }.to_bytes();
        let mut rows = self.pinned().scan_prefix::<Loss>(key.get(..2).unwrap_or_default())?;
        let mut documents = 0;
        while let Some((_, form)) = rows.next_with("trained text", LossRow::text)? {
            documents += u64::from(form.given == Some(tokenizer));
        }
        Ok(documents)
    }

    /// Whether any document has a [`TextForm`].
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn has_text_forms(&self) -> Result<bool, StoreError> {
        self.has_loss(TEXT)
    }
}

impl Batch<'_> {
    /// Stores which of a document's ids are trained on.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn loss(
        &mut self,
        tokenizer: TokenizerId,
        document: DocId,
        spans: &[LossSpan],
    ) -> Result<(), StoreError> {
        self.put::<Loss>(&TokensKey { tokenizer, document }, &encode_loss(spans))
    }

    /// Stores how a document's text is encoded and what of it is trained on.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn text_form(&mut self, document: DocId, form: &TextForm) -> Result<(), StoreError> {
        self.put::<Loss>(&TokensKey { tokenizer: TEXT, document }, &encode_form(form))
    }
}
