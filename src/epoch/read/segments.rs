//! Reads the segment tables beside token files.

use super::parquet::segment_rows;
use super::table::Table;
use super::{ReadError, ReadRow};
use ::arrow::datatypes::UInt64Type;
use std::path::Path;

/// A segment table, row by row in chunks.
pub(super) struct Segments {
    table: Table,
}

impl Segments {
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Ok(Self { table: Table::open(path)? })
    }

    /// The next rows, without ids; empty at the end.
    pub fn next_rows(&mut self) -> Result<Vec<ReadRow>, ReadError> {
        let Some(batch) = self.table.next()? else { return Ok(Vec::new()) };
        let numbers = batch.numbers::<UInt64Type>("row")?;
        let mut rows = segment_rows(&batch)?;
        for (row, number) in rows.iter_mut().zip(numbers) {
            row.number = Some(number);
        }
        Ok(rows)
    }
}
