//! The columns that say what is in a row; the same in Parquet shards and beside token files.

use super::Options;
use super::table::{list_column, list_field};
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::model::LossSpan;
use ::arrow::array::{ArrayRef, StringArray};
use ::arrow::datatypes::{DataType, Field, Float32Type, Int32Type, Int64Type};
use std::sync::Arc;

/// The fields of the segment columns.
pub(super) fn segment_fields() -> [Field; 4] {
    [
        list_field("seq_lengths", DataType::Int32),
        Field::new("source", DataType::Utf8, false),
        list_field("doc_ids", DataType::Int64),
        list_field("doc_offsets", DataType::Int64),
    ]
}

/// The columns of [`segment_fields`].
pub(super) fn segment_columns(
    rows: &[&FilledRow],
    options: &Options,
) -> Result<[ArrayRef; 4], EpochError> {
    let segments = || rows.iter().flat_map(|row| &row.segments);
    let counts = || rows.iter().map(|row| row.segments.len());
    let names: Vec<&str> = rows.iter().map(|row| options.source(row)).collect();
    let documents: Vec<i64> = segments()
        .map(|segment| i64::try_from(segment.document.0))
        .collect::<Result<_, _>>()
        .map_err(|_| EpochError::bug("a document id over 2^63"))?;
    Ok([
        list_column::<Int32Type>(
            segments().map(|segment| segment.length.cast_signed()).collect(),
            counts(),
        ),
        Arc::new(StringArray::from(names)),
        list_column::<Int64Type>(documents, counts()),
        list_column::<Int64Type>(
            segments().map(|segment| i64::from(segment.offset)).collect(),
            counts(),
        ),
    ])
}

/// The fields that say in segment tables which positions of a row are trained on, and with what weight.
pub(super) fn trained_fields() -> [Field; 3] {
    [
        list_field("trained_starts", DataType::Int32),
        list_field("trained_ends", DataType::Int32),
        list_field("trained_weights", DataType::Float32),
    ]
}

/// The columns of [`trained_fields`]: what documents say, whether it is ignored elsewhere or not.
pub(super) fn trained_columns(rows: &[&FilledRow]) -> [ArrayRef; 3] {
    let of = |row: &FilledRow| row.trained.as_deref().unwrap_or_default().to_vec();
    let spans: Vec<Vec<LossSpan>> = rows.iter().map(|row| of(row)).collect();
    let counts = || spans.iter().map(Vec::len);
    let all = || spans.iter().flatten();
    [
        list_column::<Int32Type>(all().map(|span| span.start.cast_signed()).collect(), counts()),
        list_column::<Int32Type>(all().map(|span| span.end.cast_signed()).collect(), counts()),
        list_column::<Float32Type>(all().map(|span| span.weight).collect(), counts()),
    ]
}
