//! Reads Parquet shards.

use super::table::{Batch, Table};
use super::{ReadError, ReadRow, ReadViews, Reader, malformed};
use ::arrow::datatypes::{Int8Type, Int32Type, Int64Type};
use std::path::Path;

pub(super) struct ParquetShard {
    table: Table,
}

impl ParquetShard {
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Ok(Self { table: Table::open(path)? })
    }
}

impl Reader for ParquetShard {
    fn next_rows(&mut self) -> Result<Vec<ReadRow>, ReadError> {
        match self.table.next()? {
            None => Ok(Vec::new()),
            Some(batch) => rows(&batch),
        }
    }
}

/// The rows of a batch of all columns.
pub(super) fn rows(batch: &Batch<'_>) -> Result<Vec<ReadRow>, ReadError> {
    let mut rows = segment_rows(batch)?;
    let ids = batch.lists::<Int32Type>("input_ids")?;
    let labels = batch.lists::<Int32Type>("labels")?;
    let masks = batch.lists::<Int8Type>("loss_mask")?;
    let positions = batch.lists::<Int32Type>("position_ids")?;
    let starts = batch.lists::<Int32Type>("seq_start_id")?;
    let views = labels.into_iter().zip(masks).zip(positions).zip(starts);
    for ((row, ids), (((labels, loss_mask), position_ids), seq_start_id)) in
        rows.iter_mut().zip(ids).zip(views)
    {
        for id in ids {
            match u32::try_from(id) {
                Ok(id) => row.ids.push(id),
                Err(_) => return malformed(batch.path(), format!("token id {id} is negative")),
            }
        }
        row.views = Some(ReadViews { labels, loss_mask, position_ids, seq_start_id });
    }
    Ok(rows)
}

/// The segments of each row of a batch.
pub(super) fn segment_rows(batch: &Batch<'_>) -> Result<Vec<ReadRow>, ReadError> {
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
