//! Erases documents: their values go, and the texts and sketches that they lent to others move on.

use crate::batch::CommitBatch;
use crate::bytes::grid_rows::{DocumentPlace, DocumentPrint};
use crate::bytes::key::TokensKey;
use crate::documents::indexed_values::{IndexedValues, indexed};
use crate::documents::loss::{Loss, TEXT};
use crate::documents::tokens::Tokens;
use crate::error::StoreError;
use crate::system_fields;
use model::{DocId, Standing, TokenizerId};

/// A document that is to be erased.
pub struct Erasure {
    /// Its id.
    pub document: DocId,
    /// The place that it has from now on: that of an empty document there.
    pub place: DocumentPlace,
    /// The print of an empty document.
    pub print: DocumentPrint,
    /// The identity under which a later ingest would recognise it.
    pub identity: [u8; 16],
    /// What stays of its sketch: all, where what is similar is blocked on.
    pub sketch: Option<Vec<u8>>,
}

impl CommitBatch<'_> {
    /// Erases a removed document: an empty one without fields and key takes its place. Its text must have moved to
    /// those that it lends it to ([`CommitBatch::move_text`]).
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read or encoded.
    pub fn erase(&mut self, erased: Erasure) -> Result<(), StoreError> {
        let Erasure { document, place, print, identity, sketch } = erased;
        // What is remembered of equal texts may be of this one.
        self.carry_over.replace(None);
        let view = self.view().clone();
        let bytes = view.text_bytes(document)?;
        let declared = view.indexed_fields()?;
        let indexed = indexed(&view.metadata(document)?, &declared);
        self.index_again(document, &indexed, &IndexedValues::default())?;
        self.set_place(document, place);
        self.set_print(document, print);
        self.set_sketch(document, sketch);
        self.set_text(document, Some(String::new()));
        self.set_key(document, None);
        self.set_metadata(document, "{}".to_owned());
        self.forget_sightings(document)?;
        for (tokenizer, record) in (0..).map(TokenizerId).zip(view.all_tokenizers()) {
            self.delete::<Tokens>(&TokensKey { tokenizer, document })?;
            self.delete::<Loss>(&TokensKey { tokenizer, document })?;
            if !record.dropped {
                self.number_or_null(system_fields::tokens_of(tokenizer), document, None);
            }
        }
        self.delete::<Loss>(&TokensKey { tokenizer: TEXT, document })?;
        self.forget_identity(identity, document)?;
        self.number(system_fields::BYTES, document, 0);
        self.number(system_fields::CHARS, document, 0);
        let record = self.source_record(place.source)?;
        record.bytes = record.bytes.saturating_sub(bytes);
        self.set_standing(document, Some(Standing::Removed), Standing::Purged)
    }

    /// Has a borrower store the text and sketch itself that `owner` has lent it.
    ///
    /// # Errors
    /// [`StoreError`] when pages cannot be read.
    pub fn move_text(&mut self, owner: DocId, heir: DocId) -> Result<(), StoreError> {
        let view = self.view().clone();
        self.set_text(heir, Some(view.text_of_owner(owner)?));
        // The heir may have one of its own, of another part of the text, or be compared by too few words for one.
        if view.sketch_of_owner(heir)?.is_none()
            && let Some(sketch) = view.sketch_of(heir)?
        {
            self.set_sketch(heir, Some(sketch));
        }
        self.set_place(heir, DocumentPlace { text_of: None, ..view.place(heir)? });
        Ok(())
    }

    /// Has a borrower borrow text and sketch from another document.
    ///
    /// # Errors
    /// [`StoreError`] when its page cannot be read.
    pub fn set_text_owner(&mut self, document: DocId, owner: DocId) -> Result<(), StoreError> {
        let place = DocumentPlace { text_of: Some(owner), ..self.view().place(document)? };
        self.set_place(document, place);
        Ok(())
    }
}
