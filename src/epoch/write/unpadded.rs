//! Writes batches without pads as a stream: one record or line a batch, every tensor by the same indices.

use super::columns::token_batch;
use super::spec::RowContext;
use crate::epoch::error::EpochError;
use crate::epoch::recipe::{PadSide, RowColumn};
use crate::epoch::stream::{EpochBatch, EpochRow};
use crate::epoch::views::{end_to_end, indices};
use arrow::array::{ArrayRef, UInt64Array};
use arrow::datatypes::{DataType, Field, Int64Type, UInt64Type};
use files::output::{
    BatchColumn, TokenBatch, list_column, list_field, put_row, signed_columns, signed_fields,
};
use serde::Serialize;
use std::sync::Arc;

/// Columns that a batch without pads may have besides ids, indices and boundaries, by name.
pub(super) const ALIGNED: [RowColumn; 6] = [
    RowColumn::Labels,
    RowColumn::LossMask,
    RowColumn::LossWeights,
    RowColumn::PositionIds,
    RowColumn::SegmentIds,
    RowColumn::SeqIdx,
];

/// A batch without its pads.
pub(super) struct Unpadded {
    numbers: BatchNumbers,
    columns: Vec<BatchColumn>,
    /// Its segments as one row.
    row: TokenBatch,
}

/// What stands before the columns.
#[derive(Serialize)]
struct BatchNumbers {
    batch: u64,
    rows: Vec<u64>,
    width: u64,
    indices: Vec<i64>,
}

/// Boundaries, ids, and what is asked for.
fn columns(asked: &[RowColumn]) -> Vec<BatchColumn> {
    let boundaries = [RowColumn::CuSeqlens, RowColumn::MaxSeqlen].map(BatchColumn::View);
    let asked = asked.iter().copied().map(BatchColumn::View);
    boundaries.into_iter().chain([BatchColumn::Ids]).chain(asked).collect()
}

impl Unpadded {
    pub fn of(batch: &EpochBatch, side: PadSide, context: &RowContext) -> Result<Self, EpochError> {
        batch.rows.iter().try_for_each(|row| context.check_ids(row))?;
        let shapes = batch.rows.iter().map(EpochRow::shape);
        let numbers = BatchNumbers {
            batch: batch.number,
            rows: batch.rows.iter().map(EpochRow::number).collect(),
            width: shapes.clone().map(|shape| shape.width).max().unwrap_or(0).into(),
            indices: indices(shapes, side),
        };
        let row = end_to_end(batch.rows.iter().map(EpochRow::as_parts));
        let row = EpochRow::placed(row.map_err(|why| EpochError::bug(why.to_string()))?);
        let columns = columns(&context.spec.columns);
        // What every batch of rows has, and is empty here.
        let of_segments = [
            BatchColumn::SeqLengths,
            BatchColumn::Source,
            BatchColumn::DocIds,
            BatchColumn::DocOffsets,
        ];
        let row = token_batch(&[&row], &[&*columns, &of_segments].concat(), 0, context)?;
        Ok(Self { numbers, columns, row })
    }

    /// The columns of [`fields`], of one value each.
    pub fn arrays(self) -> Vec<ArrayRef> {
        let BatchNumbers { batch, rows, width, indices } = self.numbers;
        let (count, tokens) = (rows.len(), indices.len());
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from_iter_values([batch])),
            list_column::<UInt64Type>(rows, [count]),
            Arc::new(UInt64Array::from_iter_values([width])),
            list_column::<Int64Type>(indices, [tokens]),
        ];
        arrays.extend(signed_columns(&self.row).into_iter().take(self.columns.len()));
        arrays
    }

    /// Appends its line.
    pub fn put(&self, out: &mut Vec<u8>) -> Result<(), EpochError> {
        Ok(put_row(&self.columns, self.row.row(0), Some(&self.numbers), out)?)
    }
}

/// The fields of a batch without pads.
pub(super) fn fields(asked: &[RowColumn]) -> Vec<Field> {
    let numbers = [
        Field::new("batch", DataType::UInt64, false),
        list_field("rows", DataType::UInt64),
        Field::new("width", DataType::UInt64, false),
        list_field("indices", DataType::Int64),
    ];
    numbers.into_iter().chain(signed_fields(&columns(asked))).collect()
}
