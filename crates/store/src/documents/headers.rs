//! The family `documents`: the header of each document; and storing a new document with all that goes with a header.
//!
//! A header is hand-packed and small, since every scan reads it.

use crate::batch::CommitBatch;
use crate::bytes::cursor::{ByteCursor, put_varint};
use crate::bytes::grid_rows::{DocumentPlace, DocumentPrint};
use crate::bytes::key::{self, DocumentKey, IdentityKey, StoreKey};
use crate::database::family::{StoreFamily, store_family};
use crate::documents::indexed_values::IndexedValues;
use crate::documents::metadata::Metadata;
use crate::documents::texts::{Sketches, Texts};
use crate::error::{DecodeError, StoreError};
use crate::system_fields;
use crate::view::View;
use model::{CommitSeq, DocId, FileId, SourceId};
use std::ops::Range;

const FORMAT: u8 = 1;
const HAS_OWNER: u8 = 1;
const HAS_KEY: u8 = 2;

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

impl DocumentRecord {
    /// The stored form.
    #[must_use]
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(96);
        out.push(FORMAT);
        let owner = if self.place.text_of.is_some() { HAS_OWNER } else { 0 };
        let key = if self.key.is_some() { HAS_KEY } else { 0 };
        out.push(owner | key);
        put_varint(&mut out, self.place.source.0.into());
        put_varint(&mut out, self.place.file.0.into());
        put_varint(&mut out, self.place.number);
        put_varint(&mut out, self.commit.0);
        put_varint(&mut out, self.bytes);
        put_varint(&mut out, self.chars);
        put_varint(&mut out, self.print.words.into());
        put_varint(&mut out, self.print.shingles.into());
        out.extend_from_slice(&self.print.raw);
        out.extend_from_slice(&self.print.normalised);
        out.extend_from_slice(&self.place.content);
        if let Some(owner) = self.place.text_of {
            put_varint(&mut out, owner.0);
        }
        if let Some(key) = &self.key {
            out.extend_from_slice(key.as_bytes());
        }
        out
    }

    /// Reads the stored form.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = ByteCursor::new(bytes);
        let format = cursor.u8()?;
        if format != FORMAT {
            return Err(DecodeError::at(0, format!("header format {format}, not {FORMAT}")));
        }
        let flags = cursor.u8()?;
        let (source, file) = (SourceId(cursor.varint_u32()?), FileId(cursor.varint_u32()?));
        let (number, commit) = (cursor.varint()?, CommitSeq(cursor.varint()?));
        let (bytes, chars) = (cursor.varint()?, cursor.varint()?);
        let (words, shingles) = (cursor.varint_u32()?, cursor.varint_u32()?);
        let (raw, normalised) = (cursor.array()?, cursor.array()?);
        let mut header = Self {
            place: DocumentPlace { source, file, number, content: cursor.array()?, text_of: None },
            print: DocumentPrint { raw, normalised, words, shingles },
            commit,
            key: None,
            bytes,
            chars,
        };
        if flags & HAS_OWNER != 0 {
            header.place.text_of = Some(DocId(cursor.varint()?));
        }
        if flags & HAS_KEY != 0 {
            let at = cursor.offset();
            let key = std::str::from_utf8(cursor.rest());
            let key =
                key.map_err(|error| DecodeError::at(at + error.valid_up_to(), "key is not UTF-8"))?;
            header.key = Some(key.to_owned());
        }
        cursor.end()?;
        Ok(header)
    }
}

store_family! {
    /// Document headers. Standing is not here: it lives in postings and matches.
    Documents = "documents", Dense,
    DocumentKey, "document u64"
    => "header": DocumentRecord, |_, bytes| DocumentRecord::decode(bytes),
    "header: hand-packed, see below"
}

/// The key shown for a document without one that was read at a place.
pub fn key_at(place: &str, document: DocId) -> String {
    format!("{place}@{document}")
}

