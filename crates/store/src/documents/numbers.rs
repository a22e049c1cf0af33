//! The family `columns`: numbers of documents, block by block.

use crate::batch::CommitBatch;
use crate::bytes::key::{BlockNumber, ColumnKey, StoreKey};
use crate::bytes::number_block::{NumberBlock, NumberBlockRef, encode_patch};
use crate::database::family::{corrupt_row, family_handle, store_family};
use crate::database::merge;
use crate::error::{DecodeError, StoreError};
use crate::system_fields;
use crate::view::View;
use model::{ColumnId, DocId, SourceId};
use rocksdb::DBPinnableSlice;
use std::sync::Arc;

store_family! {
    /// Numeric columns: lengths, counts, term of each document, declared numbers.
    Columns = "columns", Numbers,
    ColumnKey, "column u16, block u48"
    => "column block": NumberBlockRef<'v>, |_, bytes| NumberBlockRef::read(bytes),
    "up to 65,536 integers with nulls, min and max; merge operand: patch"
}

/// One block of a column, held as it is stored.
pub struct NumberBlockHandle<'v> {
    column: ColumnId,
    block: u64,
    bytes: Option<BlockBytes<'v>>,
}

enum BlockBytes<'v> {
    /// The bytes as RocksDB has them in its cache.
    Pinned(DBPinnableSlice<'v>),
    /// Put together from patches.
    Merged(Arc<[u8]>),
}

impl NumberBlockHandle<'_> {
    /// The values of the block; none where nothing was ever set.
    pub fn values(&self) -> Result<Option<NumberBlockRef<'_>>, StoreError> {
        let Some(bytes) = self.bytes() else { return Ok(None) };
        let values = NumberBlockRef::read(bytes);
        values.map(Some).map_err(|why| corrupt_row::<Columns>("column block", &self.key(), why))
    }

    fn decoded(&self) -> Result<NumberBlock, StoreError> {
        let Some(bytes) = self.bytes() else { return Ok(NumberBlock::default()) };
        let block = NumberBlock::decode(bytes);
        block.map_err(|why| corrupt_row::<Columns>("column block", &self.key(), why))
    }

    fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_ref().map(|bytes| match bytes {
            BlockBytes::Pinned(bytes) => bytes.as_ref(),
            BlockBytes::Merged(bytes) => bytes.as_ref(),
        })
    }

    fn key(&self) -> Vec<u8> {
        ColumnKey { column: self.column, block: BlockNumber(self.block) }.to_bytes()
    }
}

/// The number that every document has in a column: its length, its source, its commit.
fn expected(value: Option<i64>, column: ColumnId, document: DocId) -> Result<u64, StoreError> {
    value.and_then(|value| u64::try_from(value).ok()).ok_or_else(|| {
        let key = ColumnKey { column, block: BlockNumber(document.block()) }.to_bytes();
        let why = DecodeError::at(0, format!("no number of document {document}"));
        corrupt_row::<Columns>("column block", &key, why)
    })
}

/// The source that every document has in its column.
fn source(value: Option<i64>, document: DocId) -> Result<SourceId, StoreError> {
    let number = value.and_then(|number| u32::try_from(number).ok());
    let number = expected(number.map(i64::from), system_fields::SOURCE_OF, document)?;
    Ok(SourceId(number as u32))
}

impl NumberBlock {
    /// The number of a document, in a column in which every document has one.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] where it has none.
    pub fn expect(&self, column: ColumnId, document: DocId) -> Result<u64, StoreError> {
        expected(self.get(document.slot()), column, document)
    }

    /// The source of a document, in the column of sources.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] where it has none, or a number that no source can have.
    #[doc(hidden)]
    pub fn source_of(&self, document: DocId) -> Result<SourceId, StoreError> {
        source(self.get(document.slot()), document)
    }
}

impl NumberBlockRef<'_> {
    /// The number of a document, as [`NumberBlock::expect`] gives it.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] where it has none.
    pub fn expect(&self, column: ColumnId, document: DocId) -> Result<u64, StoreError> {
        expected(self.get(document.slot()), column, document)
    }
}

