//! The rows of the table `rejects`.
//!
//! Raw bytes may be long, so few records are read at a time.

use super::limits::Limits;
use super::producer::Sink;
use crate::query::error::QueryError;
use arrow::array::{ArrayRef, Int64Array, StringArray, UInt64Array};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use std::sync::Arc;
use store::{RejectRecord, View};

/// Name and type of every column.
pub(in crate::query) const COLUMNS: [(&str, DataType); 7] = [
    ("source", DataType::Utf8),
    ("path", DataType::Utf8),
    ("number", DataType::UInt64),
    ("offset", DataType::UInt64),
    ("reason", DataType::Utf8),
    ("bytes", DataType::Int64),
    ("raw", DataType::Utf8),
];

/// Pushes all records, in batches of at most `rows`; `raw` is left empty when it is not wanted.
pub(in crate::query) fn push(
    view: &View,
    schema: &SchemaRef,
    rows: usize,
    with_raw: bool,
    sink: &mut Sink<'_>,
) -> Result<(), QueryError> {
    let most = Limits::of(view).texts;
    let mut waiting: Vec<RejectRecord> = Vec::new();
    let mut bytes = 0;
    for record in view.all_rejects()? {
        let mut record = record?;
        if !with_raw {
            record.raw = Vec::new();
        }
        bytes += record.raw.len() + record.path.len() + record.reason.len();
        waiting.push(record);
        if waiting.len() == rows || bytes >= most {
            if sink(batch(schema, &waiting)?).is_break() {
                return Ok(());
            }
            waiting.clear();
            bytes = 0;
        }
    }
    // The sink's answer does not matter: this is the last batch.
    let _ = sink(batch(schema, &waiting)?);
    Ok(())
}

fn batch(schema: &SchemaRef, rows: &[RejectRecord]) -> Result<RecordBatch, QueryError> {
    let numbers = |of: fn(&RejectRecord) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(of)))
    };
    let texts = |of: fn(&RejectRecord) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    let length = |record: &RejectRecord| i64::try_from(record.bytes).unwrap_or(i64::MAX);
    let raw = rows.iter().map(|record| String::from_utf8_lossy(&record.raw));
    let arrays = vec![
        texts(|record| &record.source),
        texts(|record| &record.path),
        numbers(|record| record.number),
        numbers(|record| record.offset),
        texts(|record| &record.reason),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(length))),
        Arc::new(StringArray::from_iter_values(raw)),
    ];
    RecordBatch::try_new(Arc::clone(schema), arrays).map_err(QueryError::arrow)
}
