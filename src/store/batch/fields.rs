//! Fields that are declared or given up while the corpus holds documents: their values are indexed, or deleted, in
//! commits of bounded size.

use super::Batch;
use crate::model::{FieldDeclaration, FieldId, TermId};
use crate::store::columns::{Columns, Meta, Postings, Terms};
use crate::store::error::StoreError;
use crate::store::fields;
use crate::store::rows::codec;
use crate::store::rows::indexed::Found;
use crate::store::rows::keys::{Block, ColumnKey, Key, PostingKey, TermKey, after_prefix};
use crate::store::rows::meta::MetaKey;
use crate::store::rows::records::{Charter, FieldRecord};
use crate::store::rows::terms::TermRow;
use std::ops::Range;

/// What a range of documents has for a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Documents that have a value.
    pub values: u64,
    /// Documents whose value is of another type.
    pub ill_typed: u64,
}

impl Batch<'_> {
    /// Declares fields, ascending by id, in the place of those that are declared.
    ///
    /// # Errors
    /// [`StoreError`] when the charter cannot be encoded.
    pub fn declare(&mut self, fields: &[FieldDeclaration]) -> Result<(), StoreError> {
        let charter = Charter::new(self.view.policy(), fields)?;
        self.put::<Meta>(&MetaKey::Charter, &codec::encode("charter", &charter)?)
    }

    /// Stores what becomes of a field; none: nothing is to be remembered of it. `commit` is filled in.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn put_field(
        &mut self,
        field: FieldId,
        record: Option<&FieldRecord>,
    ) -> Result<(), StoreError> {
        let key = MetaKey::Field(field);
        let Some(record) = record else { return self.delete::<Meta>(&key) };
        let record = FieldRecord { commit: self.commit_seq().0, ..record.clone() };
        self.put::<Meta>(&key, &codec::encode("field", &record)?)
    }

    /// Indexes what the metadata of a range of documents have for a field of which nothing of them is indexed yet; the
    /// same again changes nothing.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn fill(
        &mut self,
        field: &FieldDeclaration,
        range: Range<u64>,
    ) -> Result<Filled, StoreError> {
        let view = self.view().clone();
        let column = fields::column_of(field.id);
        let mut filled = Filled::default();
        for row in view.found_in(field, range)? {
            let (document, found) = row?;
            let number = match found {
                Found::Keyword(keyword) => {
                    let value = fields::keyword_value(&keyword);
                    i64::from(self.mark(field.id, &value, document)?.0)
                }
                Found::Number(number) => number,
                Found::IllTyped => {
                    filled.ill_typed += 1;
                    continue;
                }
                Found::Nothing => continue,
            };
            self.number(column, document, number);
            filled.values += 1;
        }
        Ok(filled)
    }

    /// Deletes what is indexed of a field that is declared no more: of the values from `from` on at most so many, with
    /// their bitmaps, and behind the last one its column. Answers the value to go on from; none: nothing is left.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn erase_field(
        &mut self,
        field: FieldId,
        from: &[u8],
        most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let view = self.view().clone();
        let first = TermKey::Value(field, from.to_vec()).to_bytes();
        let end = after_prefix(&TermKey::Value(field, Vec::new()).to_bytes());
        let mut rows = view.pinned().scan::<Terms>(&first, end)?;
        let mut erased = 0;
        while let Some((key, term)) = rows.next_with("term", TermRow::term)? {
            if let (TermKey::Value(_, value), true) = (&key, erased == most) {
                return Ok(Some(value.clone()));
            }
            erased += 1;
            self.erase_bitmaps(term)?;
            self.delete::<Terms>(&key)?;
            self.delete::<Terms>(&TermKey::Id(term))?;
        }
        // No term is given twice, but a field may be, and the same value with it.
        self.writer.terms.retain(|(other, _), _| *other != field);
        let from = ColumnKey { column: fields::column_of(field), block: Block(0) }.to_bytes();
        let end = after_prefix(from.get(..2).unwrap_or_default()).unwrap_or_default();
        self.delete_range::<Columns>(from, end)?;
        Ok(None)
    }

    fn erase_bitmaps(&mut self, term: TermId) -> Result<(), StoreError> {
        let view = self.view().clone();
        let first = PostingKey { term, block: Block(0) }.to_bytes();
        let mut rows = view.pinned().scan_prefix::<Postings>(first.get(..4).unwrap_or_default())?;
        while let Some((key, _)) = rows.advance()? {
            let key = PostingKey::decode(key)
                .map_err(|why| crate::store::columns::corrupt::<Postings>("bitmap", key, why))?;
            self.delete::<Postings>(&key)?;
        }
        Ok(())
    }
}
