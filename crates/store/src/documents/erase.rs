//! Erases documents: their rows go, and the texts and sketches that they lent to others move on.

use crate::batch::CommitBatch;
use crate::bytes::grid_rows::DocumentPlace;
use crate::bytes::key::{DocumentKey, TokensKey};
use crate::bytes::text::TextEncoder;
use crate::database::family::StoreFamily;
use crate::documents::headers::{DocumentRecord, Documents};
use crate::documents::indexed_values::{IndexedValues, indexed};
use crate::documents::loss::{Loss, TEXT};
use crate::documents::metadata::Metadata;
use crate::documents::texts::{Sketches, Texts};
use crate::documents::tokens::Tokens;
use crate::error::StoreError;
use crate::system_fields;
use model::{DocId, Standing, TokenizerId};

/// A document that is to be erased.
pub struct Erasure<'a> {
    /// Its id.
    pub document: DocId,
    /// Its header.
    pub header: &'a DocumentRecord,
    /// The header that takes its place: that of an empty document.
    pub stub: &'a DocumentRecord,
    /// The identity under which a later ingest would recognise it.
    pub identity: [u8; 16],
    /// What stays of its sketch: all, where what is similar is blocked on.
    pub sketch: Option<&'a [u8]>,
}

impl CommitBatch<'_> {
    /// Erases a removed document: an empty one without fields and key takes its place. Its text must have moved to
    /// those that it lends it to ([`CommitBatch::move_text`]).
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read or encoded.
    pub fn erase(&mut self, erased: &Erasure<'_>) -> Result<(), StoreError> {
        let Erasure { document, header, stub, identity, sketch } = *erased;
        // What is remembered of equal texts may be of this one.
        self.carry_over.replace(None);
        let view = self.view().clone();
        let key = DocumentKey { document };
        let declared = view.indexed_fields()?;
        let indexed = indexed(&view.metadata(document)?, &declared);
        self.index_again(document, &indexed, &IndexedValues::default())?;
        self.put::<Documents>(&key, &stub.encode())?;
        self.put::<Texts>(&key, &TextEncoder::new(None).encode("")?)?;
        match sketch {
            Some(sketch) => self.put::<Sketches>(&key, sketch)?,
            None => self.delete::<Sketches>(&key)?,
        }
        self.delete::<Metadata>(&key)?;
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
        let record = self.source_record(header.place.source)?;
        record.bytes = record.bytes.saturating_sub(header.bytes);
        self.set_standing(document, header, Some(Standing::Removed), Standing::Purged)
    }

    /// Has a borrower store the text and sketch itself that `owner` has lent it; answers their bytes.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn move_text(
        &mut self,
        owner: DocId,
        heir: DocId,
        header: &DocumentRecord,
    ) -> Result<u64, StoreError> {
        let (from, to) = (DocumentKey { document: owner }, DocumentKey { document: heir });
        let view = self.view().clone();
        let missing =
            || StoreError::Missing { what: "text", family: Texts::NAME, key: owner.to_string() };
        let text = view.pinned().get::<Texts>(&from)?.ok_or_else(missing)?.to_vec();
        self.put::<Texts>(&to, &text)?;
        let mut bytes = text.len();
        // The heir may have one of its own, of another part of the text, or be compared by too few words for one.
        let borrows = view.sketch_of_owner(heir)?.is_none() && view.sketch_of(heir)?.is_some();
        if let Some(sketch) = view.sketch_of_owner(owner)?.filter(|_| borrows) {
            self.put::<Sketches>(&to, &sketch)?;
            bytes += sketch.len();
        }
        let place = DocumentPlace { text_of: None, ..header.place };
        let header = DocumentRecord { place, ..header.clone() };
        self.put::<Documents>(&to, &header.encode())?;
        Ok(bytes as u64)
    }

    /// Has a borrower borrow text and sketch from another document.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn set_text_owner(
        &mut self,
        document: DocId,
        header: &DocumentRecord,
        owner: DocId,
    ) -> Result<(), StoreError> {
        let place = DocumentPlace { text_of: Some(owner), ..header.place };
        let header = DocumentRecord { place, ..header.clone() };
        self.put::<Documents>(&DocumentKey { document }, &header.encode())
    }
}
