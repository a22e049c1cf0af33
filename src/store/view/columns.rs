//! Columns of numbers, block by block.

use super::View;
use crate::model::ColumnId;
use crate::store::columns::{Columns, corrupt};
use crate::store::error::StoreError;
use crate::store::rows::keys::{Block, ColumnKey, Key};
use crate::store::rows::numbers::ColumnBlock;
use crate::store::rows::values::ColumnValues;

impl View {
    /// One block of a column; empty where nothing was ever set.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn column_block(&self, column: ColumnId, block: u64) -> Result<ColumnBlock, StoreError> {
        let key = ColumnKey { column, block: Block(block) };
        let Some(bytes) = self.pinned().get::<Columns>(&key)? else {
            return Ok(ColumnBlock::default());
        };
        let block = ColumnBlock::decode(&bytes);
        block.map_err(|why| corrupt::<Columns>("column block", &key.to_bytes(), why))
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
        self.pinned().read_with::<Columns, _>("column block", &key, |values| Ok(read(&values)))
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
}
