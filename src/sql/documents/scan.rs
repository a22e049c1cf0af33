//! Some columns of the documents that satisfy a predicate, batch by batch.

use super::columns::ColumnReader;
use super::filter::{ResolvedPredicate, StoredBlock, slots_of_bitmap};
use super::producer::BatchSink;
use super::schema::DocumentColumn;
use crate::sql::error::SqlError;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use roaring::RoaringBitmap;
use std::ops::Range;
use std::sync::Arc;
use store::View;

#[derive(Clone)]
pub(crate) struct DocumentScan {
    pub(crate) view: View,
    pub(crate) test: ResolvedPredicate,
    pub(crate) wanted: Arc<[DocumentColumn]>,
    /// Types of the columns.
    pub(crate) schema: SchemaRef,
    /// Runs of blocks, one a partition.
    pub(crate) parts: Arc<[Range<u64>]>,
}

impl DocumentScan {
    /// Pushes the rows of a run of blocks.
    pub(crate) fn push(
        &self,
        blocks: Range<u64>,
        limit: Option<usize>,
        rows: usize,
        sink: &mut BatchSink<'_>,
    ) -> Result<(), SqlError> {
        let mut left = limit.map_or(u64::MAX, |limit| u64::try_from(limit).unwrap_or(u64::MAX));
        let mut reader =
            ColumnReader::new(&self.view, &self.wanted, Arc::clone(&self.schema), rows)?;
        for number in blocks {
            // Asks whether a receiver is left: a run of blocks may yield no batch for long.
            if left == 0 || sink(RecordBatch::new_empty(Arc::clone(&self.schema))).is_break() {
                break;
            }
            let block = StoredBlock::new(&self.view, number);
            let mut slots = self.test.select(&block)?;
            if slots.len() > left {
                slots = slots.iter().take(usize::try_from(left).unwrap_or(usize::MAX)).collect();
            }
            left -= slots.len();
            if slots.is_empty() {
                continue;
            }
            let go_on = if self.wanted.is_empty() {
                sink(self.counted(slots.len())?).is_continue()
            } else {
                self.rows(&mut reader, block, &slots, sink)?
            };
            if !go_on {
                break;
            }
        }
        Ok(())
    }

    /// A batch of `rows` rows without columns.
    fn counted(&self, rows: u64) -> Result<RecordBatch, SqlError> {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), Vec::new(), &options)
            .map_err(SqlError::arrow)
    }

    fn rows<'v>(
        &self,
        reader: &mut ColumnReader<'v>,
        block: StoredBlock<'v>,
        slots: &RoaringBitmap,
        sink: &mut BatchSink<'_>,
    ) -> Result<bool, SqlError> {
        let open = reader.open(block)?;
        let slots = slots_of_bitmap(slots);
        let mut rest = slots.as_slice();
        while !rest.is_empty() {
            let taken = reader.take(&open, rest)?;
            let (now, later) = rest.split_at(taken);
            if sink(reader.batch(&open, now)?).is_break() {
                return Ok(false);
            }
            rest = later;
        }
        Ok(true)
    }
}
