//! The segment table `NAME.segments.parquet` beside a file of bare ids: what each row has, written and read back.
//!
//! It also says what documents say is trained, even where an epoch ignores that.

use super::parquet::{ParquetTableReader, TableFile, table_file};
use crate::output::compression::OutputCompression;
use crate::output::error::WriteError;
use crate::output::files::ManifestFile;
use crate::output::row_format::{RowSpec, ShardReadError, damaged, or_damaged};
use crate::output::rows::{BatchColumn, SEGMENTS, TRAINED_SPANS};
use crate::output::token_batch::{BATCH_ROWS, BATCH_TOKENS, RowLists, TokenBatch};
use arrow::array::RecordBatch;
use arrow::datatypes::Int32Type;
use std::path::Path;

/// The columns of a table.
pub(super) fn segment_columns(spec: &RowSpec) -> Vec<BatchColumn> {
    let mut columns = vec![BatchColumn::Number];
    columns.extend(SEGMENTS);
    if spec.has_loss_spans {
        columns.extend(TRAINED_SPANS);
    }
    columns
}

/// The columns of rows whose ids stand beside a segment table.
pub(super) fn columns_beside(spec: &RowSpec) -> Vec<BatchColumn> {
    let mut columns = segment_columns(spec);
    columns.insert(1, BatchColumn::Ids);
    columns
}

/// A table under way.
pub(super) struct SegmentTableWriter {
    table: TableFile,
    columns: Vec<BatchColumn>,
}

impl SegmentTableWriter {
    pub fn create(spec: &RowSpec, dir: &Path, name: &str) -> Result<Self, WriteError> {
        let columns = segment_columns(spec);
        let fields = columns.iter().map(|column| column.field()).collect();
        // Segment tables are small.
        let table = table_file(dir, name, fields, OutputCompression::Zstd)?;
        Ok(Self { table, columns })
    }

    pub fn append(&mut self, rows: &TokenBatch) -> Result<(), WriteError> {
        let columns = rows.project(&self.columns).map_err(WriteError::Bug)?;
        self.table.write(&columns, rows.len())
    }

    pub fn finish(self) -> Result<ManifestFile, WriteError> {
        self.table.finish()
    }
}

/// A table that is read some rows at a time.
pub(super) struct SegmentTableReader {
    table: ParquetTableReader,
    /// What is read and not asked for yet.
    ahead: Option<RecordBatch>,
}

impl SegmentTableReader {
    pub fn open(path: &Path) -> Result<Self, ShardReadError> {
        Ok(Self { table: ParquetTableReader::open(path)?, ahead: None })
    }

    /// Reads as many of the next rows as are read at a time, without ids, and the tokens of each, which `tokens` knows
    /// by the lengths of its segments; nothing at the end.
    pub fn next_rows(
        &mut self,
        mut tokens: impl FnMut(&[i32]) -> Result<usize, ShardReadError>,
    ) -> Result<Option<(RecordBatch, Vec<usize>)>, ShardReadError> {
        let batch = match self.ahead.take() {
            Some(batch) => batch,
            None => match self.table.next_batch()? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        let name = BatchColumn::SeqLengths.name();
        let Some(lengths) = batch.column_by_name(name) else {
            return damaged(&self.table.path, format!("column {name} is missing"));
        };
        let segments = or_damaged(&self.table.path, RowLists::<Int32Type>::of(lengths, name))?;
        let (mut rows, mut sum) = (Vec::new(), 0_usize);
        while rows.len() < batch.num_rows().min(BATCH_ROWS) && sum < BATCH_TOKENS {
            let own = tokens(segments.row(rows.len()))?;
            sum = sum.saturating_add(own);
            rows.push(own);
        }
        if rows.len() < batch.num_rows() {
            self.ahead = Some(batch.slice(rows.len(), batch.num_rows() - rows.len()));
        }
        Ok(Some((batch.slice(0, rows.len()), rows)))
    }
}
