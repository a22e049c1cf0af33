//! Columns of the small tables, and batches of them.

use crate::sql::error::SqlError;
use arrow::array::{
    ArrayRef, Int64Array, StringArray, TimestampMicrosecondArray, UInt32Array, UInt64Array,
};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// A batch of these columns.
pub(in crate::sql) fn batch(
    schema: &SchemaRef,
    arrays: Vec<ArrayRef>,
) -> Result<RecordBatch, SqlError> {
    RecordBatch::try_new(Arc::clone(schema), arrays).map_err(SqlError::arrow)
}

pub(in crate::sql) fn ids(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

/// Those beyond an i64 as the largest.
pub(in crate::sql) fn counts(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(
        values.map(|value| i64::try_from(value).unwrap_or(i64::MAX)),
    ))
}

pub(in crate::sql) fn numbers(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

pub(in crate::sql) fn texts<T: AsRef<str>>(values: impl Iterator<Item = T>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// Texts, null where there is none.
pub(in crate::sql) fn texts_or_null<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

/// Microseconds since 1970, null where there are none.
pub(in crate::sql) fn times(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<TimestampMicrosecondArray>())
}