impl View {
    /// A document's header.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn header(&self, document: DocId) -> Result<Option<DocumentRecord>, StoreError> {
        self.pinned().read::<Documents, _>(&DocumentKey { document })
    }

    /// A document's header, which must be there.
    ///
    /// # Errors
    /// [`StoreError`] when the row is absent or cannot be read.
    pub fn expect_header(&self, document: DocId) -> Result<DocumentRecord, StoreError> {
        self.header(document)?.ok_or(StoreError::Missing {
            what: "document",
            family: Documents::NAME,
            key: document.to_string(),
        })
    }

    /// Where a document was read, and whose text it has.
    ///
    /// # Errors
    /// [`StoreError`] when the row is absent or cannot be read.
    pub fn place(&self, document: DocId) -> Result<DocumentPlace, StoreError> {
        Ok(self.expect_header(document)?.place)
    }

    /// The hashes and sizes of a document.
    ///
    /// # Errors
    /// As [`View::place`].
    pub fn print(&self, document: DocId) -> Result<DocumentPrint, StoreError> {
        Ok(self.expect_header(document)?.print)
    }

    /// The key that the user gave a document, if any.
    ///
    /// # Errors
    /// As [`View::place`].
    pub fn key(&self, document: DocId) -> Result<Option<String>, StoreError> {
        Ok(self.expect_header(document)?.key)
    }

    /// The commit that added a document.
    ///
    /// # Errors
    /// As [`View::place`].
    pub fn commit_of(&self, document: DocId) -> Result<CommitSeq, StoreError> {
        Ok(self.expect_header(document)?.commit)
    }

    /// The UTF-8 bytes of a document's text.
    ///
    /// # Errors
    /// As [`View::place`].
    pub fn text_bytes(&self, document: DocId) -> Result<u64, StoreError> {
        Ok(self.expect_header(document)?.bytes)
    }

    /// The key a user sees: the given one; else the place where the document was read with its id, `PATH:NUMBER@ID`. So
    /// no two documents share one, and what an export wrote comes back as the same documents.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn display_key(&self, document: DocId) -> Result<String, StoreError> {
        let header = self.expect_header(document)?;
        match header.key {
            Some(key) => Ok(key),
            None => Ok(key_at(&self.display_place(&header.place)?, document)),
        }
    }

    /// Whether a document is the one that is called so: by its key, or by the place alone, as files of decisions of
    /// earlier releases call one without a key.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn is_shown_as(&self, document: DocId, said: &str) -> Result<bool, StoreError> {
        let header = self.expect_header(document)?;
        if let Some(key) = header.key {
            return Ok(key == said);
        }
        let place = self.display_place(&header.place)?;
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

    /// The documents of `range` with their headers, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; where a row is absent or cannot be read, that is the last that
    /// comes.
    pub fn headers(
        &self,
        range: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<(DocId, DocumentRecord), StoreError>>, StoreError> {
        let end = DocumentKey { document: DocId(range.end) }.to_bytes();
        let start = DocumentKey { document: DocId(range.start) }.to_bytes();
        let rows = self.pinned().scan::<Documents>(&start, Some(end))?;
        let mut rows = rows.filter_map(|key, header| Some((key.document, header)));
        let mut expected = range;
        Ok(std::iter::from_fn(move || {
            let document = expected.next()?;
            let row = match rows.next() {
                Some(Ok(row)) if row.0.0 == document => Ok(row),
                Some(Err(error)) => Err(error),
                _ => Err(StoreError::Missing {
                    what: "document",
                    family: Documents::NAME,
                    key: document.to_string(),
                }),
            };
            if row.is_err() {
                expected = 0..0;
            }
            Some(row)
        }))
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
        let key = DocumentKey { document: id };
        let header = DocumentRecord { commit: self.commit_seq(), ..document.header };
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
            .put(&IdentityKey { hash: document.identity }.to_bytes(), &key::encode_document(id));
        let record = self.source_record(header.place.source)?;
        record.documents += 1;
        record.bytes += header.bytes;

        self.add_posting(
            system_fields::SOURCE,
            &system_fields::source_value(header.place.source),
            id,
        )?;
        self.number(system_fields::SOURCE_OF, id, header.place.source.0.into());
        self.number(system_fields::COMMIT_OF, id, header.commit.0.cast_signed());
        self.number(system_fields::BYTES, id, header.bytes.cast_signed());
        self.number(system_fields::CHARS, id, header.chars.cast_signed());
        for (field, keyword) in &document.indexed.keywords {
            let term = self.add_posting(*field, &system_fields::keyword_value(keyword), id)?;
            self.number(system_fields::column_of(*field), id, term.0.into());
        }
        for (field, number) in &document.indexed.numbers {
            self.number(system_fields::column_of(*field), id, *number);
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
        header: &DocumentRecord,
        sketch: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        let key = DocumentKey { document };
        self.put::<Documents>(&key, &header.encode())?;
        match sketch {
            Some(sketch) => self.put_sketch(document, sketch),
            None => self.delete::<Sketches>(&key),
        }
    }

    /// Stores the sketch of a document of its own.
    pub fn put_sketch(&mut self, document: DocId, sketch: &[u8]) -> Result<(), StoreError> {
        self.put::<Sketches>(&DocumentKey { document }, sketch)
    }
}

/// A document about to be stored.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// Its header; `commit` is filled in by the batch.
    pub header: DocumentRecord,
    /// Identity under which a later ingest recognises it.
    pub identity: [u8; 16],
    /// Its text, from [`CommitBatch::encoder`]; none when the header names an owner.
    pub text: Option<Vec<u8>>,
    /// Its sketch; none when too short for one or when the header names an owner.
    pub sketch: Option<Vec<u8>>,
    /// The user's other fields as one JSON object.
    pub metadata: String,
    /// Its indexed values, from `indexed_values`.
    pub indexed: IndexedValues,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> DocumentRecord {
        DocumentRecord {
            place: DocumentPlace {
                source: SourceId(1),
                file: FileId(2),
                number: 300,
                content: [3; 16],
                text_of: Some(DocId(9)),
            },
            print: DocumentPrint { raw: [1; 16], normalised: [2; 16], words: 7, shingles: 8 },
            commit: CommitSeq(4),
            key: Some("k".to_owned()),
            bytes: 5,
            chars: 6,
        }
    }

    #[test]
    fn golden_bytes() {
        let mut expected = vec![1, 3, 1, 2, 0xac, 2, 4, 5, 6, 7, 8];
        expected.extend([1; 16]);
        expected.extend([2; 16]);
        expected.extend([3; 16]);
        expected.extend([9, b'k']);
        assert_eq!(sample().encode(), expected);
        assert_eq!(DocumentRecord::decode(&expected), Ok(sample()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_a_header(bytes: Vec<u8>) {
            if let Ok(header) = DocumentRecord::decode(&bytes) {
                prop_assert_eq!(DocumentRecord::decode(&header.encode()), Ok(header));
            }
        }

        #[test]
        fn round_trips(number: u64, bytes: u64, key: Option<String>, owner: Option<u64>) {
            let place = DocumentPlace { number, text_of: owner.map(DocId), ..sample().place };
            let header = DocumentRecord { place, bytes, key, ..sample() };
            prop_assert_eq!(DocumentRecord::decode(&header.encode()), Ok(header));
        }
    }
}
