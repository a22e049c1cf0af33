//! Terms and their bitmaps, and the standings among them.

use super::View;
use crate::model::{DocId, FieldId, Standing, TermId};
use crate::store::columns::{Postings, Terms, corrupt};
use crate::store::error::StoreError;
use crate::store::fields;
use crate::store::rows::bitmap;
use crate::store::rows::keys::{Block, Key, PostingKey, TermKey};
use crate::store::rows::terms::TermRow;
use roaring::{RoaringBitmap, RoaringTreemap};
use std::collections::BTreeMap;

/// Values of a field, with their terms.
type ValueTerms = Vec<(Vec<u8>, TermId)>;

impl View {
    /// The term of a value; none when no document has it.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn term(&self, field: FieldId, value: &[u8]) -> Result<Option<TermId>, StoreError> {
        let key = TermKey::Value(field, value.to_vec());
        self.pinned().read_with::<Terms, _>("term", &key, TermRow::term)
    }

    /// The value of a term.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn term_value(&self, term: TermId) -> Result<Option<(FieldId, Vec<u8>)>, StoreError> {
        self.pinned().read_with::<Terms, _>("term", &TermKey::Id(term), TermRow::value)
    }

    /// All values of a field with their terms, in byte order of the values.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn terms(&self, field: FieldId) -> Result<Vec<(Vec<u8>, TermId)>, StoreError> {
        Ok(self.terms_up_to(field, usize::MAX)?.unwrap_or_default())
    }

    /// As [`View::terms`], of a field with at most `most` values; none when it has more.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub(crate) fn terms_up_to(
        &self,
        field: FieldId,
        most: usize,
    ) -> Result<Option<ValueTerms>, StoreError> {
        let prefix = TermKey::Value(field, Vec::new()).to_bytes();
        let mut rows = self.pinned().scan_prefix::<Terms>(&prefix)?;
        let mut found = Vec::new();
        while let Some((key, term)) = rows.next_with("term", TermRow::term)? {
            if found.len() >= most {
                return Ok(None);
            }
            if let TermKey::Value(_, value) = key {
                found.push((value, term));
            }
        }
        Ok(Some(found))
    }

    /// Slots of one block that have a term.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn posting_block(&self, term: TermId, block: u64) -> Result<RoaringBitmap, StoreError> {
        let key = PostingKey { term, block: Block(block) };
        let found = self.pinned().read::<Postings, _>("bitmap", &key)?;
        Ok(found.unwrap_or_default())
    }

    /// All documents that have a term.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn posting(&self, term: TermId) -> Result<RoaringTreemap, StoreError> {
        let prefix = term_prefix(term);
        let mut rows = self.pinned().scan_prefix::<Postings>(&prefix)?;
        let mut parts: BTreeMap<u32, RoaringBitmap> = BTreeMap::new();
        while let Some((key, value)) = rows.advance()? {
            let decoded = PostingKey::decode(key).and_then(|of| {
                let Block(block) = of.block;
                Ok((block, bitmap::decode_at(value, (block & 0xffff) as u16)?))
            });
            let (block, slots) = decoded.map_err(|why| corrupt::<Postings>("bitmap", key, why))?;
            if !slots.is_empty() {
                // A block is 48 bits wide.
                *parts.entry((block >> 16) as u32).or_default() |= slots;
            }
        }
        Ok(RoaringTreemap::from_bitmaps(parts))
    }

    /// All documents whose `field` has `value`.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn documents_with(
        &self,
        field: FieldId,
        value: &[u8],
    ) -> Result<RoaringTreemap, StoreError> {
        match self.term(field, value)? {
            Some(term) => self.posting(term),
            None => Ok(RoaringTreemap::new()),
        }
    }

    /// All documents of a standing.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn documents_standing(&self, standing: Standing) -> Result<RoaringTreemap, StoreError> {
        self.documents_with(fields::STANDING, &fields::standing_value(self.generation(), standing))
    }

    /// All kept documents.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn kept(&self) -> Result<RoaringTreemap, StoreError> {
        self.documents_standing(Standing::Kept)
    }

    /// A document's standing.
    ///
    /// # Errors
    /// [`StoreError`] when no bitmap has the document or a row cannot be read.
    pub fn standing(&self, document: DocId) -> Result<Standing, StoreError> {
        for standing in Standing::ALL {
            let value = fields::standing_value(self.generation(), standing);
            if let Some(term) = self.term(fields::STANDING, &value)?
                && self.posting_block(term, document.block())?.contains(document.slot().into())
            {
                return Ok(standing);
            }
        }
        Err(StoreError::Missing { what: "standing", family: "postings", key: document.to_string() })
    }
}

fn term_prefix(term: TermId) -> Vec<u8> {
    let key = PostingKey { term, block: Block(0) }.to_bytes();
    key.get(..4).unwrap_or_default().to_vec()
}
