//! Removes, purges and restores documents, drops rejects, checks the corpus, and computes its digest.

use crate::blocking::{run_briefly, run_detached};
use crate::call::raise_any;
use crate::corpus::Handle;
use crate::words::{json, one_of, tried};
use corpusdb::Dependents;
use corpusdb::cli::rows::{RejectSelectionArgs, RemovalArgs, options_of};
use corpusdb::curate::{PurgeReport, PurgeSelection, RejectSelection, RemovalRequest};
use corpusdb::inspect::Selection;
use corpusdb::roaring::RoaringTreemap;
use corpusdb::sql::DocumentFilter;
use corpusdb::store::CheckDepth;
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::json as object;
use std::path::PathBuf;

/// The stored description of a removal, from keywords of the command's options.
fn removal(py: Python<'_>, keywords: &str, condition: Option<&str>) -> PyResult<RemovalRequest> {
    let removal = options_of::<RemovalArgs>(keywords).map_err(|error| raise_any(py, error))?;
    Ok(removal.request(condition))
}

/// A report with what the condition selected.
#[derive(Serialize)]
struct SelectedReport<T> {
    #[serde(flatten)]
    report: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    selection: Option<Selection>,
}

/// The documents of a condition, or those that are named.
fn select(
    py: Python<'_>,
    handle: &Handle,
    documents: Vec<u64>,
    condition: Option<&str>,
) -> PyResult<(RoaringTreemap, Option<Selection>)> {
    let Some(condition) = condition.map(str::to_owned) else {
        return Ok((documents.into_iter().collect(), None));
    };
    let corpus = handle.corpus(py)?;
    let selection = run_detached(py, None, move |context| {
        corpus.selection(DocumentFilter::from(condition).with_interrupt(context.interrupt()))
    })?;
    Ok((selection.documents.clone(), Some(selection)))
}

/// Removes the documents, or those of the condition. Returns the report as JSON text.
#[pyfunction]
#[pyo3(signature = (handle, documents, keywords, condition, dry_run, listener=None))]
pub(crate) fn remove(
    py: Python<'_>,
    handle: &Handle,
    documents: Vec<u64>,
    keywords: &str,
    condition: Option<&str>,
    dry_run: bool,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let removal = removal(py, keywords, condition)?;
    let (documents, selection) = select(py, handle, documents, condition)?;
    handle.report(py, listener.as_ref(), dry_run, |writer, context| {
        let report = writer.remove(&documents, removal, context)?;
        Ok(SelectedReport { report, selection })
    })
}

/// What was erased, and what had the documents before.
#[derive(Serialize)]
struct ErasureReport {
    #[serde(flatten)]
    report: SelectedReport<PurgeReport>,
    shown_by: Dependents,
}

/// Erases documents by id and by key, or those of the condition. Returns the report as JSON text.
#[pyfunction]
#[pyo3(signature = (handle, documents, keys, keywords, condition, switches, listener=None))]
pub(crate) fn purge(
    py: Python<'_>,
    handle: &Handle,
    documents: Vec<u64>,
    keys: Vec<String>,
    keywords: &str,
    condition: Option<&str>,
    switches: (bool, bool, bool),
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let removal = removal(py, keywords, condition)?;
    let (copies, force, dry_run) = switches;
    let purge = |selection: PurgeSelection| {
        let removal = removal.clone();
        handle.write_fed(py, listener.as_ref(), dry_run, &mut |_, _| false, |writer, context| {
            writer.purge(selection, removal, force, context)
        })
    };
    let (documents, selection) = select(py, handle, documents, condition)?;
    let corpus = handle.corpus(py)?;
    let mut named = run_briefly(py, || corpus.keys_to_purge(keys.iter().map(String::as_str)))?;
    named.documents |= documents;
    if copies {
        let (corpus, of) = (corpus.clone(), named.documents.clone());
        let found = run_detached(py, None, move |context| corpus.copies_of(&of, context))?;
        named.documents |= found.all;
    }
    let erased = named.documents.clone();
    let shown_by = run_detached(py, None, move |_| corpus.shown_by(&erased))?;
    let mut report = purge(named)?;
    if !dry_run {
        if report.held {
            // The handle itself still showed the previous commit, and unread tables may do so, too.
            handle.revoke_loans(py)?;
            let ended = purge(PurgeSelection::default())?;
            report.held = ended.held;
            report.checkpoints.extend(ended.checkpoints);
            report.commits += ended.commits;
        }
        let is_new = handle.reopen(py, listener.as_ref(), |_, is_new, _| Ok(is_new))?;
        report.held |= !is_new;
    }
    let report = SelectedReport { report, selection };
    tried(py, &ErasureReport { report, shown_by }, dry_run)
}