impl View {
    /// One block of a column as it is stored. One that lies there in patches is put together once, and kept while there
    /// is room; see [`page_cache`](crate::database::page_cache).
    #[doc(hidden)]
    pub fn column(
        &self,
        column: ColumnId,
        block: u64,
    ) -> Result<NumberBlockHandle<'_>, StoreError> {
        let pages = &self.moment.pages;
        if let Some(bytes) = pages.get(column, block) {
            crate::counted::read("columns", 1);
            return Ok(NumberBlockHandle { column, block, bytes: Some(BlockBytes::Merged(bytes)) });
        }
        let before = merge::numbers_merged();
        let key = ColumnKey { column, block: BlockNumber(block) };
        let mut bytes = self.pinned().get::<Columns>(&key)?.map(BlockBytes::Pinned);
        if let (Some(BlockBytes::Pinned(put_together)), true) =
            (&bytes, merge::numbers_merged() != before)
        {
            let put_together: Arc<[u8]> = Arc::from(put_together.as_ref());
            pages.keep(column, block, &put_together);
            bytes = Some(BlockBytes::Merged(put_together));
        }
        Ok(NumberBlockHandle { column, block, bytes })
    }

    /// One block of a column, decoded; empty where nothing was ever set.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn column_block(&self, column: ColumnId, block: u64) -> Result<NumberBlock, StoreError> {
        self.column(column, block)?.decoded()
    }

    /// What `read` makes of one block of a column, given as it lies in memory: no value is copied. None
    /// where nothing was ever set.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn column_values<T>(
        &self,
        column: ColumnId,
        block: u64,
        read: impl FnOnce(&NumberBlockRef<'_>) -> T,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.column(column, block)?.values()?.map(|values| read(&values)))
    }

    /// The value of one document; none where it has none. Nothing else of its block is decoded.
    #[doc(hidden)]
    pub fn column_value(
        &self,
        column: ColumnId,
        document: DocId,
    ) -> Result<Option<i64>, StoreError> {
        let (block, slot) = (document.block(), document.slot());
        Ok(self.column_values(column, block, |values| values.get(slot))?.flatten())
    }

    /// The number of a document, as [`NumberBlock::expect`] gives it.
    pub(crate) fn expect_number(
        &self,
        column: ColumnId,
        document: DocId,
    ) -> Result<u64, StoreError> {
        expected(self.column_value(column, document)?, column, document)
    }

    /// The source of a document, from its column.
    ///
    /// # Errors
    /// As [`View::commit_of`].
    pub fn source_of(&self, document: DocId) -> Result<SourceId, StoreError> {
        source(self.column_value(system_fields::SOURCE_OF, document)?, document)
    }

    /// Smallest and largest value of one block of a column, cheaper than its values; none where
    /// nothing was ever set.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn column_range(
        &self,
        column: ColumnId,
        block: u64,
    ) -> Result<Option<(i64, i64)>, StoreError> {
        self.column_values(column, block, |values| values.range())
    }

    /// How often a block of a column was put together from patches for this moment.
    #[doc(hidden)]
    #[must_use]
    pub fn columns_merged(&self) -> u64 {
        self.moment.pages.merged()
    }
}

impl CommitBatch<'_> {
    pub(crate) fn number(&mut self, column: ColumnId, document: DocId, value: i64) {
        self.number_or_null(column, document, Some(value));
    }

    pub(crate) fn number_or_null(&mut self, column: ColumnId, document: DocId, value: Option<i64>) {
        let patch = self.patches.entry((column, document.block())).or_default();
        patch.insert(document.slot(), value);
    }

    /// The bytes of a document's text, and its source, as this batch has them.
    pub(crate) fn length_and_source(&self, document: DocId) -> Result<(u64, SourceId), StoreError> {
        let value = |column| {
            let changed = self.patches.get(&(column, document.block()));
            match changed.and_then(|patch| patch.get(&document.slot())) {
                Some(value) => Ok(*value),
                None => self.view.column_value(column, document),
            }
        };
        let bytes = expected(value(system_fields::BYTES)?, system_fields::BYTES, document)?;
        Ok((bytes, source(value(system_fields::SOURCE_OF)?, document)?))
    }

    /// Writes the numbers that changed, one operand a block.
    pub(crate) fn merge_numbers(&mut self) -> Result<(), StoreError> {
        let columns = family_handle::<Columns>(&self.writer.db)?;
        for ((column, block), patch) in &self.patches {
            let key = ColumnKey { column: *column, block: BlockNumber(*block) };
            self.rows.merge_cf(&columns, key.to_bytes(), encode_patch(patch));
        }
        Ok(())
    }
}
