//! Declared fields: listed, added, set from outside, computed, dropped.

use crate::corpus::Handle;
use crate::error::named;
use crate::ingest::{Given, Read, poured};
use crate::process::stores;
use crate::words::json;
use corpusdb::FieldKind;
use corpusdb::curate::{ComputedField, NewField};
use corpusdb::ingest::{JoinBy, JoinColumn, JoinOptions, ReadOptions};
use pyo3::prelude::*;

const BAD: &str = "BadInput";

/// The kind of that name.
///
/// # Errors
/// `BadName`, with those that there are.
pub(crate) fn kind_named(py: Python<'_>, field: &str, kind: &str) -> PyResult<FieldKind> {
    kind.parse().map_err(|_: String| {
        let known = FieldKind::ALL.map(FieldKind::name).join(", ");
        let why = format!("field `{field}`: unknown kind `{kind}`; there are {known}");
        named(py, "BadName", &why)
    })
}

/// The fields, as JSON text.
#[pyfunction]
pub(crate) fn fields(py: Python<'_>, handle: &Handle) -> PyResult<String> {
    let corpus = handle.corpus(py)?;
    let found = crate::blocking::soon(py, move || corpus.fields())?;
    json(py, &found)
}

/// The options of the command's `field add`, each by its name there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AddSettings {
    name: String,
    kind: String,
    path: Option<String>,
    batch_rows: u64,
    dry_run: bool,
}

/// Declares a field and indexes what metadata have for it; the report as JSON text.
#[pyfunction]
#[pyo3(signature = (handle, settings, listener=None))]
pub(crate) fn add_field(
    py: Python<'_>,
    handle: &Handle,
    settings: AddSettings,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let AddSettings { name, kind, path, batch_rows, dry_run } = settings;
    let kind = kind_named(py, &name, &kind)?;
    let field = NewField { name, kind, path, batch: batch_rows };
    handle
        .report(py, listener.as_ref(), dry_run, |writer, context| writer.add_field(&field, context))
}

/// The options of the command's `field compute`, each by its name there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ComputeSettings {
    name: String,
    expression: String,
    kind: Option<String>,
    batch_rows: u64,
    dry_run: bool,
}

/// Stores the values of a SQL expression as a field; the report as JSON text.
#[pyfunction]
#[pyo3(signature = (handle, settings, listener=None))]
pub(crate) fn compute_field(
    py: Python<'_>,
    handle: &Handle,
    settings: ComputeSettings,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let ComputeSettings { name, expression, kind, batch_rows, dry_run } = settings;
    let kind = kind.map(|kind| kind_named(py, &name, &kind)).transpose()?;
    let field = ComputedField { name, expression, kind, batch: batch_rows };
    handle.report(py, listener.as_ref(), dry_run, |writer, context| {
        writer.compute_field(&field, context)
    })
}

/// Gives a field up; the numbers of the stored plans whose recipes name it.
#[pyfunction]
#[pyo3(signature = (handle, name, force, listener=None))]
pub(crate) fn drop_field(
    py: Python<'_>,
    handle: &Handle,
    name: String,
    force: bool,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<u32>> {
    let plans = handle
        .write(py, listener.as_ref(), |writer, context| writer.drop_field(&name, force, context))?;
    Ok(plans.into_iter().map(|plan| plan.number).collect())
}

/// The options of the command's `field set`, each by its name there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct JoinSettings {
    /// Declared fields, each with the field of the records that has its values.
    columns: Vec<(String, String)>,
    id: Option<String>,
    key: Option<String>,
    source: Option<String>,
    max_value_bytes: u64,
    batch_rows: usize,
    strict: bool,
    dry_run: bool,
}

impl JoinSettings {
    fn options(&self, py: Python<'_>) -> PyResult<JoinOptions> {
        let by = match (&self.id, &self.key) {
            (Some(field), None) => JoinBy::Id(field.clone()),
            (None, Some(field)) => JoinBy::Key(field.clone()),
            _ => {
                let why = "give id= or key=: the field of the records that has the document's id, or its key";
                return Err(named(py, BAD, why));
            }
        };
        let read = ReadOptions {
            max_doc_bytes: self.max_value_bytes,
            stores: stores(),
            ..ReadOptions::default()
        };
        let column = |(field, column): &(String, String)| JoinColumn {
            field: field.clone(),
            column: column.clone(),
        };
        let (columns, source) = (self.columns.iter().map(column).collect(), self.source.clone());
        Ok(JoinOptions { columns, by, source, read, batch: self.batch_rows, strict: self.strict })
    }
}

/// Sets declared fields of stored documents from files, an Arrow stream, or an iterator of mappings, which have `name`
/// in errors; the report as JSON text.
#[pyfunction]
#[pyo3(signature = (handle, given, name, settings, listener=None))]
pub(crate) fn set_field(
    py: Python<'_>,
    handle: &Handle,
    given: &Bound<'_, PyAny>,
    name: String,
    settings: JoinSettings,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let given = Given::of(given, name)?;
    let (options, dry_run) = (settings.options(py)?, settings.dry_run);
    poured(py, handle, given, dry_run, listener.as_ref(), |writer, read, context| match read {
        Read::Paths(paths) => writer.set_field(&paths, &options, context),
        Read::Records(records) => writer.set_field(records, &options, context),
    })
}
