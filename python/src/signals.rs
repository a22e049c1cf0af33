//! Signals: judged, and the published thresholds as conditions.

use crate::blocking::run_detached;
use crate::command::write_page;
use crate::corpus::Handle;
use crate::error::named;
use crate::words::json;
use corpusdb::pages::{SignalsPage, corpus_title};
use corpusdb::query::QualityOptions;
use corpusdb::signals::SignalSet;
use pyo3::prelude::*;
use std::path::PathBuf;

fn set_named(py: Python<'_>, name: &str) -> PyResult<SignalSet> {
    SignalSet::from_name(name).ok_or_else(|| {
        let known = SignalSet::ALL.map(SignalSet::name).join(", ");
        named(py, "BadName", &format!("unknown set of signals `{name}`; there are {known}"))
    })
}

/// What the published filter of a set asks, as one condition.
#[pyfunction]
pub(crate) fn signals_preset(py: Python<'_>, set: &str, on_text: bool) -> PyResult<String> {
    Ok(set_named(py, set)?.condition(on_text))
}

/// What the command's `signals report` is asked, each by its name there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ReportSettings {
    set: String,
    source: Option<String>,
    condition: Option<String>,
    examples: u8,
    html: Option<PathBuf>,
}

/// What published rules would remove, as JSON text; written as a page, too, to the file that is named.
#[pyfunction]
#[pyo3(signature = (handle, settings, listener=None))]
pub(crate) fn signals_report(
    py: Python<'_>,
    handle: &Handle,
    settings: ReportSettings,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let ReportSettings { set, source, condition, examples, html } = settings;
    let set = set_named(py, &set)?;
    let corpus = handle.corpus(py)?;
    let options = QualityOptions { set, source, condition, examples: usize::from(examples) };
    let path = corpus.path().to_path_buf();
    let report = run_detached(py, listener.as_ref(), move |context| {
        corpus.signals_report(&options, context)
    })?;
    write_page(py, html, || SignalsPage::new(&report, &corpus_title(&path)))?;
    json(py, &report)
}
