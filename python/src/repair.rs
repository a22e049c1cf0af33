//! Damaged corpora: derived rows made again in place, and what is whole copied into a new corpus.

use crate::blocking::run_to_end;
use crate::words::json;
use corpusdb::Corpus;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Makes again what is damaged and follows from other rows; the report as JSON text.
#[pyfunction]
#[pyo3(signature = (path, listener=None))]
pub(crate) fn repair(
    py: Python<'_>,
    path: PathBuf,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let report =
        run_to_end(py, listener.as_ref(), move |context| Corpus::options().repair(path, context))?;
    json(py, &report)
}

/// Copies what is whole of a damaged corpus into a new one; the report as JSON text.
#[pyfunction]
#[pyo3(signature = (path, target, listener=None))]
pub(crate) fn salvage(
    py: Python<'_>,
    path: PathBuf,
    target: PathBuf,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let report = run_to_end(py, listener.as_ref(), move |context| {
        Corpus::options().salvage(path, target, context)
    })?;
    json(py, &report)
}
