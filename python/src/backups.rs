//! Backups of corpora: taken, listed, verified, restored and dropped.

use crate::blocking::run_to_end;
use crate::process::stores;
use crate::words::json;
use corpusdb::Backups;
use pyo3::prelude::*;
use std::path::PathBuf;

/// The backups in a directory or below an address.
fn at(place: PathBuf) -> Backups {
    Backups::at(place).with_stores(stores())
}

/// Takes a backup of the last commit; its report as JSON text.
#[pyfunction]
#[pyo3(signature = (directory, corpus, listener=None))]
pub(crate) fn create_backup(
    py: Python<'_>,
    directory: PathBuf,
    corpus: PathBuf,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let report =
        run_to_end(py, listener.as_ref(), move |context| at(directory).create(corpus, context))?;
    json(py, &report)
}

/// The backups of a directory as JSON text.
#[pyfunction]
pub(crate) fn list_backups(py: Python<'_>, directory: PathBuf) -> PyResult<String> {
    let found = run_to_end(py, None, move |context| at(directory).list(context))?;
    json(py, &found)
}

/// Reads every byte of all backups; the report as JSON text.
#[pyfunction]
#[pyo3(signature = (directory, listener=None))]
pub(crate) fn verify_backups(
    py: Python<'_>,
    directory: PathBuf,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let report = run_to_end(py, listener.as_ref(), move |context| at(directory).verify(context))?;
    json(py, &report)
}

/// Makes a corpus of a backup, which is answered as JSON text.
#[pyfunction]
#[pyo3(signature = (directory, target, commit=None, listener=None))]
pub(crate) fn restore_backup(
    py: Python<'_>,
    directory: PathBuf,
    target: PathBuf,
    commit: Option<u64>,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let record = run_to_end(py, listener.as_ref(), move |context| {
        at(directory).restore(target, commit, context)
    })?;
    json(py, &record)
}

/// Drops a backup; the report as JSON text.
#[pyfunction]
#[pyo3(signature = (directory, commit, listener=None))]
pub(crate) fn drop_backup(
    py: Python<'_>,
    directory: PathBuf,
    commit: u64,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let report = run_to_end(py, listener.as_ref(), move |context| {
        at(directory).drop_backup(commit, context)
    })?;
    json(py, &report)
}

/// Clears the marks of killed processes in a store: how many.
#[pyfunction]
pub(crate) fn unlock_backups(py: Python<'_>, directory: PathBuf) -> PyResult<u64> {
    run_to_end(py, None, move |context| at(directory).unlock(context))
}
