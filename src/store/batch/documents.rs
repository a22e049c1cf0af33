//! Adding documents, with everything that stands beside them.

use super::Batch;
use crate::model::{ColumnId, DocId, FileId};
use crate::store::columns::{Dictionaries, Documents, Metadata, Sketches, Texts};
use crate::store::error::StoreError;
use crate::store::fields;
use crate::store::rows::header::Header;
use crate::store::rows::ids;
use crate::store::rows::indexed::Indexed;
use crate::store::rows::keys::{DocumentKey, IdentityKey, Key, NumberKey};
use crate::store::rows::texts::{self, TextEncoder};
use std::sync::Arc;

impl Batch<'_> {
    /// Compresses texts, from any thread, as this batch stores them. On a corpus without a
    /// dictionary, one is trained on `samples` if they are enough, and stored with this batch.
    ///
    /// # Errors
    /// [`StoreError`] when the dictionary row cannot be written.
    pub fn encoder<'a>(
        &mut self,
        samples: impl Iterator<Item = &'a str>,
    ) -> Result<Arc<TextEncoder>, StoreError> {
        if let Some(encoder) = &self.encoder {
            return Ok(Arc::clone(encoder));
        }
        let mut encoder = Arc::clone(&self.writer.encoder);
        if !encoder.has_dictionary()
            && let Some(dictionary) = texts::train(samples)
        {
            let id = self.state.next_dictionary;
            self.state.next_dictionary += 1;
            self.put::<Dictionaries>(&NumberKey { number: FileId(id.into()) }, &dictionary)?;
            encoder = Arc::new(TextEncoder::new(Some((id, dictionary))));
        }
        self.encoder = Some(Arc::clone(&encoder));
        Ok(encoder)
    }

    /// The number of a dictionary that is stored with this batch.
    pub(in crate::store) fn next_dictionary(&mut self) -> u16 {
        let id = self.state.next_dictionary;
        self.state.next_dictionary += 1;
        id
    }

    /// Compresses with this encoder from now on, if this batch comes to stand.
    pub(in crate::store) fn compress_with(&mut self, encoder: &Arc<TextEncoder>) {
        self.encoder = Some(Arc::clone(encoder));
    }

    /// Stores a document, without a standing yet, and gives it the next id.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read or encoded.
    pub fn add(&mut self, document: NewDocument) -> Result<DocId, StoreError> {
        let id = self.next_document();
        if id.0 >> 40 != 0 {
            let full = "a corpus holds at most 2^40 documents; begin another one";
            return Err(StoreError::Name(full.to_owned()));
        }
        self.state.documents += 1;
        let key = DocumentKey { document: id };
        let header = Header { commit: self.commit_seq(), ..document.header };
        self.put::<Documents>(&key, &header.encode())?;
        if document.metadata != "{}" {
            self.put::<Metadata>(&key, document.metadata.as_bytes())?;
        }
        if let Some(text) = &document.text {
            self.put::<Texts>(&key, text)?;
        }
        if let Some(sketch) = &document.sketch {
            self.put::<Sketches>(&key, sketch)?;
        }
        self.identities
            .put(&IdentityKey { hash: document.identity }.to_bytes(), &ids::encode_document(id));
        let record = self.source_record(header.source)?;
        record.documents += 1;
        record.bytes += header.bytes;

        self.mark(fields::SOURCE, &fields::source_value(header.source), id)?;
        self.number(fields::SOURCE_OF, id, header.source.0.into());
        self.number(fields::COMMIT_OF, id, header.commit.0.cast_signed());
        self.number(fields::BYTES, id, header.bytes.cast_signed());
        self.number(fields::CHARS, id, header.chars.cast_signed());
        for (field, keyword) in &document.indexed.keywords {
            let term = self.mark(*field, &fields::keyword_value(keyword), id)?;
            self.number(fields::column_of(*field), id, term.0.into());
        }
        for (field, number) in &document.indexed.numbers {
            self.number(fields::column_of(*field), id, *number);
        }
        Ok(id)
    }

    /// Replaces what a fingerprint says of a document: its header, and the sketch that it has itself, if any.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn put_fingerprint(
        &mut self,
        document: DocId,
        header: &Header,
        sketch: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        let key = DocumentKey { document };
        self.put::<Documents>(&key, &header.encode())?;
        match sketch {
            Some(sketch) => self.put::<Sketches>(&key, sketch),
            None => self.delete::<Sketches>(&key),
        }
    }

    pub(super) fn number(&mut self, column: ColumnId, document: DocId, value: i64) {
        self.number_or_null(column, document, Some(value));
    }

    pub(in crate::store) fn number_or_null(
        &mut self,
        column: ColumnId,
        document: DocId,
        value: Option<i64>,
    ) {
        let patch = self.patches.entry((column, document.block())).or_default();
        patch.insert(document.slot(), value);
    }
}

/// A document about to be stored.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// Its header; `commit` is filled in by the batch.
    pub header: Header,
    /// Identity under which a later ingest recognises it.
    pub identity: [u8; 16],
    /// Its text, from [`Batch::encoder`]; none when the header names an owner.
    pub text: Option<Vec<u8>>,
    /// Its sketch; none when too short for one or when the header names an owner.
    pub sketch: Option<Vec<u8>>,
    /// The user's other fields as one JSON object.
    pub metadata: String,
    /// Its indexed values, from [`crate::store::rows::indexed`].
    pub indexed: Indexed,
}
