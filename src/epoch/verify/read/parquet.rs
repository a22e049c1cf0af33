//! Reads Parquet shards.

use super::table::{Table, TableBatch};
use super::{FileLayout, ReadRow, Reader, ShardReadError, malformed};
use crate::epoch::build::Values;
use crate::epoch::recipe::{Column, ColumnKind};
use ::arrow::datatypes::{Float32Type, Int8Type, Int32Type, Int64Type};
use std::path::Path;

pub(super) struct ParquetShard {
    table: Table,
    layout: FileLayout,
}

impl ParquetShard {
    pub fn open(path: &Path, layout: &FileLayout) -> Result<Self, ShardReadError> {
        Ok(Self { table: Table::open(path)?, layout: layout.clone() })
    }
}

impl Reader for ParquetShard {
    fn next_rows(&mut self) -> Result<Vec<ReadRow>, ShardReadError> {
        match self.table.next()? {
            None => Ok(Vec::new()),
            Some(batch) => rows(&batch, &self.layout),
        }
    }
}

/// The rows of a batch of the columns that the layout has.
pub(super) fn rows(
    batch: &TableBatch<'_>,
    layout: &FileLayout,
) -> Result<Vec<ReadRow>, ShardReadError> {
    let mut rows = segment_rows(batch)?;
    for (row, ids) in rows.iter_mut().zip(batch.lists::<Int32Type>("input_ids")?) {
        for id in ids {
            match u32::try_from(id) {
                Ok(id) => row.ids.push(id),
                Err(_) => return malformed(batch.path(), format!("token id {id} is negative")),
            }
        }
    }
    let mut names = vec!["input_ids", "seq_lengths", "source", "doc_ids", "doc_offsets"];
    for column in &layout.columns {
        names.push(column.name());
        for (row, values) in rows.iter_mut().zip(column_of(batch, *column)?) {
            row.columns.insert(*column, values);
        }
    }
    batch.expect_columns(&names)?;
    Ok(rows)
}

/// The values of each row in a column.
fn column_of(batch: &TableBatch<'_>, column: Column) -> Result<Vec<Values>, ShardReadError> {
    let name = column.name();
    Ok(match column.kind() {
        ColumnKind::I32 if column.is_one() => batch
            .numbers::<Int32Type>(name)?
            .into_iter()
            .map(|one| Values::I32(vec![one]))
            .collect(),
        ColumnKind::I8 => batch.lists::<Int8Type>(name)?.into_iter().map(Values::I8).collect(),
        ColumnKind::I32 => batch.lists::<Int32Type>(name)?.into_iter().map(Values::I32).collect(),
        ColumnKind::F32 => batch.lists::<Float32Type>(name)?.into_iter().map(Values::F32).collect(),
    })
}

/// The segments of each row of a batch.
pub(super) fn segment_rows(batch: &TableBatch<'_>) -> Result<Vec<ReadRow>, ShardReadError> {
    let lengths = batch.lists::<Int32Type>("seq_lengths")?;
    let sources = batch.texts("source")?;
    let documents = batch.lists::<Int64Type>("doc_ids")?;
    let offsets = batch.lists::<Int64Type>("doc_offsets")?;
    let columns = lengths.into_iter().zip(sources).zip(documents).zip(offsets);
    let row = |(((seq_lengths, source), doc_ids), doc_offsets)| ReadRow {
        source,
        seq_lengths,
        doc_ids,
        doc_offsets,
        ..ReadRow::default()
    };
    Ok(columns.map(row).collect())
}
