//! The rows of the table `removals`: which documents were removed, restored and purged, one commit after the other.

use super::producer::Sink;
use crate::query::error::QueryError;
use arrow::array::{ArrayRef, StringArray, TimestampMicrosecondArray, UInt64Array};
use arrow::datatypes::{DataType, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use model::CommitSeq;
use std::iter::repeat_n;
use std::sync::Arc;
use store::{CommitRecord, View};

/// Name and type of every column.
pub(in crate::query) const COLUMNS: [(&str, DataType); 6] = [
    ("id", DataType::UInt64),
    ("commit", DataType::UInt64),
    ("kind", DataType::Utf8),
    ("reason", DataType::Utf8),
    ("condition", DataType::Utf8),
    ("time", DataType::Timestamp(TimeUnit::Microsecond, None)),
];

/// Pushes all removals, in batches of at most `rows`, of one commit each.
pub(in crate::query) fn push(
    view: &View,
    schema: &SchemaRef,
    rows: usize,
    sink: &mut Sink<'_>,
) -> Result<(), QueryError> {
    for removal in view.removals()? {
        let (commit, documents) = removal?;
        let record = view.commit_record(commit)?.unwrap_or_default();
        let mut ids = documents.iter();
        loop {
            let some: Vec<u64> = ids.by_ref().take(rows).collect();
            if some.is_empty() {
                break;
            }
            if sink(batch(schema, some, commit, &record)?).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn batch(
    schema: &SchemaRef,
    ids: Vec<u64>,
    commit: CommitSeq,
    record: &CommitRecord,
) -> Result<RecordBatch, QueryError> {
    let rows = ids.len();
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from(ids)),
        Arc::new(UInt64Array::from_iter_values(repeat_n(commit.0, rows))),
        Arc::new(StringArray::from_iter_values(repeat_n(&record.kind, rows))),
        texts_or_null(repeat_n(record.reason.as_deref(), rows)),
        texts_or_null(repeat_n(record.condition.as_deref(), rows)),
        times(repeat_n(record.time, rows)),
    ];
    RecordBatch::try_new(Arc::clone(schema), arrays).map_err(QueryError::arrow)
}

/// Texts, null where there is none.
pub(super) fn texts_or_null<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

/// Microseconds since 1970, null where there are none.
pub(super) fn times(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<TimestampMicrosecondArray>())
}
