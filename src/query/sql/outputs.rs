//! The rows of the table `outputs`: what left the corpus, whether or not a writer has taken the entry in yet.

use super::producer::Sink;
use super::removals::{texts_or_null, times};
use crate::query::error::QueryError;
use arrow::array::{ArrayRef, Int64Array, StringArray, UInt32Array, UInt64Array};
use arrow::datatypes::{DataType, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use std::sync::Arc;
use store::{OutputBatches, OutputRecord, View};

/// Name and type of every column.
pub(in crate::query) const COLUMNS: [(&str, DataType); 15] = [
    ("number", DataType::UInt32),
    ("kind", DataType::Utf8),
    ("destination", DataType::Utf8),
    ("commit", DataType::UInt64),
    ("plan", DataType::UInt32),
    ("plan_hash", DataType::Utf8),
    ("epoch", DataType::UInt64),
    ("first_batch", DataType::UInt64),
    ("end_batch", DataType::UInt64),
    ("rank", DataType::UInt64),
    ("world", DataType::UInt64),
    ("documents", DataType::Int64),
    ("condition", DataType::Utf8),
    ("manifest", DataType::Utf8),
    ("time", DataType::Timestamp(TimeUnit::Microsecond, None)),
];

/// Every column but those that name an output.
pub(in crate::query) const NULLABLE: [&str; 12] = [
    "commit",
    "plan",
    "plan_hash",
    "epoch",
    "first_batch",
    "end_batch",
    "rank",
    "world",
    "documents",
    "condition",
    "manifest",
    "time",
];

/// A row: the record of an output with the number of its documents in place of the documents, which may be many. An
/// entry that cannot be read is a row that says why.
struct OutputRow {
    number: u32,
    kind: &'static str,
    commit: Option<u64>,
    documents: Option<u64>,
    record: OutputRecord,
}

/// Pushes all outputs, in batches of at most `rows`.
pub(in crate::query) fn push(
    view: &View,
    schema: &SchemaRef,
    rows: usize,
    sink: &mut Sink<'_>,
) -> Result<(), QueryError> {
    let mut all = Vec::new();
    view.each_output::<QueryError>(&mut |number, record| {
        all.push(match record {
            Ok(record) => OutputRow {
                number,
                kind: record.kind.name(),
                commit: Some(record.commit),
                documents: record.documents.as_ref().map(|documents| documents.len()),
                record: OutputRecord { documents: None, ..record },
            },
            Err(error) => OutputRow {
                number,
                kind: "damaged",
                commit: None,
                documents: None,
                record: OutputRecord { destination: error.to_string(), ..OutputRecord::default() },
            },
        });
        Ok(())
    })?;
    for some in all.chunks(rows.max(1)) {
        if sink(batch(schema, some)?).is_break() {
            break;
        }
    }
    Ok(())
}

fn batch(schema: &SchemaRef, rows: &[OutputRow]) -> Result<RecordBatch, QueryError> {
    let records = || rows.iter().map(|row| &row.record);
    let numbers = |of: fn(&OutputBatches) -> Option<u64>| -> ArrayRef {
        let values = records().map(|record| record.batches.as_ref().and_then(of));
        Arc::new(values.collect::<UInt64Array>())
    };
    let plans = records().map(|record| record.batches.as_ref().and_then(|batches| batches.plan));
    let hashes = records().map(|record| record.batches.as_ref().map(|of| of.hash.as_str()));
    let counts = rows.iter().map(|row| row.documents.and_then(|count| i64::try_from(count).ok()));
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.number))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.kind))),
        Arc::new(StringArray::from_iter_values(records().map(|record| &record.destination))),
        Arc::new(rows.iter().map(|row| row.commit).collect::<UInt64Array>()),
        Arc::new(plans.collect::<UInt32Array>()),
        texts_or_null(hashes),
        numbers(|batches| Some(batches.epoch)),
        numbers(|batches| Some(batches.first)),
        numbers(|batches| Some(batches.end)),
        numbers(|batches| batches.rank.map(|(rank, _)| rank)),
        numbers(|batches| batches.rank.map(|(_, world)| world)),
        Arc::new(counts.collect::<Int64Array>()),
        texts_or_null(records().map(|record| record.condition.as_deref())),
        texts_or_null(records().map(|record| record.manifest.as_deref())),
        times(records().map(|record| record.time)),
    ];
    RecordBatch::try_new(Arc::clone(schema), arrays).map_err(QueryError::arrow)
}
