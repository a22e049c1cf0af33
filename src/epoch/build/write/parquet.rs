//! Parquet shards: one row a row, its views as columns.
//!
//! Columns: `input_ids`, `labels` (unshifted, -100 on the first token of a segment, on pads and on what is
//! not trained on), `loss_mask` (1 where the next token is a target), `position_ids`, `seq_lengths`,
//! `seq_start_id`, `source`, `doc_ids`, `doc_offsets`, and `loss_weights` (unshifted) where documents
//! say what is trained on. Pads are in the first four and the last only.

use super::columns::{array, field};
use super::segments::{segment_columns, segment_fields};
use super::table::{list_column, list_field, table_file};
use super::{Options, Shard, ShardFormat, shard_name};
use crate::epoch::build::ManifestFile;
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::epoch::recipe::Column;
use crate::output::TableFile;
use ::arrow::array::ArrayRef;
use ::arrow::datatypes::{DataType, Field, Int32Type};

struct Parquet(Options);

pub(super) fn format(options: Options) -> impl ShardFormat {
    Parquet(options)
}

impl ShardFormat for Parquet {
    fn weigh(&self, _: &FilledRow) -> u64 {
        0
    }

    fn open(&self, number: u32, _: u64) -> Result<Box<dyn Shard>, EpochError> {
        let options = self.0.clone();
        let name = shard_name(number, "parquet");
        let file = table_file(&options.dir, &name, fields(&options), options.compression)?;
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
    fn append(&mut self, rows: &[FilledRow]) -> Result<(), EpochError> {
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

/// Columns that stand before those of segments, among them, and after, where they are asked for.
const BEFORE: [Column; 3] = [Column::Labels, Column::LossMask, Column::PositionIds];
const AMONG: [Column; 1] = [Column::SeqStartId];
const AFTER: [Column; 6] = [
    Column::LossWeights,
    Column::AttentionMask,
    Column::CuSeqlens,
    Column::MaxSeqlen,
    Column::SegmentIds,
    Column::SeqIdx,
];

/// The fields of the columns of rows.
pub(super) fn fields(options: &Options) -> Vec<Field> {
    let of = |columns: &'static [Column]| {
        columns.iter().filter(|column| options.has(**column)).map(|column| field(*column))
    };
    let [lengths, beside @ ..] = segment_fields();
    let mut fields = vec![list_field("input_ids", DataType::Int32)];
    fields.extend(of(&BEFORE));
    fields.push(lengths);
    fields.extend(of(&AMONG));
    fields.extend(beside);
    fields.extend(of(&AFTER));
    fields
}

/// The columns of [`fields`].
pub(super) fn columns(rows: &[&FilledRow], options: &Options) -> Result<Vec<ArrayRef>, EpochError> {
    let mut ids = Vec::with_capacity(rows.iter().map(|row| row.ids.len()).sum());
    rows.iter().try_for_each(|row| options.put_signed(row, &mut ids))?;
    let of = |columns: &'static [Column]| -> Result<Vec<ArrayRef>, EpochError> {
        let asked = columns.iter().filter(|column| options.has(**column));
        asked.map(|column| array(*column, rows, options)).collect()
    };
    let widths = rows.iter().map(|row| row.ids.len());
    let [lengths, beside @ ..] = segment_columns(rows, options)?;
    let mut columns = vec![list_column::<Int32Type>(ids, widths)];
    columns.extend(of(&BEFORE)?);
    columns.push(lengths);
    columns.extend(of(&AMONG)?);
    columns.extend(beside);
    columns.extend(of(&AFTER)?);
    Ok(columns)
}
