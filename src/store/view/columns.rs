//! Columns of numbers, block by block.

use super::View;
use crate::model::ColumnId;
use crate::store::columns::Columns;
use crate::store::error::StoreError;
use crate::store::rows::keys::{Block, ColumnKey};
use crate::store::rows::numbers::{self, ColumnBlock};
use crate::store::rows::values::ColumnValues;

impl View {
    /// One block of a column; empty where nothing was ever set.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn column_block(&self, column: ColumnId, block: u64) -> Result<ColumnBlock, StoreError> {
        let key = ColumnKey { column, block: Block(block) };
        let found = self.pinned().read::<Columns, _>("column block", &key, ColumnBlock::decode)?;
        Ok(found.unwrap_or_default())
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
        read: impl FnOnce(&ColumnValues<'_>) -> T,
    ) -> Result<Option<T>, StoreError> {
        let key = ColumnKey { column, block: Block(block) };
        self.pinned().read::<Columns, _>("column block", &key, |bytes| {
            ColumnValues::read(bytes).map(|values| read(&values))
        })
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
        let key = ColumnKey { column, block: Block(block) };
        self.pinned().read::<Columns, _>("column block", &key, numbers::stored_range)
    }
}
