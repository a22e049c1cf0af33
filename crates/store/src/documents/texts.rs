//! The families `texts`, `dicts` and `sketches`: compressed texts, zstd dictionaries, and documents' own sketches.

use crate::batch::CommitBatch;
use crate::bytes::key::{DocumentKey, NumberKey, StoreKey};
use crate::bytes::text::{self, StoredText, TextEncoder, decode_dictionary};
use crate::database::family::{StoreFamily, corrupt_row, store_family};
use crate::error::{DecodeError, StoreError};
use crate::view::View;
use model::{ComparedPart, DocId, FileId, compared_text};
use std::sync::Arc;

store_family! {
    /// Texts, compressed by us; absent where `text_of` names the owner.
    Texts = "texts", DensePacked,
    DocumentKey, "document u64"
    => "text": StoredText<'v>, |_, bytes| StoredText::read(bytes),
    "format u8, dictionary u16 LE, length u32 LE, zstd frame"
}

store_family! {
    /// zstd dictionaries of the texts. Never deleted while a text uses one.
    Dictionaries = "dicts", Small,
    NumberKey, "dictionary u32"
    => "zstd dictionary": &'v [u8], |_, bytes| decode_dictionary(bytes),
    "zstd dictionary"
}

impl View {
    /// A document's text.
    ///
    /// # Errors
    /// [`StoreError`] when a row is absent or cannot be read.
    pub fn text(&self, document: DocId) -> Result<String, StoreError> {
        let header = self.expect_header(document)?;
        self.text_of_owner(header.place.text_owner(document))
    }

    /// The text a document stores itself (`DocumentRecord::text_owner`).
    ///
    /// # Errors
    /// [`StoreError`] when a row is absent or cannot be read.
    pub fn text_of_owner(&self, owner: DocId) -> Result<String, StoreError> {
        let key = DocumentKey { document: owner };
        let stored = self.pinned().get::<Texts>(&key)?.ok_or(StoreError::Missing {
            what: "text",
            family: Texts::NAME,
            key: owner.to_string(),
        })?;
        self.unpacked(&stored)?.map_err(|why| corrupt_row::<Texts>("text", &key.to_bytes(), why))
    }

    /// The text in its stored form.
    pub(crate) fn unpacked(
        &self,
        stored: &[u8],
    ) -> Result<Result<String, DecodeError>, StoreError> {
        self.moment.decoder.decode(stored, |id| self.dictionary(id))
    }

    /// The dictionary of that number, if there is one.
    pub(crate) fn find_dictionary(&self, id: u16) -> Result<Option<Vec<u8>>, StoreError> {
        let key = NumberKey { number: FileId(id.into()) };
        self.pinned().read_copy::<Dictionaries, _>(&key)
    }

    fn dictionary(&self, id: u16) -> Result<Vec<u8>, StoreError> {
        self.find_dictionary(id)?.ok_or(StoreError::Missing {
            what: "zstd dictionary",
            family: Dictionaries::NAME,
            key: id.to_string(),
        })
    }

