//! Batches without their pads as a stream: one record or line a batch, every tensor by the same indices.

use super::spec::RowContext;
use crate::epoch::error::EpochError;
use crate::epoch::recipe::{PadSide, RowColumn};
use crate::epoch::stream::{EpochBatch, EpochRow};
use crate::epoch::views::{PackedRow, UnpaddedBatch, unpad_batch};
use arrow::array::{ArrayRef, Int32Array, UInt64Array};
use arrow::datatypes::{DataType, Field, Float32Type, Int8Type, Int32Type, Int64Type, UInt64Type};
use files::output::{list_column, list_field};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
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
pub(super) struct Unpadded<'a> {
    number: u64,
    rows: Vec<u64>,
    columns: &'a [RowColumn],
    views: UnpaddedBatch,
}

impl<'a> Unpadded<'a> {
    pub fn of(
        batch: &EpochBatch,
        side: PadSide,
        context: &'a RowContext,
    ) -> Result<Self, EpochError> {
        let signed = |row: &EpochRow| {
            context.check_ids(row)?;
            Ok(row.ids.iter().map(|id| id.cast_signed()).collect())
        };
        let ids: Vec<Vec<i32>> =
            batch.rows.iter().map(signed).collect::<Result<_, EpochError>>()?;
        let rows: Vec<PackedRow<'_>> = batch
            .rows
            .iter()
            .zip(&ids)
            .map(|(row, ids)| PackedRow { shape: &row.shape, ids, trained: context.trained(row) })
            .collect();
        let views = unpad_batch(&rows, side).map_err(|why| EpochError::bug(why.to_string()))?;
        let rows = batch.rows.iter().map(EpochRow::number).collect();
        Ok(Self { number: batch.number, rows, columns: &context.spec.columns, views })
    }

    /// The columns of [`fields`], of one value each.
    pub fn arrays(self) -> Vec<ArrayRef> {
        let views = self.views;
        let one = |length: usize| std::iter::once(length);
        let (count, tokens) = (self.rows.len(), views.input_ids.len());
        let boundaries = views.cu_seqlens.len();
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from_iter_values([self.number])),
            list_column::<UInt64Type>(self.rows, one(count)),
            Arc::new(UInt64Array::from_iter_values([views.width as u64])),
            list_column::<Int64Type>(views.indices, one(tokens)),
            list_column::<Int32Type>(views.cu_seqlens, one(boundaries)),
            Arc::new(Int32Array::from_iter_values([views.max_seqlen.cast_signed()])),
            list_column::<Int32Type>(views.input_ids, one(tokens)),
        ];
        for column in self.columns {
            let of = |values: &Vec<i32>| list_column::<Int32Type>(values.clone(), one(tokens));
            arrays.push(match column {
                RowColumn::LossMask => {
                    list_column::<Int8Type>(views.loss_mask.clone(), one(tokens))
                }
                RowColumn::LossWeights => {
                    list_column::<Float32Type>(views.loss_weights.clone(), one(tokens))
                }
                RowColumn::PositionIds => of(&views.position_ids),
                RowColumn::SegmentIds => of(&views.segment_ids),
                RowColumn::SeqIdx => of(&views.seq_idx),
                _ => of(&views.labels),
            });
        }
        arrays
    }
}

/// The fields of a batch without pads.
pub(super) fn fields(columns: &[RowColumn]) -> Vec<Field> {
    let more = columns.iter().map(|column| list_field(column.name(), column.value_type()));
    let always = [
        Field::new("batch", DataType::UInt64, false),
        list_field("rows", DataType::UInt64),
        Field::new("width", DataType::UInt64, false),
        list_field("indices", DataType::Int64),
        list_field("cu_seqlens", DataType::Int32),
        Field::new("max_seqlen", DataType::Int32, false),
        list_field("input_ids", DataType::Int32),
    ];
    always.into_iter().chain(more).collect()
}

impl Serialize for Unpadded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let views = &self.views;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("batch", &self.number)?;
        map.serialize_entry("rows", &self.rows)?;
        map.serialize_entry("width", &views.width)?;
        map.serialize_entry("indices", &views.indices)?;
        map.serialize_entry("cu_seqlens", &views.cu_seqlens)?;
        map.serialize_entry("max_seqlen", &views.max_seqlen)?;
        map.serialize_entry("input_ids", &views.input_ids)?;
        for column in self.columns {
            match column {
                RowColumn::LossMask => map.serialize_entry(column.name(), &views.loss_mask),
                RowColumn::LossWeights => map.serialize_entry(column.name(), &views.loss_weights),
                RowColumn::PositionIds => map.serialize_entry(column.name(), &views.position_ids),
                RowColumn::SegmentIds => map.serialize_entry(column.name(), &views.segment_ids),
                RowColumn::SeqIdx => map.serialize_entry(column.name(), &views.seq_idx),
                _ => map.serialize_entry(column.name(), &views.labels),
            }?;
        }
        map.end()
    }
}