/// Searches every row and file for all purged data, and returns the certificate as JSON text. It is also written to
/// `file`, if one is named. `time` is the time of the certificate.
#[pyfunction]
#[pyo3(signature = (handle, file, time, listener=None))]
pub(crate) fn prove_purge(
    py: Python<'_>,
    handle: &Handle,
    file: Option<PathBuf>,
    time: i64,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let found = handle.reopen(py, listener.as_ref(), |writer, _, context| {
        writer.prove_purge(file.as_deref(), Some(time), context)
    })?;
    json(py, &found)
}

/// Undoes removals of the documents, or of those of the condition. Returns the report as JSON text.
#[pyfunction]
#[pyo3(signature = (handle, documents, condition, dry_run, listener=None))]
pub(crate) fn restore(
    py: Python<'_>,
    handle: &Handle,
    documents: Vec<u64>,
    condition: Option<&str>,
    dry_run: bool,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let (documents, selection) = select(py, handle, documents, condition)?;
    handle.report(py, listener.as_ref(), dry_run, |writer, context| {
        let report = writer.restore(&documents, context)?;
        Ok(SelectedReport { report, selection })
    })
}

/// Drops rejects: all, or those of the source or files of the keywords. Returns the report as JSON text.
#[pyfunction]
#[pyo3(signature = (handle, keywords, dry_run, listener=None))]
pub(crate) fn drop_rejects(
    py: Python<'_>,
    handle: &Handle,
    keywords: &str,
    dry_run: bool,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let selection: RejectSelection =
        options_of::<RejectSelectionArgs>(keywords).map_err(|error| raise_any(py, error))?.into();
    handle.report(py, listener.as_ref(), dry_run, |writer, context| {
        writer.drop_rejects(&selection, context)
    })
}

/// Checks the corpus. Returns the faults, and how many documents have candidates that were not compared, as JSON text.
/// `depth` is `quick`, `full` or `deep`.
#[pyfunction]
#[pyo3(signature = (handle, depth, listener=None))]
pub(crate) fn check(
    py: Python<'_>,
    handle: &Handle,
    depth: &str,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let depths =
        [("quick", CheckDepth::Quick), ("full", CheckDepth::Full), ("deep", CheckDepth::Deep)];
    let depth = one_of(py, "BadInput", "depth", depth, &depths)?;
    let corpus = handle.corpus(py)?;
    let told = run_detached(py, listener.as_ref(), move |context| {
        let faults = corpus.check(depth, context)?;
        let (commit, documents) = (corpus.view().commit().0, corpus.view().documents());
        let crowded = corpus.view().crowded()?.len();
        Ok(
            object!({ "commit": commit, "documents": documents, "crowded": crowded, "faults": faults }),
        )
    })?;
    json(py, &told)
}

/// One hash over the content of the corpus.
#[pyfunction]
#[pyo3(signature = (handle, listener=None))]
pub(crate) fn digest(
    py: Python<'_>,
    handle: &Handle,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let corpus = handle.corpus(py)?;
    run_detached(py, listener.as_ref(), move |context| corpus.digest(context))
}
