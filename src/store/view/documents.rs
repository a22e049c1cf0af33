//! Documents: headers, texts, other fields, sketches.

use super::View;
use crate::model::{DocId, FileId};
use crate::store::columns::{Dictionaries, Documents, Metadata, Sketches, Sources, Texts, corrupt};
use crate::store::error::{Malformed, StoreError};
use crate::store::rows::header::Header;
use crate::store::rows::keys::{DocumentKey, Key, NumberKey, SourceKey};
use crate::store::rows::named::SourceRow;
use std::ops::Range;

/// The key shown for a document without one that was read at a place.
pub fn key_at(place: &str, document: DocId) -> String {
    format!("{place}@{document}")
}

impl View {
    /// A document's header.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn header(&self, document: DocId) -> Result<Option<Header>, StoreError> {
        self.pinned().read::<Documents, _>("header", &DocumentKey { document })
    }

    /// A document's header, which must be there.
    ///
    /// # Errors
    /// [`StoreError`] when the row is absent or cannot be read.
    pub fn expect_header(&self, document: DocId) -> Result<Header, StoreError> {
        self.header(document)?.ok_or(StoreError::Missing {
            what: "document",
            family: "documents",
            key: document.to_string(),
        })
    }

    /// The key a user sees: the given one; else the place where the document was read with its id, `PATH:NUMBER@ID`. So
    /// no two documents share one, and what an export wrote comes back as the same documents.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn display_key(&self, document: DocId, header: &Header) -> Result<String, StoreError> {
        match &header.key {
            Some(key) => Ok(key.clone()),
            None => Ok(key_at(&self.display_place(header)?, document)),
        }
    }

    /// Whether a document is the one that is called so: by its key, or by the place alone, as files of decisions of
    /// earlier releases call one without a key.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn is_shown_as(
        &self,
        document: DocId,
        header: &Header,
        said: &str,
    ) -> Result<bool, StoreError> {
        if let Some(key) = &header.key {
            return Ok(key == said);
        }
        let place = self.display_place(header)?;
        Ok(said == place || said == key_at(&place, document))
    }

    /// Where a document was read: the path, with the record's number unless the file was read as one text. Files that
    /// were read again have several documents of one place, and so have paths that differ in bytes that are no UTF-8.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn display_place(&self, header: &Header) -> Result<String, StoreError> {
        let key = SourceKey { source: header.source, file: header.file };
        let path = |row: SourceRow<'_>| row.beside().map(<[u8]>::to_vec);
        let Some(path) = self.pinned().read_with::<Sources, _>("path", &key, path)? else {
            return Ok(format!("?:{}", header.number));
        };
        let shown = String::from_utf8_lossy(&path).into_owned();
        let is_text = self.file(header.source, &path)?.is_some_and(|record| record.single);
        Ok(if is_text { shown } else { format!("{shown}:{}", header.number) })
    }

    /// The documents of `range` with their headers, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; where a row is absent or cannot be read, that is the last that
    /// comes.
    pub fn headers(
        &self,
        range: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<(DocId, Header), StoreError>>, StoreError> {
        let end = DocumentKey { document: DocId(range.end) }.to_bytes();
        let start = DocumentKey { document: DocId(range.start) }.to_bytes();
        let rows = self.pinned().scan::<Documents>(&start, Some(end))?;
        let mut rows = rows.taken("header", |key, header| Ok(Some((key.document, header))));
        let mut expected = range;
        Ok(std::iter::from_fn(move || {
            let document = expected.next()?;
            let row = match rows.next() {
                Some(Ok(row)) if row.0.0 == document => Ok(row),
                Some(Err(error)) => Err(error),
                _ => Err(StoreError::Missing {
                    what: "document",
                    family: "documents",
                    key: document.to_string(),
                }),
            };
            if row.is_err() {
                expected = 0..0;
            }
            Some(row)
        }))
    }

    /// A document's text.
    ///
    /// # Errors
    /// [`StoreError`] when a row is absent or cannot be read.
    pub fn text(&self, document: DocId) -> Result<String, StoreError> {
        let header = self.expect_header(document)?;
        self.text_of_owner(header.text_owner(document))
    }

    /// The text a document stores itself ([`Header::text_owner`]).
    ///
    /// # Errors
    /// [`StoreError`] when a row is absent or cannot be read.
    pub fn text_of_owner(&self, owner: DocId) -> Result<String, StoreError> {
        let key = DocumentKey { document: owner };
        let stored = self.pinned().get::<Texts>(&key)?.ok_or(StoreError::Missing {
            what: "text",
            family: "texts",
            key: owner.to_string(),
        })?;
        self.unpacked(&stored)?.map_err(|why| corrupt::<Texts>("text", &key.to_bytes(), why))
    }

    /// The text in its stored form.
    pub(in crate::store) fn unpacked(
        &self,
        stored: &[u8],
    ) -> Result<Result<String, Malformed>, StoreError> {
        self.moment.decoder.decode(stored, |id| self.dictionary(id))
    }

    /// The dictionary of that number, if there is one.
    pub(in crate::store) fn find_dictionary(&self, id: u16) -> Result<Option<Vec<u8>>, StoreError> {
        let key = NumberKey { number: FileId(id.into()) };
        let read = |bytes: &[u8]| Ok(bytes.to_vec());
        self.pinned().read_with::<Dictionaries, _>("zstd dictionary", &key, read)
    }

    fn dictionary(&self, id: u16) -> Result<Vec<u8>, StoreError> {
        self.find_dictionary(id)?.ok_or(StoreError::Missing {
            what: "zstd dictionary",
            family: "dicts",
            key: id.to_string(),
        })
    }

    /// A document's other fields as a JSON object.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn metadata(&self, document: DocId) -> Result<String, StoreError> {
        let key = DocumentKey { document };
        let found =
            self.pinned().read_with::<Metadata, _>("metadata", &key, |text| Ok(text.to_owned()))?;
        Ok(found.unwrap_or_else(|| "{}".to_owned()))
    }

    /// The sketch a document stores itself ([`Header::text_owner`]); none when it has too few tokens.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn sketch_of_owner(&self, owner: DocId) -> Result<Option<Vec<u8>>, StoreError> {
        let key = DocumentKey { document: owner };
        self.pinned().read_with::<Sketches, _>("sketch", &key, |slots| Ok(slots.to_vec()))
    }
}
