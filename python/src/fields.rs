//! Sets values of declared fields from outside.

use crate::call::raise_any;
use crate::corpus::Handle;
use crate::ingest::{PyInput, with_input};
use crate::words::tried;
use corpusdb::cli::rows::{FieldSetSettings, options_of};
use corpusdb::ingest::Inputs;
use corpusdb::{Context, CorpusWriter};
use pyo3::prelude::*;

/// Sets declared fields of stored documents from files, an Arrow stream, or an iterator of mappings. `name` stands for
/// the path of data that is not in a file; `keywords` are the verb's options. Returns the report as JSON text.
#[pyfunction]
#[pyo3(signature = (handle, given, name, keywords, dry_run, listener=None))]
pub(crate) fn set_field(
    py: Python<'_>,
    handle: &Handle,
    given: &Bound<'_, PyAny>,
    name: String,
    keywords: &str,
    dry_run: bool,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let input = PyInput::of(given, name)?;
    let settings =
        options_of::<FieldSetSettings>(keywords).map_err(|error| raise_any(py, error))?;
    let options = settings.options(None).map_err(|error| raise_any(py, error.into()))?;
    let work = |writer: &mut CorpusWriter, inputs: Inputs<'_>, context: &Context<'_>| {
        writer.set_field(inputs, &options, context)
    };
    let report = with_input(py, handle, input, dry_run, listener.as_ref(), work)?;
    tried(py, &report, dry_run)
}
