//! Computes the fingerprints of texts.

use super::columns::{KernelColumns, batch, fixed, ranks, required};
use super::{KernelResult, each};
use crate::error::named;
use crate::policy::PolicyKeywords;
use corpusdb::arrow::array::{
    Array, ArrayRef, Int64Array, LargeStringArray, RecordBatch, UInt32Array, UInt64Array,
};
use corpusdb::arrow::datatypes::{Float64Type, Int64Type};
use corpusdb::dedup::{ComparedPart, KeepOrder, Signature, Sketch};
use corpusdb::kernel::{TextPrint, TextPrinter, sortable_float};
use corpusdb::{DocId, Policy};
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};
use std::sync::Arc;

/// Bytes of the hash of a band.
const BAND: usize = 5;

/// The names of the input columns.
struct FingerprintColumns {
    text: String,
    key: Option<String>,
    source: Option<String>,
    order: Option<String>,
    number: Option<String>,
}

/// The fingerprint of each text, with the columns key, source and order of the input.
#[pyfunction]
#[pyo3(signature = (batches, settings, *, text, key=None, source=None, order=None, number=None))]
pub(crate) fn kernel_fingerprint(
    py: Python<'_>,
    batches: PyRecordBatchReader,
    settings: PolicyKeywords,
    text: String,
    key: Option<String>,
    source: Option<String>,
    order: Option<String>,
    number: Option<String>,
) -> PyResult<PyRecordBatch> {
    let policy = settings.policy(py)?;
    if policy.compared != ComparedPart::Text {
        let why = format!(
            "this policy compares {}, but the input is texts, not conversations: give compare=\"text\"",
            policy.compared.name()
        );
        return Err(named(py, "BadPolicy", &why));
    }
    if matches!(policy.keep, KeepOrder::Field(_)) && order.is_some() && number.is_none() {
        let why = "the keep order uses a field: name the column with its numbers (number=...)";
        return Err(named(py, "BadPolicy", why));
    }
    let names = FingerprintColumns { text, key, source, order, number };
    let mut printer = TextPrinter::new(&policy);
    each(py, batches, move |batch| prints(&mut printer, &policy, &names, &KernelColumns(batch)))
}

fn prints(
    printer: &mut TextPrinter,
    policy: &Policy,
    names: &FingerprintColumns,
    columns: &KernelColumns<'_>,
) -> KernelResult<RecordBatch> {
    let texts = columns.strings(&names.text)?;
    let sources = columns.strings_if(names.source.as_deref())?;
    let order =
        names.order.as_deref().map(|name| columns.numbers::<Int64Type>(name)).transpose()?;
    let numbers = names.number.as_deref().map(|name| numbers(columns, name)).transpose()?;
    let mut found: Vec<TextPrint> = Vec::with_capacity(texts.len());
    let mut places = Vec::with_capacity(texts.len());
    for row in 0..texts.len() {
        let text = required(texts.is_valid(row).then(|| texts.value(row)), &names.text, row)?;
        let source = source_at(sources.as_ref(), row);
        let print = printer.print(text, source);
        if let (Some(order), Some(name)) = (&order, &names.order) {
            let place = required(order.is_valid(row).then(|| order.value(row)), name, row)?;
            let place = u64::try_from(place).map_err(|_| {
                format!("column `{name}`, row {row}: {place} is negative; the order starts at 0")
            })?;
            let number = numbers.as_ref().and_then(|numbers| numbers.get(row).copied().flatten());
            places.push(Some(printer.rank(&print, source, number, DocId(place))));
        }
        found.push(print);
    }
    let mut made: Vec<(&str, ArrayRef)> = Vec::new();
    if let Some(key) = columns.strings_if(names.key.as_deref())? {
        made.push(("key", Arc::new(key)));
    }
    if let Some(source) = sources {
        made.push(("source", Arc::new(source)));
    }
    if let Some(order) = order {
        made.push(("order", Arc::new(order)));
        made.push(("rank", ranks(places)?));
    }
    made.extend(described(&found, policy)?);
    batch(made)
}

fn source_at(sources: Option<&LargeStringArray>, row: usize) -> &str {
    sources.filter(|sources| sources.is_valid(row)).map_or("", |sources| sources.value(row))
}

/// The columns of the fingerprints.
fn described(found: &[TextPrint], policy: &Policy) -> KernelResult<Vec<(&'static str, ArrayRef)>> {
    let slots = match policy.signature {
        Signature::Native => Sketch::LEN,
        Signature::Bigcode => {
            usize::try_from(policy.hashes).unwrap_or(usize::MAX).saturating_mul(4)
        }
    };
    let width = usize::try_from(policy.bands).unwrap_or(usize::MAX).saturating_mul(BAND);
    let bands = |print: &TextPrint| {
        let bands =
            print.bands.iter().flat_map(|band| band.to_be_bytes().into_iter().skip(8 - BAND));
        (!print.bands.is_empty()).then(|| bands.collect::<Vec<u8>>())
    };
    let count = |of: fn(&TextPrint) -> u32| -> ArrayRef {
        Arc::new(found.iter().map(of).collect::<UInt32Array>())
    };
    Ok(vec![
        ("raw_hash", fixed(16, found.iter().map(|print| Some(print.raw)))?),
        ("text_hash", fixed(16, found.iter().map(|print| Some(print.text)))?),
        ("tokens", count(|print| print.tokens)),
        ("shingles", count(|print| print.shingles)),
        ("chars", Arc::new(found.iter().map(|print| print.chars).collect::<UInt64Array>())),
        ("sketch", fixed(slots, found.iter().map(|p| p.sketch.as_ref().map(Sketch::as_bytes)))?),
        ("bands", fixed(width, found.iter().map(bands))?),
    ])
}

/// Counts as an integer column.
fn numbers(columns: &KernelColumns<'_>, name: &str) -> KernelResult<Vec<Option<i64>>> {
    if columns.kind(name)?.is_floating() {
        let found = columns.numbers::<Float64Type>(name)?;
        let usable = |number: Option<f64>| number.filter(|number| !number.is_nan());
        return Ok(found.iter().map(|number| usable(number).map(sortable_float)).collect());
    }
    let found: Int64Array = columns.numbers::<Int64Type>(name)?;
    Ok(found.iter().collect())
}
