//! The rows of the table `contamination`: evidence that documents have items of suites.

use super::arrays::{batch, ids, numbers, texts, texts_or_null};
use crate::sql::documents::producer::{BatchSink, SystemTableRequest};
use crate::sql::error::SqlError;
use crate::sql::evidence::{ItemEvidence, each_evidence};
use arrow::array::{ArrayRef, BooleanArray, Float64Array};
use std::ops::ControlFlow;
use std::sync::Arc;
use store::View;
use text::contamination::ContaminationRule;

/// Pushes all evidence, in batches of at most `rows`.
pub(crate) fn push(
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
        let more = sink(batch(wanted.schema, columns(&waiting))?);
        waiting.clear();
        is_wanted = more.is_continue();
        Ok(more)
    })?;
    if is_wanted && !waiting.is_empty() {
        // Whether more is wanted does not matter: there is no more.
        let _ = sink(batch(wanted.schema, columns(&waiting))?);
    }
    Ok(())
}

fn columns(rows: &[ItemEvidence]) -> Vec<ArrayRef> {
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
