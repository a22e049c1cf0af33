//! Parquet shards: one row a row, all views of it as columns.
//!
//! Columns: `input_ids`, `labels` (unshifted, -100 on the first token of a segment and on pads),
//! `loss_mask` (1 where the next token is of the same segment), `position_ids`, `seq_lengths`,
//! `seq_start_id`, `source`, `doc_ids`, `doc_offsets`. Pads are in the first four only.

use super::segments::segment_columns;
use super::table::{TableFile, list_column, list_field};
use super::{Format, Options, Shard, shard_name};
use crate::epoch::error::EpochError;
use crate::epoch::ids::Row;
use crate::epoch::manifest::ManifestFile;
use crate::epoch::views;
use ::arrow::array::ArrayRef;
use ::arrow::datatypes::{DataType, Field, Int8Type, Int32Type};
use rayon::prelude::*;

struct Parquet(Options);

pub(super) fn format(options: Options) -> impl Format {
    Parquet(options)
}

impl Format for Parquet {
    fn weigh(&self, _: &Row) -> u64 {
        0
    }

    fn open(&self, number: u32, _: u64) -> Result<Box<dyn Shard>, EpochError> {
        let options = self.0.clone();
        let name = shard_name(number, "parquet");
        let file = TableFile::create(&options.dir, &name, fields(), options.compression)?;
        Ok(Box::new(ParquetShard { options, file, largest: 0 }))
    }
}

/// A shard under way: a row group a group.
struct ParquetShard {
    options: Options,
    file: TableFile,
    /// Bytes of the largest row group so far: what the next one is expected to take.
    largest: u64,
}

impl Shard for ParquetShard {
    fn append(&mut self, rows: &[Row]) -> Result<(), EpochError> {
        let columns = columns(&rows.iter().collect::<Vec<_>>(), &self.options)?;
        let before = self.file.bytes();
        self.file.write(&columns, rows.len())?;
        self.largest = self.largest.max(self.file.bytes() - before);
        Ok(())
    }

    fn is_full(&self, limit: u64) -> bool {
        self.file.bytes() + self.largest > limit
    }

    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, EpochError> {
        Ok(vec![self.file.finish()?])
    }
}

/// The fields of the columns of rows.
pub(super) fn fields() -> Vec<Field> {
    vec![
        list_field("input_ids", DataType::Int32),
        list_field("labels", DataType::Int32),
        list_field("loss_mask", DataType::Int8),
        list_field("position_ids", DataType::Int32),
        list_field("seq_lengths", DataType::Int32),
        list_field("seq_start_id", DataType::Int32),
        Field::new("source", DataType::Utf8, false),
        list_field("doc_ids", DataType::Int64),
        list_field("doc_offsets", DataType::Int64),
    ]
}

/// The columns of [`fields`].
pub(super) fn columns(rows: &[&Row], options: &Options) -> Result<Vec<ArrayRef>, EpochError> {
    let ids: Vec<Vec<i32>> =
        rows.par_iter().map(|row| options.signed(row)).collect::<Result<_, _>>()?;
    let tokens = ids.iter().map(Vec::len).sum();
    let widths = || rows.iter().map(|row| row.ids.len());
    let mut labels = Vec::with_capacity(tokens);
    let mut loss_mask = Vec::with_capacity(tokens);
    let mut position_ids = Vec::with_capacity(tokens);
    let mut input_ids = Vec::with_capacity(tokens);
    for (row, ids) in rows.iter().zip(&ids) {
        input_ids.extend_from_slice(ids);
        labels.extend(views::labels(&row.shape, ids, row.trained.as_deref()));
        loss_mask.extend(views::loss_mask(&row.shape, row.trained.as_deref()));
        position_ids.extend(views::position_ids(&row.shape));
    }
    let mut columns = vec![
        list_column::<Int32Type>(input_ids, widths()),
        list_column::<Int32Type>(labels, widths()),
        list_column::<Int8Type>(loss_mask, widths()),
        list_column::<Int32Type>(position_ids, widths()),
    ];
    columns.extend(segment_columns(rows, options)?);
    let mut starts = Vec::new();
    for row in rows {
        // Of documents, as the columns beside it, also where every pad is a segment to other views.
        starts.extend(row.shape.spans.iter().map(|span| span.start.cast_signed()));
    }
    columns.insert(5, list_column::<Int32Type>(starts, rows.iter().map(|row| row.segments.len())));
    Ok(columns)
}
