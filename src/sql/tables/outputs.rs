//! The rows of the table `outputs`: what left the corpus, whether or not a writer has taken the entry in yet.

use super::arrays::{batch, numbers, texts, texts_or_null, times};
use crate::sql::documents::producer::{BatchSink, SystemTableRequest};
use crate::sql::error::SqlError;
use arrow::array::{ArrayRef, Int64Array, UInt32Array, UInt64Array};
use std::sync::Arc;
use store::{OutputBatches, OutputRecord, View};

/// A row: what is on record without the documents, which may be many, and how many these are. An entry that cannot be
/// read is a row that says why.
struct OutputRow {
    number: u32,
    kind: &'static str,
    commit: Option<u64>,
    documents: Option<u64>,
    record: OutputRecord,
}

/// Pushes all outputs, in batches of at most `rows`.
pub(crate) fn push(
    view: &View,
    wanted: &SystemTableRequest<'_>,
    sink: &mut BatchSink<'_>,
) -> Result<(), SqlError> {
    let mut all = Vec::new();
    view.each_output::<SqlError>(&mut |number, record| {
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
    for some in all.chunks(wanted.rows.max(1)) {
        if sink(batch(wanted.schema, columns(some))?).is_break() {
            break;
        }
    }
    Ok(())
}

fn columns(rows: &[OutputRow]) -> Vec<ArrayRef> {
    let records = || rows.iter().map(|row| &row.record);
    let of_batches = |of: fn(&OutputBatches) -> Option<u64>| -> ArrayRef {
        let values = records().map(|record| record.batches.as_ref().and_then(of));
        Arc::new(values.collect::<UInt64Array>())
    };
    let plans = records().map(|record| record.batches.as_ref().and_then(|batches| batches.plan));
    let hashes = records().map(|record| record.batches.as_ref().map(|of| of.hash.as_str()));
    let counts = rows.iter().map(|row| row.documents.and_then(|count| i64::try_from(count).ok()));
    vec![
        numbers(rows.iter().map(|row| row.number)),
        texts(rows.iter().map(|row| row.kind)),
        texts(records().map(|record| &record.destination)),
        Arc::new(rows.iter().map(|row| row.commit).collect::<UInt64Array>()),
        Arc::new(plans.collect::<UInt32Array>()),
        texts_or_null(hashes),
        of_batches(|batches| Some(batches.epoch)),
        of_batches(|batches| Some(batches.first)),
        of_batches(|batches| Some(batches.end)),
        of_batches(|batches| batches.rank.map(|(rank, _)| rank)),
        of_batches(|batches| batches.rank.map(|(_, world)| world)),
        Arc::new(counts.collect::<Int64Array>()),
        texts_or_null(records().map(|record| record.condition.as_deref())),
        texts_or_null(records().map(|record| record.manifest.as_deref())),
        times(records().map(|record| record.time)),
    ]
}
