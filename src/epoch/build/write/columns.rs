//! The columns of rows beside their ids and segments, as views make them.

use super::Options;
use super::table::{list_column, list_field};
use crate::epoch::build::Values;
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::epoch::recipe::{Column, ColumnKind};
use crate::epoch::views;
use crate::epoch::views::Normalise;
use ::arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use ::arrow::datatypes::{DataType, Field, Float32Type, Int8Type, Int32Type};
use rayon::prelude::*;
use std::sync::Arc;

/// The values of a row in a column.
pub(super) fn values(
    column: Column,
    row: &FilledRow,
    options: &Options,
) -> Result<Values, EpochError> {
    let (shape, trained) = (&row.shape, options.trained(row));
    Ok(match column {
        Column::AttentionMask => Values::I8(views::attention_mask(shape)),
        Column::CuSeqlens => Values::I32(views::cu_seqlens(shape)),
        Column::Labels => Values::I32(views::labels(shape, &options.signed(row)?, trained)),
        Column::LossMask => Values::I8(views::loss_mask(shape, trained)),
        Column::LossWeights => Values::F32(views::loss_weights(shape, trained, Normalise::Tokens)),
        Column::MaxSeqlen => Values::I32(vec![views::max_seqlen(shape).cast_signed()]),
        Column::PositionIds => Values::I32(views::position_ids(shape)),
        Column::SegmentIds => Values::I32(views::segment_ids(shape)),
        Column::SeqIdx => Values::I32(views::seq_idx(shape)),
        // Of documents, as the columns beside it, also where every pad is a segment to other views.
        Column::SeqStartId => {
            Values::I32(shape.spans.iter().map(|span| span.start.cast_signed()).collect())
        }
    })
}

/// The field of a column.
pub(super) fn field(column: Column) -> Field {
    let kind = match column.kind() {
        ColumnKind::I8 => DataType::Int8,
        ColumnKind::I32 => DataType::Int32,
        ColumnKind::F32 => DataType::Float32,
    };
    match column.is_one() {
        true => Field::new(column.name(), kind, false),
        false => list_field(column.name(), kind),
    }
}

/// A column of rows.
pub(super) fn array(
    column: Column,
    rows: &[&FilledRow],
    options: &Options,
) -> Result<ArrayRef, EpochError> {
    let values: Vec<Values> =
        rows.par_iter().map(|row| values(column, row, options)).collect::<Result<_, _>>()?;
    let lengths: Vec<usize> = values.iter().map(Values::len).collect();
    Ok(match column.kind() {
        ColumnKind::I8 => joined::<Int8Type>(column, lengths, values.into_iter().map(i8s)),
        ColumnKind::I32 => joined::<Int32Type>(column, lengths, values.into_iter().map(i32s)),
        ColumnKind::F32 => joined::<Float32Type>(column, lengths, values.into_iter().map(f32s)),
    })
}

fn joined<T: ArrowPrimitiveType>(
    column: Column,
    lengths: Vec<usize>,
    values: impl Iterator<Item = Vec<T::Native>>,
) -> ArrayRef {
    let mut all = Vec::with_capacity(lengths.iter().sum());
    values.for_each(|values| all.extend_from_slice(&values));
    match column.is_one() {
        true => Arc::new(PrimitiveArray::<T>::from_iter_values(all)),
        false => list_column::<T>(all, lengths),
    }
}

fn i8s(values: Values) -> Vec<i8> {
    if let Values::I8(values) = values { values } else { Vec::new() }
}

fn i32s(values: Values) -> Vec<i32> {
    if let Values::I32(values) = values { values } else { Vec::new() }
}

fn f32s(values: Values) -> Vec<f32> {
    if let Values::F32(values) = values { values } else { Vec::new() }
}
