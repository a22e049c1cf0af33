//! Signals: listed, stored, given up, judged, and the published thresholds as conditions.

use crate::blocking::run_detached;
use crate::command::write_page;
use crate::corpus::Handle;
use crate::error::named;
use crate::words::json;
use corpusdb::curate::NewSignals;
use corpusdb::pages::{SignalsPage, corpus_title};
use corpusdb::query::QualityOptions;
use corpusdb::signals::{Signal, SignalSet};
use pyo3::prelude::*;
use std::path::PathBuf;

fn set_named(py: Python<'_>, name: &str) -> PyResult<SignalSet> {
    SignalSet::from_name(name).ok_or_else(|| {
        let known = SignalSet::ALL.map(SignalSet::name).join(", ");
        named(py, "BadName", &format!("unknown set of signals `{name}`; there are {known}"))
    })
}

/// The signals of those names and of a set, each once.
fn chosen(py: Python<'_>, names: &[String], set: Option<&str>) -> PyResult<Vec<Signal>> {
    let mut all = match set {
        Some(set) => set_named(py, set)?.signals(),
        None => Vec::new(),
    };
    for name in names {
        let Some(signal) = Signal::from_name(name) else {
            let known: Vec<&str> = Signal::ALL.iter().map(|signal| signal.name).collect();
            let why = format!("unknown signal `{name}`; there are {}", known.join(", "));
            return Err(named(py, "BadName", &why));
        };
        if !all.contains(&signal) {
            all.push(signal);
        }
    }
    Ok(all)
}

/// The signals that can be stored, and what of each the corpus has, as JSON text.
#[pyfunction]
pub(crate) fn signals(py: Python<'_>, handle: &Handle) -> PyResult<String> {
    let corpus = handle.corpus(py)?;
    let found = crate::blocking::run_briefly(py, move || corpus.signals())?;
    json(py, &found)
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

/// The options of the command's `signals add`, each by its name there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AddSettings {
    signals: Vec<String>,
    set: Option<String>,
    batch_rows: u64,
    dry_run: bool,
}

/// Stores signals as fields; the report as JSON text.
#[pyfunction]
#[pyo3(signature = (handle, settings, listener=None))]
pub(crate) fn add_signals(
    py: Python<'_>,
    handle: &Handle,
    settings: AddSettings,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let AddSettings { signals, set, batch_rows, dry_run } = settings;
    let signals = chosen(py, &signals, set.as_deref())?;
    let new = NewSignals { signals, batch: batch_rows };
    handle
        .report(py, listener.as_ref(), dry_run, |writer, context| writer.add_signals(&new, context))
}

/// Gives stored signals up; the numbers of the stored plans whose recipes name one.
#[pyfunction]
#[pyo3(signature = (handle, names, force, listener=None))]
pub(crate) fn drop_signals(
    py: Python<'_>,
    handle: &Handle,
    names: Vec<String>,
    force: bool,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<u32>> {
    let signals = chosen(py, &names, None)?;
    let plans = handle.write(py, listener.as_ref(), |writer, context| {
        writer.drop_signals(&signals, force, context)
    })?;
    Ok(plans.into_iter().map(|plan| plan.number).collect())
}
