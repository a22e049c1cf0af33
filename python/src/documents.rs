//! Selects, draws and shows documents, by id and key, with their tokens; and the rejects.

use crate::blocking::{run_briefly, run_detached};

use crate::corpus::Handle;
use crate::parameters::parameters;
use crate::words::json;
use corpusdb::sql::DocumentFilter;
use corpusdb::{DocId, Error};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;

/// The ids of the documents that satisfy a condition (and that a snapshot keeps), ascending.
#[pyfunction]
#[pyo3(signature = (handle, condition=None, values=None, snapshot=None))]
pub(crate) fn select<'py>(
    py: Python<'py>,
    handle: &Handle,
    condition: Option<String>,
    values: Option<Bound<'py, PyAny>>,
    snapshot: Option<String>,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let corpus = handle.corpus(py)?;
    let parameters = parameters(values.as_ref())?;
    let filter = DocumentFilter { condition, snapshot, parameters, ..DocumentFilter::default() };
    let found = run_detached(py, None, move |context| {
        let selected = corpus.select(filter.with_interrupt(context.interrupt()))?;
        Ok(selected.iter().collect::<Vec<u64>>())
    })?;
    Ok(found.into_pyarray(py))
}

/// The ids of documents drawn at random, reproducibly; with a snapshot, from those that it keeps.
#[pyfunction]
#[pyo3(signature = (handle, count, condition, values, seed, snapshot=None))]
pub(crate) fn sample(
    py: Python<'_>,
    handle: &Handle,
    count: u64,
    condition: Option<String>,
    values: Option<Bound<'_, PyAny>>,
    seed: u64,
    snapshot: Option<String>,
) -> PyResult<Vec<u64>> {
    let corpus = handle.corpus(py)?;
    let parameters = parameters(values.as_ref())?;
    let filter = DocumentFilter { condition, snapshot, parameters, ..DocumentFilter::default() };
    run_detached(py, None, move |context| {
        let drawn = corpus.sample(filter.with_interrupt(context.interrupt()), count, seed)?;
        Ok(drawn.into_iter().map(|document| document.0).collect())
    })
}

/// Documents with all that is stored about them, each as JSON text.
#[pyfunction]
pub(crate) fn show(py: Python<'_>, handle: &Handle, ids: Vec<u64>) -> PyResult<Vec<String>> {
    let corpus = handle.corpus(py)?;
    let shown = run_briefly(py, move || {
        ids.into_iter().map(|id| corpus.show(DocId(id))).collect::<Result<Vec<_>, _>>()
    })?;
    shown.iter().map(|shown| json(py, shown)).collect()
}

/// The ids of the documents that were ingested with a key, newest last.
#[pyfunction]
pub(crate) fn find_key(py: Python<'_>, handle: &Handle, key: String) -> PyResult<Vec<u64>> {
    let corpus = handle.corpus(py)?;
    run_briefly(py, move || Ok(corpus.find_key(&key)?.into_iter().map(|id| id.0).collect()))
}

/// The stored token ids of a document, from the named tokenizer or the first one.
#[pyfunction]
#[pyo3(signature = (handle, document, tokenizer=None))]
pub(crate) fn tokens<'py>(
    py: Python<'py>,
    handle: &Handle,
    document: u64,
    tokenizer: Option<String>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let corpus = handle.corpus(py)?;
    let ids = run_briefly(py, move || {
        let view = corpus.view();
        let known = match &tokenizer {
            Some(name) => Some(corpus.tokenizer_record(name)?.0),
            None => view.tokenizers().next().map(|(id, _)| id),
        };
        let mut ids = Vec::new();
        if let Some(known) = known
            && view.tokens(known, DocId(document), &mut ids).map_err(Error::from)?
        {
            return Ok(ids);
        }
        // Fails with a message about what is missing.
        let shown = corpus.tokens_of(DocId(document), tokenizer.as_deref())?;
        Ok(shown.tokens.iter().map(|token| token.id).collect())
    })?;
    Ok(ids.into_pyarray(py))
}

/// The tokens of a document with their texts and their weights in the loss, as JSON text.
#[pyfunction]
#[pyo3(signature = (handle, document, tokenizer=None))]
pub(crate) fn shown_tokens(
    py: Python<'_>,
    handle: &Handle,
    document: u64,
    tokenizer: Option<String>,
) -> PyResult<String> {
    let corpus = handle.corpus(py)?;
    let shown = run_briefly(py, move || corpus.tokens_of(DocId(document), tokenizer.as_deref()))?;
    json(py, &shown)
}

/// Whether nothing was committed since the corpus was opened, and its folder still stands at its path.
#[pyfunction]
pub(crate) fn is_current(py: Python<'_>, handle: &Handle) -> PyResult<bool> {
    let corpus = handle.corpus(py)?;
    run_briefly(py, move || corpus.is_current())
}

/// What opening a corpus for writing does to its store format; none where that is the format of this release.
#[pyfunction]
pub(crate) fn conversion_note(path: PathBuf) -> Option<String> {
    corpusdb::store::conversion_note(&path)
}

/// The first `limit` rejects, and the number of all rejects.
#[pyfunction]
pub(crate) fn rejects<'py>(
    py: Python<'py>,
    handle: &Handle,
    limit: usize,
) -> PyResult<(Vec<Bound<'py, PyDict>>, u64)> {
    let corpus = handle.corpus(py)?;
    let (found, all) = run_briefly(py, move || {
        let found = corpus.rejects(limit)?.collect::<Result<Vec<_>, _>>().map_err(Error::from)?;
        Ok((found, corpus.view().state().rejects))
    })?;
    let told = found.into_iter().map(|reject| {
        let dict = PyDict::new(py);
        dict.set_item("source", reject.source)?;
        dict.set_item("path", reject.path)?;
        dict.set_item("number", reject.number)?;
        dict.set_item("offset", reject.offset)?;
        dict.set_item("reason", reject.reason)?;
        dict.set_item("bytes", reject.bytes)?;
        dict.set_item("raw", PyBytes::new(py, &reject.raw))?;
        Ok(dict)
    });
    Ok((told.collect::<PyResult<_>>()?, all))
}
