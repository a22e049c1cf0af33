//! Parquet shards: one row a row, all views of it as columns.
//!
//! Columns: `input_ids`, `labels` (unshifted, -100 on the first token of a segment and on pads),
//! `loss_mask` (1 where the next token is of the same segment), `position_ids`, `seq_lengths`,
//! `seq_start_id`, `source`, `doc_ids`, `doc_offsets`. Pads are in the first four only.

use super::segments::segment_columns;
use super::table::{TableFile, list_column, list_field};
use super::{Options, Writer, shard_name};
use crate::epoch::error::EpochError;
use crate::epoch::ids::Row;
use crate::epoch::manifest::ManifestFile;
use crate::epoch::views;
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, Int8Type, Int32Type};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

pub(super) struct Parquet {
    dir: PathBuf,
    options: Options,
    shard: u32,
    file: Option<TableFile>,
    /// Bytes of the largest row group so far: what the next one is expected to take.
    largest: u64,
    done: Vec<ManifestFile>,
}

pub(super) fn create(dir: &Path, options: Options) -> Parquet {
    Parquet { dir: dir.to_path_buf(), options, shard: 0, file: None, largest: 0, done: Vec::new() }
}

impl Writer for Parquet {
    fn write(&mut self, rows: &[Row]) -> Result<(), EpochError> {
        let columns = columns(rows, &self.options)?;
        let mut file = match self.file.take() {
            Some(file) => file,
            None => TableFile::create(&self.dir, &shard_name(self.shard, "parquet"), fields())?,
        };
        let before = file.bytes();
        file.write(&columns, rows.len())?;
        self.largest = self.largest.max(file.bytes() - before);
        if file.bytes() + self.largest > self.options.shard_bytes {
            self.done.push(file.finish()?);
            self.shard += 1;
        } else {
            self.file = Some(file);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<ManifestFile>, EpochError> {
        if let Some(file) = self.file.take() {
            self.done.push(file.finish()?);
        }
        Ok(self.done)
    }
}

fn fields() -> Vec<Field> {
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

fn columns(rows: &[Row], options: &Options) -> Result<Vec<ArrayRef>, EpochError> {
    let ids: Vec<Vec<i32>> =
        rows.par_iter().map(|row| signed(row, options)).collect::<Result<_, _>>()?;
    let tokens = ids.iter().map(Vec::len).sum();
    let widths = || rows.iter().map(|row| row.ids.len());
    let mut labels = Vec::with_capacity(tokens);
    let mut loss_mask = Vec::with_capacity(tokens);
    let mut position_ids = Vec::with_capacity(tokens);
    let mut input_ids = Vec::with_capacity(tokens);
    for (row, ids) in rows.iter().zip(&ids) {
        input_ids.extend_from_slice(ids);
        views::labels(ids, &row.segments, &mut labels);
        views::loss_mask(ids.len(), &row.segments, &mut loss_mask);
        views::position_ids(ids.len(), &row.segments, &mut position_ids);
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
        views::starts(&row.segments, &mut starts);
    }
    columns.insert(5, list_column::<Int32Type>(starts, rows.iter().map(|row| row.segments.len())));
    Ok(columns)
}

fn signed(row: &Row, options: &Options) -> Result<Vec<i32>, EpochError> {
    let narrow = |id: &u32| i32::try_from(*id).map_err(|_| options.too_large(*id, row));
    row.ids.iter().map(narrow).collect()
}
