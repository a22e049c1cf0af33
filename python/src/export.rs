//! Documents as files, and how many they would be.

use crate::blocking::{or_leave, to_the_end};
use crate::corpus::Handle;
use crate::error::named;
use crate::process::stores;
use crate::words::{json, one_of};
use corpusdb::export::{ExportCompression, ExportFormat, ExportJob, ExportOptions};
use pyo3::prelude::*;
use std::path::PathBuf;

const BAD: &str = "BadInput";

/// The options of the command's `export`, each by its name there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ExportSettings {
    condition: Option<String>,
    all: bool,
    snapshot: Option<String>,
    duplicates: bool,
    format: Option<String>,
    columns: Option<Vec<String>>,
    compression: Option<String>,
    shard_bytes: Option<u64>,
    partition_by: Vec<String>,
    separator: Option<String>,
}

impl ExportSettings {
    fn options(self, py: Python<'_>) -> PyResult<ExportOptions> {
        let formats = ExportFormat::ALL.map(|format| (format.name(), format));
        let compressions = ExportCompression::ALL.map(|it| (it.name(), it));
        let format = self.format.map(|name| one_of(py, BAD, "format", &name, &formats));
        let compression =
            self.compression.map(|name| one_of(py, BAD, "compression", &name, &compressions));
        Ok(ExportOptions {
            condition: self.condition,
            all: self.all,
            snapshot: self.snapshot,
            duplicates: self.duplicates,
            format: format.transpose()?,
            columns: self.columns,
            compression: compression.transpose()?,
            shard_bytes: self.shard_bytes,
            partition_by: self.partition_by,
            separator: self.separator,
        })
    }
}

/// Writes documents to the file or directory `to`; the manifest as JSON.
#[pyfunction]
#[pyo3(signature = (handle, to, settings, *, force, threads=None, listener=None))]
pub(crate) fn export(
    py: Python<'_>,
    handle: &Handle,
    to: PathBuf,
    settings: ExportSettings,
    force: bool,
    threads: Option<usize>,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let options = settings.options(py)?;
    if to.as_os_str() == "-" {
        return Err(named(py, BAD, "to: standard output is for the command; give a path"));
    }
    let corpus = handle.corpus(py)?;
    let (threads, stores) = (threads.unwrap_or(0), stores());
    let manifest = to_the_end(py, listener, |context| {
        let job = ExportJob { to: &to, stores: Some(&stores), force };
        corpus.export(&options, &job, &context.with_threads(threads))
    })?;
    json(py, &manifest)
}

/// How many documents an export would write, and bytes of their texts.
#[pyfunction]
pub(crate) fn export_estimate(
    py: Python<'_>,
    handle: &Handle,
    settings: ExportSettings,
) -> PyResult<(u64, u64)> {
    let options = settings.options(py)?;
    let corpus = handle.corpus(py)?;
    let estimate = or_leave(py, None, move |_| corpus.export_estimate(&options))?;
    Ok((estimate.documents, estimate.text_bytes))
}
