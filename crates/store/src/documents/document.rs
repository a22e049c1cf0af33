//! A document as one record: all that is stored of it beside its text, how it is called, and storing a new one.

use crate::batch::CommitBatch;
use crate::bytes::grid_rows::{DocumentPlace, DocumentPrint};
use crate::bytes::key::{self, IdentityKey, StoreKey};
use crate::bytes::page_changes::PageValues;
use crate::documents::indexed_values::IndexedValues;
use crate::error::StoreError;
use crate::system_fields;
use crate::view::View;
use model::{CommitSeq, DocId};

/// What every stored document has beside its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRecord {
    /// Where it was read, and whose text it has.
    pub place: DocumentPlace,
    /// Its hashes and sizes.
    pub print: DocumentPrint,
    /// The commit that added it.
    pub commit: CommitSeq,
    /// The key the user gave, if any.
    pub key: Option<String>,
    /// UTF-8 bytes of the text.
    pub bytes: u64,
    /// Unicode scalar values of the text.
    pub chars: u64,
}

/// The key shown for a document without one that was read at a place.
pub fn key_at(place: &str, document: DocId) -> String {
    format!("{place}@{document}")
}

impl View {
    /// All of a document beside its text: what its pages have, and its numbers. Who needs one part asks for that.
    ///
    /// # Errors
    /// [`StoreError`] when a part is absent or cannot be read.
    pub fn document(&self, document: DocId) -> Result<DocumentRecord, StoreError> {
        Ok(DocumentRecord {
            place: self.place(document)?,
            print: self.print(document)?,
            commit: self.commit_of(document)?,
            key: self.key(document)?,
            bytes: self.text_bytes(document)?,
            chars: self.text_chars(document)?,
        })
    }

    /// The commit that added a document.
    ///
    /// # Errors
    /// [`StoreError`] when the number is absent or cannot be read.
    pub fn commit_of(&self, document: DocId) -> Result<CommitSeq, StoreError> {
        self.expect_number(system_fields::COMMIT_OF, document).map(CommitSeq)
    }

    /// The UTF-8 bytes of a document's text.
    ///
    /// # Errors
    /// As [`View::commit_of`].
    pub fn text_bytes(&self, document: DocId) -> Result<u64, StoreError> {
        self.expect_number(system_fields::BYTES, document)
    }

    /// The Unicode scalar values of a document's text.
    ///
    /// # Errors
    /// As [`View::commit_of`].
    pub fn text_chars(&self, document: DocId) -> Result<u64, StoreError> {
        self.expect_number(system_fields::CHARS, document)
    }

    /// The key a user sees: the given one; else the place where the document was read with its id, `PATH:NUMBER@ID`. So
    /// no two documents share one, and what an export wrote comes back as the same documents.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn display_key(&self, document: DocId) -> Result<String, StoreError> {
        match self.key(document)? {
            Some(key) => Ok(key),
            None => Ok(key_at(&self.display_place(&self.place(document)?)?, document)),
        }
    }

    /// Whether a document is the one that is called so: by its key, or by the place alone, as files of decisions of
    /// earlier releases call one without a key.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn is_shown_as(&self, document: DocId, said: &str) -> Result<bool, StoreError> {
        if let Some(key) = self.key(document)? {
            return Ok(key == said);
        }
        let place = self.display_place(&self.place(document)?)?;
        Ok(said == place || said == key_at(&place, document))
    }

    /// Where a document was read: the path, with the record's number unless the file was read as one text. Files that
    /// were read again have several documents of one place, and so have paths that differ in bytes that are no UTF-8.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn display_place(&self, place: &DocumentPlace) -> Result<String, StoreError> {
        let Some(path) = self.file_bytes(place.source, place.file)? else {
            return Ok(format!("?:{}", place.number));
        };
        let shown = String::from_utf8_lossy(&path).into_owned();
        let is_text = self.file(place.source, &path)?.is_some_and(|record| record.single);
        Ok(if is_text { shown } else { format!("{shown}:{}", place.number) })
    }
}

impl CommitBatch<'_> {
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
        let NewDocument { header, identity, text, sketch, metadata, indexed } = document;
        let DocumentRecord { place, print, key, bytes, chars, .. } = header;
        let metadata = Some(metadata).filter(|metadata| metadata != "{}");
        self.pages.add(id, PageValues { place, print, sketch, text, key, metadata });
        self.identities.put(&IdentityKey { hash: identity }.to_bytes(), &key::encode_document(id));
        let record = self.source_record(place.source)?;
        record.documents += 1;
        record.bytes += bytes;

        self.add_posting(system_fields::SOURCE, &system_fields::source_value(place.source), id)?;
        self.number(system_fields::SOURCE_OF, id, place.source.0.into());
        self.number(system_fields::COMMIT_OF, id, self.commit_seq().0.cast_signed());
        self.number(system_fields::BYTES, id, bytes.cast_signed());
        self.number(system_fields::CHARS, id, chars.cast_signed());
        for (field, keyword) in &indexed.keywords {
            let term = self.add_posting(*field, &system_fields::keyword_value(keyword), id)?;
            self.number(system_fields::column_of(*field), id, term.0.into());
        }
        for (field, number) in &indexed.numbers {
            self.number(system_fields::column_of(*field), id, *number);
        }
        Ok(id)
    }

    /// Replaces what a fingerprint says of a document: its print, and the sketch that it has itself, if any.
    pub fn put_fingerprint(
        &mut self,
        document: DocId,
        print: DocumentPrint,
        sketch: Option<Vec<u8>>,
    ) {
        self.set_print(document, print);
        self.set_sketch(document, sketch);
    }
}

/// A document about to be stored.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// All that goes with its text; `commit` is that of the batch, whatever it says.
    pub header: DocumentRecord,
    /// Identity under which a later ingest recognises it.
    pub identity: [u8; 16],
    /// Its text; none when its place names an owner.
    pub text: Option<String>,
    /// Its sketch; none when too short for one or when its place names an owner.
    pub sketch: Option<Vec<u8>>,
    /// The user's other fields as one JSON object.
    pub metadata: String,
    /// Its indexed values, from `indexed_values`.
    pub indexed: IndexedValues,
}
