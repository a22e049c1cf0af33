//! Walks everything that is stored, row by row, pages value by value, to be searched; and says which document a row is of.

use crate::bytes::grid_rows::{DocumentPlace, DocumentPrint, GridRow, sketches_of_page};
use crate::bytes::key::{DocumentKey, StoreKey, SuiteKey, TermKey, TokensKey};
use crate::database::family::{FamilyVisitor, StoreFamily};
use crate::documents::grid::{PlacePages, PrintPages, SketchPages, sketch_width};
use crate::documents::loss::Loss;
use crate::documents::pages::{KeyPages, MetadataPages, StringFamily, TextPages};
use crate::documents::terms::Terms;
use crate::documents::tokens::Tokens;
use crate::error::StoreError;
use crate::records::suites::Suites;
use crate::table::for_each_family;
use crate::view::View;
use model::{BLOCK_SIZE, DocId};

/// A row as it is stored; of a page a row without a value, and behind it each of its values as one.
pub struct AnyRow<'a> {
    /// Its family.
    pub family: &'static str,
    /// Its key; of a value of a page its document.
    pub key: &'a [u8],
    /// Its value; of places and prints their hashes, end to end.
    pub value: &'a [u8],
    /// Whether the family has this row, and it is not a value of a page.
    pub is_stored: bool,
}

impl AnyRow<'_> {
    /// Whether it is an item of a suite: what was read of a file that is not a document.
    pub fn is_suite_item(&self) -> bool {
        self.family == Suites::NAME && SuiteKey::decode(self.key).is_ok_and(|key| key.row > 0)
    }
}

impl View {
    /// Calls `each` with every row of every family.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read; the error of `each`.
    #[doc(hidden)]
    pub fn for_each_row(
        &self,
        each: &mut dyn FnMut(&AnyRow<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut walk = RowWalk { view: self, each, failed: None };
        for_each_family(&mut walk);
        walk.failed.map_or(Ok(()), Err)
    }

    /// The document that a row is of, or one that has its value; none where it is of no document.
    #[doc(hidden)]
    pub fn document_of(&self, row: &AnyRow<'_>) -> Result<Option<DocId>, StoreError> {
        match row.family {
            PlacePages::NAME
            | PrintPages::NAME
            | SketchPages::NAME
            | KeyPages::NAME
            | MetadataPages::NAME
            | TextPages::NAME => Ok(DocumentKey::decode(row.key).ok().map(|key| key.document)),
            Tokens::NAME | Loss::NAME => {
                Ok(TokensKey::decode(row.key).ok().map(|key| key.document))
            }
            Terms::NAME => self.document_of_term(row.key),
            _ => Ok(None),
        }
    }

    fn document_of_term(&self, key: &[u8]) -> Result<Option<DocId>, StoreError> {
        let term = match TermKey::decode(key).ok() {
            Some(TermKey::Id(term)) => Some(term),
            Some(TermKey::Value(field, value)) => self.term(field, &value)?,
            None => None,
        };
        let Some(term) = term else { return Ok(None) };
        for block in self.blocks() {
            if let Some(slot) = self.posting_block(term, block)?.min() {
                return Ok(Some(DocId(block * BLOCK_SIZE + u64::from(slot))));
            }
        }
        Ok(None)
    }

    fn each_of<C: StoreFamily>(
        &self,
        each: &mut dyn FnMut(&AnyRow<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut of = |document: DocId, value: Option<&[u8]>| {
            let key = DocumentKey { document }.to_bytes();
            let (is_stored, value) = (value.is_none(), value.unwrap_or_default());
            each(&AnyRow { family: C::NAME, key: &key, value, is_stored })
        };
        match C::NAME {
            TextPages::NAME => self.each_string::<TextPages>(&mut of),
            KeyPages::NAME => self.each_string::<KeyPages>(&mut of),
            MetadataPages::NAME => self.each_string::<MetadataPages>(&mut of),
            PlacePages::NAME => self.each_in_grid(DocumentPlace::DOCUMENTS, &mut of, |id| {
                Ok(Some(self.place(id)?.content.to_vec()))
            }),
            PrintPages::NAME => self.each_in_grid(DocumentPrint::DOCUMENTS, &mut of, |id| {
                let DocumentPrint { raw, normalised, .. } = self.print(id)?;
                Ok(Some([raw, normalised].concat()))
            }),
            SketchPages::NAME => {
                let size = sketches_of_page(sketch_width(self.policy())?);
                self.each_in_grid(size, &mut of, |id| self.sketch_of_owner(id))
            }
            _ => {
                let mut rows = self.pinned().scan::<C>(&[], None)?;
                while let Some((key, value)) = rows.advance()? {
                    each(&AnyRow { family: C::NAME, key, value, is_stored: true })?;
                }
                Ok(())
            }
        }
    }

    fn each_string<F: StringFamily>(&self, each: EachValue<'_>) -> Result<(), StoreError> {
        let mut pages = self.pages::<F>(0..self.documents())?;
        while let Some(page) = pages.next()? {
            each(page.first, None)?;
            for (document, value) in page.values() {
                value.map_or(Ok(()), |value| each(document, Some(value)))?;
            }
        }
        Ok(())
    }

    fn each_in_grid(
        &self,
        size: usize,
        each: EachValue<'_>,
        read: impl Fn(DocId) -> Result<Option<Vec<u8>>, StoreError>,
    ) -> Result<(), StoreError> {
        for document in (0..self.documents()).map(DocId) {
            if document.0.is_multiple_of(size as u64) {
                each(document, None)?;
            }
            if let Some(value) = read(document)? {
                each(document, Some(&value))?;
            }
        }
        Ok(())
    }
}

/// What is called with the first document of each page and none, then with each of its values.
type EachValue<'a> = &'a mut dyn FnMut(DocId, Option<&[u8]>) -> Result<(), StoreError>;

struct RowWalk<'a> {
    view: &'a View,
    each: &'a mut dyn FnMut(&AnyRow<'_>) -> Result<(), StoreError>,
    failed: Option<StoreError>,
}

impl FamilyVisitor for RowWalk<'_> {
    fn family<C: StoreFamily>(&mut self) {
        if self.failed.is_none() {
            self.failed = self.view.each_of::<C>(self.each).err();
        }
    }
}
