//! Walks everything that is stored, row by row and unpacked, to be searched, and says which document a row is of.

use crate::bytes::key::{DocumentKey, StoreKey, SuiteKey, TermKey, TokensKey};
use crate::database::family::{FamilyVisitor, StoreFamily, corrupt_row};
use crate::documents::headers::Documents;
use crate::documents::loss::Loss;
use crate::documents::metadata::Metadata;
use crate::documents::terms::Terms;
use crate::documents::texts::{Sketches, Texts};
use crate::documents::tokens::Tokens;
use crate::error::StoreError;
use crate::records::suites::Suites;
use crate::table::for_each_family;
use crate::view::View;
use model::{BLOCK_SIZE, DocId};

/// A row as it is stored, but for a text, which is unpacked.
pub struct AnyRow<'a> {
    /// Its family.
    pub family: &'static str,
    /// Its key.
    pub key: &'a [u8],
    /// Its value; of `texts` the text itself.
    pub value: &'a [u8],
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
            Documents::NAME | Metadata::NAME | Texts::NAME | Sketches::NAME => {
                Ok(DocumentKey::decode(row.key).ok().map(|key| key.document))
            }
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
        let mut rows = self.pinned().scan::<C>(&[], None)?;
        while let Some((key, value)) = rows.advance()? {
            if C::NAME == Texts::NAME {
                let text =
                    self.unpacked(value)?.map_err(|why| corrupt_row::<C>("text", key, why))?;
                each(&AnyRow { family: C::NAME, key, value: text.as_bytes() })?;
            } else {
                each(&AnyRow { family: C::NAME, key, value })?;
            }
        }
        Ok(())
    }
}

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
