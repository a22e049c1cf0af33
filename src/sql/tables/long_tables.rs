//! The tables that may be long: rejects, removals, outputs, contamination; their rows come in batches.
//!
//! Raw bytes may be long, so few records are read at a time.

use super::arrays::{batch, counts, ids, numbers, texts, texts_or_null, times};
use crate::sql::documents::scan::{BatchSink, SystemTableRequest};
use crate::sql::engine::memory::QueryLimits;
use crate::sql::error::SqlError;
use crate::sql::evidence::{ItemEvidence, each_evidence};
use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, UInt32Array, UInt64Array};
use model::CommitSeq;
use std::iter::repeat_n;
use std::ops::ControlFlow;
use std::sync::Arc;
use store::{CommitRecord, OutputBatches, OutputRecord, RejectRecord, View};
use text::contamination::ContaminationRule;

/// Pushes all records, in batches of at most `rows`; `raw` is left empty when it is not wanted.
pub(crate) fn rejects(
    view: &View,
    wanted: &SystemTableRequest<'_>,
    sink: &mut BatchSink<'_>,
) -> Result<(), SqlError> {
    let raw = wanted.schema.index_of("raw").ok();
    let with_raw = wanted.columns.iter().any(|at| Some(*at) == raw);
    let most = QueryLimits::of(view).texts;
    let mut waiting: Vec<RejectRecord> = Vec::new();
    let mut bytes = 0;
    for record in view.all_rejects()? {
        let mut record = record?;
        if !with_raw {
            record.raw = Vec::new();
        }
        bytes += record.raw.len() + record.path.len() + record.reason.len();
        waiting.push(record);
        if waiting.len() == wanted.rows || bytes >= most {
            if sink(batch(wanted.schema, reject_columns(&waiting))?).is_break() {
                return Ok(());
            }
            waiting.clear();
            bytes = 0;
        }
    }
    // Whether more is wanted does not matter: there is no more.
    let _ = sink(batch(wanted.schema, reject_columns(&waiting))?);
    Ok(())
}

fn reject_columns(rows: &[RejectRecord]) -> Vec<ArrayRef> {
    vec![
        texts(rows.iter().map(|record| &record.source)),
        texts(rows.iter().map(|record| &record.path)),
        ids(rows.iter().map(|record| record.number)),
        ids(rows.iter().map(|record| record.offset)),
        texts(rows.iter().map(|record| &record.reason)),
        counts(rows.iter().map(|record| record.bytes)),
        texts(rows.iter().map(|record| String::from_utf8_lossy(&record.raw))),
    ]
}

/// Pushes all removals, in batches of at most `rows`, of one commit each.
pub(crate) fn removals(
    view: &View,
    wanted: &SystemTableRequest<'_>,
    sink: &mut BatchSink<'_>,
) -> Result<(), SqlError> {
    for removal in view.removals()? {
        let (commit, documents) = removal?;
        let record = view.commit_record(commit)?.unwrap_or_default();
        let mut ids = documents.iter();
        loop {
            let some: Vec<u64> = ids.by_ref().take(wanted.rows).collect();
            if some.is_empty() {
                break;
            }
            if sink(batch(wanted.schema, removal_columns(some, commit, &record))?).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn removal_columns(documents: Vec<u64>, commit: CommitSeq, record: &CommitRecord) -> Vec<ArrayRef> {
    let rows = documents.len();
    vec![
        ids(documents.into_iter()),
        ids(repeat_n(commit.0, rows)),
        texts(repeat_n(&record.kind, rows)),
        texts_or_null(repeat_n(record.reason.as_deref(), rows)),
        texts_or_null(repeat_n(record.condition.as_deref(), rows)),
        times(repeat_n(record.time, rows)),
    ]
}

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
pub(crate) fn outputs(
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
        if sink(batch(wanted.schema, output_columns(some))?).is_break() {
            break;
        }
    }
    Ok(())
}

fn output_columns(rows: &[OutputRow]) -> Vec<ArrayRef> {
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

/// Pushes all evidence, in batches of at most `rows`.
pub(crate) fn contamination(
    view: &View,
    wanted: &SystemTableRequest<'_>,
    sink: &mut BatchSink<'_>,
) -> Result<(), SqlError> {
    let mut waiting: Vec<ItemEvidence> = Vec::new();
    let mut is_wanted = true;
    each_evidence(view, &ContaminationRule::default(), &mut |evidence| {
        waiting.push(evidence);
        if waiting.len() < wanted.rows {
            return Ok(ControlFlow::Continue(()));
        }
        let more = sink(batch(wanted.schema, evidence_columns(&waiting))?);
        waiting.clear();
        is_wanted = more.is_continue();
        Ok(more)
    })?;
    if is_wanted && !waiting.is_empty() {
        // Whether more is wanted does not matter: there is no more.
        let _ = sink(batch(wanted.schema, evidence_columns(&waiting))?);
    }
    Ok(())
}

fn evidence_columns(rows: &[ItemEvidence]) -> Vec<ArrayRef> {
    let truths = |value: fn(&ItemEvidence) -> bool| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(value(row))).collect::<BooleanArray>())
    };
    vec![
        ids(rows.iter().map(|row| row.document.unwrap_or_default())),
        texts(rows.iter().map(|row| &row.suite)),
        texts(rows.iter().map(|row| &row.item)),
        texts(rows.iter().map(|row| row.part)),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.score))),
        numbers(rows.iter().map(|row| row.tokens)),
        numbers(rows.iter().map(|row| row.longest_run)),
        numbers(rows.iter().map(|row| row.matched)),
        numbers(rows.iter().map(|row| row.grams)),
        truths(|row| row.weak),
        truths(|row| row.contaminated),
        texts(rows.iter().map(spans)),
        texts_or_null(rows.iter().map(|row| row.verdict)),
        numbers(rows.iter().map(|row| row.turn)),
    ]
}

/// The byte ranges of a text that have the item, as a JSON list of pairs.
fn spans(row: &ItemEvidence) -> String {
    let spans = row.spans.iter().map(|(start, end)| format!("[{start},{end}]"));
    format!("[{}]", spans.collect::<Vec<_>>().join(","))
}