    /// The sketch a document stores itself (`DocumentRecord::text_owner`); none when it has too few tokens.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn sketch_of_owner(&self, owner: DocId) -> Result<Option<Vec<u8>>, StoreError> {
        self.pinned().read_copy::<Sketches, _>(&DocumentKey { document: owner })
    }

    /// The sketch of a document: its own or, where it borrows one with its text, its owner's. One whose compared text is
    /// too short for a sketch has none, though its owner's may be longer.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn sketch_of(&self, document: DocId) -> Result<Option<Vec<u8>>, StoreError> {
        // Most documents own their sketch: ask for it before asking who does.
        if let Some(own) = self.sketch_of_owner(document)? {
            return Ok(Some(own));
        }
        let header = self.expect_header(document)?;
        match header.place.text_of.filter(|_| header.print.words >= self.policy().shingle) {
            Some(owner) => self.sketch_of_owner(owner),
            None => Ok(None),
        }
    }

    /// The text by which dedup compares a document: its own or, by the policy, the content of its turns or its prompt.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn compared_text(&self, document: DocId) -> Result<String, StoreError> {
        let text = self.text(document)?;
        let compared = self.policy().compared;
        let (metadata, form) = match compared {
            ComparedPart::Text => return Ok(text),
            ComparedPart::Turns => (self.metadata(document)?, None),
            ComparedPart::Prompt => (String::new(), self.text_form(document)?),
        };
        Ok(compared_text(compared, &text, &metadata, form.as_ref()).into_owned())
    }

    /// The dictionaries that texts are compressed with, ascending by number.
    #[doc(hidden)]
    pub fn dictionaries(&self) -> Result<Vec<(u16, Vec<u8>)>, StoreError> {
        let rows = self.pinned().scan::<Dictionaries>(&[], None)?;
        let number = |key: NumberKey| u16::try_from(key.number.0).ok();
        rows.filter_map(|key, bytes| number(key).map(|id| (id, bytes.to_vec()))).collect()
    }

    /// The documents from `from` on whose own texts are compressed with one of these dictionaries, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    #[doc(hidden)]
    pub fn compressed_with<'a>(
        &'a self,
        dictionaries: &'a [u16],
        from: DocId,
    ) -> Result<impl Iterator<Item = Result<DocId, StoreError>> + use<'a>, StoreError> {
        let rows = self.pinned().scan::<Texts>(&DocumentKey { document: from }.to_bytes(), None)?;
        Ok(rows.filter_map(|key, text| {
            dictionaries.contains(&text.dictionary()).then_some(key.document)
        }))
    }
}

impl CommitBatch<'_> {
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
            && let Some(dictionary) = text::train(samples)
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
    pub(crate) fn next_dictionary(&mut self) -> u16 {
        let id = self.state.next_dictionary;
        self.state.next_dictionary += 1;
        id
    }

    /// Compresses with this encoder from now on, if this batch comes to stand.
    pub(crate) fn compress_with(&mut self, encoder: &Arc<TextEncoder>) {
        self.encoder = Some(Arc::clone(encoder));
    }

    /// Stores a dictionary that is trained on `samples`, with which texts are compressed from now on; none, and texts
    /// are compressed without one, where the samples are too few.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be written.
    pub fn replace_dictionary<'a>(
        &mut self,
        samples: impl Iterator<Item = &'a str>,
    ) -> Result<Arc<TextEncoder>, StoreError> {
        let trained = match text::train(samples) {
            None => None,
            Some(dictionary) => {
                let id = self.next_dictionary();
                self.put::<Dictionaries>(&NumberKey { number: FileId(id.into()) }, &dictionary)?;
                Some((id, dictionary))
            }
        };
        let encoder = Arc::new(TextEncoder::new(trained));
        self.compress_with(&encoder);
        Ok(encoder)
    }

    /// Stores the text of a document again.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn put_text(&mut self, document: DocId, encoded: &[u8]) -> Result<(), StoreError> {
        self.put::<Texts>(&DocumentKey { document }, encoded)
    }

    /// Forgets dictionaries that no text is compressed with.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn drop_dictionaries(&mut self, dictionaries: &[u16]) -> Result<(), StoreError> {
        for id in dictionaries {
            self.delete::<Dictionaries>(&NumberKey { number: FileId((*id).into()) })?;
        }
        Ok(())
    }
}

/// Bytes of a slot of the widest sketch.
const SLOT: usize = 4;

/// Slots of a sketch, of one byte or four: always a multiple of four bytes. How many there are is the policy's.
pub(crate) fn decode_sketch(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    if bytes.is_empty() || !bytes.len().is_multiple_of(SLOT) {
        return Err(DecodeError::at(0, format!("sketch of {} bytes", bytes.len())));
    }
    Ok(bytes)
}

store_family! {
    /// Sketches of documents that store their own text.
    Sketches = "sketches", DensePacked,
    DocumentKey, "document u64"
    => "sketch": &'v [u8], |_, bytes| decode_sketch(bytes),
    "256 slots of 8 bits; with the signature `bigcode` u32 LE each"
}
