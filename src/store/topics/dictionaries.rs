//! zstd dictionaries that are replaced: what texts are compressed with, another one, and texts written anew.

use crate::model::{DocId, FileId};
use crate::store::batch::Batch;
use crate::store::columns::{Dictionaries, Texts};
use crate::store::error::StoreError;
use crate::store::rows::keys::{DocumentKey, Key, NumberKey};
use crate::store::rows::texts::{self, TextEncoder};
use crate::store::view::View;
use std::sync::Arc;

impl View {
    /// The dictionaries that texts are compressed with, ascending by number.
    ///
    /// # Errors
    /// [`StoreError`] when one cannot be read.
    pub(crate) fn dictionaries(&self) -> Result<Vec<(u16, Vec<u8>)>, StoreError> {
        let rows = self.pinned().scan::<Dictionaries>(&[], None)?;
        let number = |key: NumberKey| u16::try_from(key.number.0).ok();
        rows.taken("zstd dictionary", |key, bytes| Ok(number(key).map(|id| (id, bytes.to_vec()))))
            .collect()
    }

    /// The documents from `from` on whose own texts are compressed with one of these dictionaries, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub(crate) fn compressed_with<'a>(
        &'a self,
        dictionaries: &'a [u16],
        from: DocId,
    ) -> Result<impl Iterator<Item = Result<DocId, StoreError>> + use<'a>, StoreError> {
        let rows = self.pinned().scan::<Texts>(&DocumentKey { document: from }.to_bytes(), None)?;
        Ok(rows.taken("text", |key, text| {
            Ok(dictionaries.contains(&text.dictionary()).then_some(key.document))
        }))
    }
}

impl Batch<'_> {
    /// Stores a dictionary that is trained on `samples`, with which texts are compressed from now on; none, and texts
    /// are compressed without one, where the samples are too few.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be written.
    pub fn replace_dictionary<'a>(
        &mut self,
        samples: impl Iterator<Item = &'a str>,
    ) -> Result<Arc<TextEncoder>, StoreError> {
        let trained = match texts::train(samples) {
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

    /// Stores the text of a document anew.
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
