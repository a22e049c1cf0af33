//! The rows of the table `contamination`: evidence that documents have items of suites.

use super::producer::Sink;
use crate::query::contamination::{ItemEvidence, each_evidence};
use crate::query::error::QueryError;
use arrow::array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt32Array, UInt64Array};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use std::ops::ControlFlow;
use std::sync::Arc;
use store::View;
use text::contamination::ContaminationRule;

/// Name and type of every column.
pub(in crate::query) const COLUMNS: [(&str, DataType); 14] = [
    ("document", DataType::UInt64),
    ("suite", DataType::Utf8),
    ("item", DataType::Utf8),
    ("part", DataType::Utf8),
    ("score", DataType::Float64),
    ("tokens", DataType::UInt32),
    ("longest_run", DataType::UInt32),
    ("matched", DataType::UInt32),
    ("grams", DataType::UInt32),
    ("weak", DataType::Boolean),
    ("contaminated", DataType::Boolean),
    ("spans", DataType::Utf8),
    ("verdict", DataType::Utf8),
    ("turn", DataType::UInt32),
];

/// Columns that are null where nobody has decided.
pub(in crate::query) const NULLABLE: [&str; 1] = ["verdict"];

/// Pushes all evidence, in batches of at most `rows`.
pub(in crate::query) fn push(
    view: &View,
    schema: &SchemaRef,
    rows: usize,
    sink: &mut Sink<'_>,
) -> Result<(), QueryError> {
    let mut waiting: Vec<ItemEvidence> = Vec::new();
    let mut is_wanted = true;
    each_evidence(view, &ContaminationRule::default(), &mut |evidence| {
        waiting.push(evidence);
        if waiting.len() < rows {
            return Ok(ControlFlow::Continue(()));
        }
        let more = sink(batch(schema, &waiting)?);
        waiting.clear();
        is_wanted = more.is_continue();
        Ok(more)
    })?;
    if is_wanted && !waiting.is_empty() {
        // The sink's answer does not matter: this is the last batch.
        let _ = sink(batch(schema, &waiting)?);
    }
    Ok(())
}

fn batch(schema: &SchemaRef, rows: &[ItemEvidence]) -> Result<RecordBatch, QueryError> {
    let texts = |value: fn(&ItemEvidence) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(value)))
    };
    let numbers = |value: fn(&ItemEvidence) -> u32| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(value)))
    };
    let truths = |value: fn(&ItemEvidence) -> bool| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(value(row))).collect::<BooleanArray>())
    };
    let documents = rows.iter().map(|row| row.document.unwrap_or_default());
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(documents)),
        texts(|row| &row.suite),
        texts(|row| &row.item),
        texts(|row| row.part),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.score))),
        numbers(|row| row.tokens),
        numbers(|row| row.longest_run),
        numbers(|row| row.matched),
        numbers(|row| row.grams),
        truths(|row| row.weak),
        truths(|row| row.contaminated),
        Arc::new(StringArray::from_iter_values(rows.iter().map(spans))),
        Arc::new(rows.iter().map(|row| row.verdict).collect::<StringArray>()),
        numbers(|row| row.turn),
    ];
    RecordBatch::try_new(Arc::clone(schema), arrays).map_err(QueryError::arrow)
}

/// The byte ranges of a text that have the item, as a JSON list of pairs.
fn spans(row: &ItemEvidence) -> String {
    let spans = row.spans.iter().map(|(start, end)| format!("[{start},{end}]"));
    format!("[{}]", spans.collect::<Vec<_>>().join(","))
}
