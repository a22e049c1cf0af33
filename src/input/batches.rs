//! Record batches as records: one batch is held, and as many of its rows as records as memory should hold.

use super::error::ReadError;
use super::item::{ReadItem, ReadOptions, byte_len};
use super::table::{ArrowRows, Columns};
use crate::model::Origin;
use arrow::array::RecordBatch;

/// Rows that are made into records at a time, at first and at most. How long they come to be is known only once
/// they are made, so more are made only when those before were short.
const ROWS: (u64, u64) = (32, 8192);
/// Bytes of rows made into records that are aimed at.
const BYTES: u64 = 16 << 20;

/// Who gives record batches.
pub(super) trait BatchReader {
    /// The next batch, none at the end. `origin` is where its first row stands.
    fn next_batch(&mut self, origin: &Origin) -> Result<Option<RecordBatch>, ReadError>;
}

/// The rows of batches, one after the other.
pub(super) struct BatchRows<S> {
    supply: S,
    held: Option<OpenBatch>,
    /// Rows that are made into records next.
    rows_next: u64,
}

/// A record batch whose rows become records.
struct OpenBatch {
    batch: RecordBatch,
    columns: Columns,
    /// Its rows that were made into records.
    made: usize,
    /// Those of them that are not all given.
    rows: Option<ArrowRows>,
}

impl<S: BatchReader> BatchRows<S> {
    pub(super) const fn new(supply: S) -> Self {
        Self { supply, held: None, rows_next: ROWS.0 }
    }

    pub(super) const fn supply(&self) -> &S {
        &self.supply
    }

    pub(super) fn next(
        &mut self,
        options: &ReadOptions,
        origin: Origin,
    ) -> Result<Option<ReadItem>, ReadError> {
        loop {
            let Some(held) = &mut self.held else {
                let Some(batch) = self.supply.next_batch(&origin)? else { return Ok(None) };
                // Whoever gives batches may give some that do not have the columns that were promised.
                let columns = Columns::of(&batch.schema(), &origin.path, options)?;
                self.held = Some(OpenBatch { batch, columns, made: 0, rows: None });
                continue;
            };
            if let Some(rows) = held.rows.as_mut().filter(|rows| !rows.is_empty()) {
                return Ok(Some(rows.take(&held.columns, options.max_doc_bytes, origin)));
            }
            held.rows = None;
            let left = held.batch.num_rows().saturating_sub(held.made);
            if left == 0 {
                self.held = None;
                continue;
            }
            let count = left.min(usize::try_from(self.rows_next).unwrap_or(left));
            let slice = held.batch.slice(held.made, count);
            held.made += count;
            let rows = ArrowRows::new(&slice, &held.columns).map_err(|what| ReadError::Rows {
                path: origin.path.to_path_buf(),
                row: origin.number,
                what,
            })?;
            let average = (rows.bytes() / byte_len(count).max(1)).max(1);
            let (_, most) = ROWS;
            self.rows_next = (BYTES / average).clamp(1, most.min(self.rows_next.saturating_mul(2)));
            held.rows = Some(rows);
        }
    }
}
