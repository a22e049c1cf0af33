//! Reads the segment tables beside token files.

use super::parquet::segment_rows;
use super::table::Table;
use super::{FileLayout, ReadRow, ShardReadError, malformed};
use ::arrow::datatypes::{Float32Type, Int32Type, UInt64Type};
use std::collections::VecDeque;
use std::path::Path;

/// A segment table, row by row in chunks.
pub(super) struct Segments {
    table: Table,
    said: bool,
    /// Rows read that were not asked for yet.
    ahead: VecDeque<ReadRow>,
}

impl Segments {
    pub fn open(path: &Path, layout: &FileLayout) -> Result<Self, ShardReadError> {
        Ok(Self { table: Table::open(path)?, said: layout.said, ahead: VecDeque::new() })
    }

    /// The next row, without ids; none at the end.
    pub fn next(&mut self) -> Result<Option<ReadRow>, ShardReadError> {
        if self.ahead.is_empty() {
            self.ahead = self.read()?.into();
        }
        Ok(self.ahead.pop_front())
    }

    fn read(&mut self) -> Result<Vec<ReadRow>, ShardReadError> {
        let Some(batch) = self.table.next()? else { return Ok(Vec::new()) };
        let numbers = batch.numbers::<UInt64Type>("row")?;
        let mut rows = segment_rows(&batch)?;
        for (row, number) in rows.iter_mut().zip(numbers) {
            row.number = Some(number);
        }
        let mut names = vec!["row", "seq_lengths", "source", "doc_ids", "doc_offsets"];
        if self.said {
            names.extend(["trained_starts", "trained_ends", "trained_weights"]);
            let starts = batch.lists::<Int32Type>("trained_starts")?;
            let ends = batch.lists::<Int32Type>("trained_ends")?;
            let weights = batch.lists::<Float32Type>("trained_weights")?;
            let spans = starts.into_iter().zip(ends).zip(weights);
            for (row, ((starts, ends), weights)) in rows.iter_mut().zip(spans) {
                if ends.len() != starts.len() || weights.len() != starts.len() {
                    return malformed(batch.path(), "has spans of unequal columns");
                }
                let spans = starts.into_iter().zip(ends).zip(weights);
                row.trained =
                    Some(spans.map(|((start, end), weight)| (start, end, weight)).collect());
            }
        }
        batch.expect_columns(&names)?;
        Ok(rows)
    }
}
