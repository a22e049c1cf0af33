//! Loads: documents with the decisions that a cluster made about them, and what such a load must say of itself.

use crate::corpus::Handle;
use crate::policy::PolicySettings;
use crate::process::stores;
use corpusdb::IngestOptions;
use corpusdb::ingest::LoadOptions;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Brings in the documents of a directory with their decisions; the report as JSON text. `options` are: compare all,
/// bytes of a batch, change nothing, which shard.
#[pyfunction]
#[pyo3(signature = (handle, directory, options, listener=None))]
pub(crate) fn bulk_load(
    py: Python<'_>,
    handle: &Handle,
    directory: String,
    options: (bool, Option<u64>, bool, Option<u32>),
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let (check_all, batch_bytes, dry_run, shard) = options;
    let opened = handle.options(py)?;
    let options = LoadOptions {
        batch_bytes: batch_bytes
            .unwrap_or_else(|| IngestOptions::batch_bytes_within(opened.memory_bytes())),
        check_all,
        shard,
        stores: stores(),
    };
    handle.report(py, listener.as_ref(), dry_run, |writer, context| {
        writer.bulk_load(&directory, &options, context)
    })
}

/// A whole policy as JSON, as a load says it.
#[pyfunction]
pub(crate) fn policy_json(py: Python<'_>, settings: PolicySettings) -> PyResult<String> {
    let policy = settings.policy(py)?;
    serde_json::to_string(&policy).map_err(|error| PyValueError::new_err(error.to_string()))
}
