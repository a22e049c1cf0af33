//! Duplicates: the pairs, counts by group, and the difference of two texts.

use crate::blocking::{run_briefly, run_detached};
use crate::corpus::{CorpusMoment, Handle};
use crate::error::raise;
use crate::loan::Loan;
use crate::process::ProcessOwned;
use crate::rows::PyRows;
use crate::words::json;
use corpusdb::DocId;
use corpusdb::sql::Duplicates;
use corpusdb::sql::SqlError;
use pyo3::prelude::*;
use self_cell::self_cell;
use std::sync::Arc;

self_cell!(
    struct PairWalk {
        owner: Arc<CorpusMoment>,
        #[not_covariant]
        dependent: Duplicates,
    }
);

/// Id, key and source of the removed document, then of its witness; kind; similarity; containment of both.
type Pair = (u64, String, String, u64, String, String, &'static str, f64, f64, f64);

/// Removed documents with their witnesses, ascending by id. It holds one pair at a time, and works after a reading
/// handle was closed.
#[pyclass(frozen, module = "corpusdb._native", name = "Pairs")]
pub(crate) struct DuplicateIter {
    walk: ProcessOwned<Loan<PairWalk>>,
    source: Option<String>,
}

/// All duplicates, those of one document, or those removed from a source.
#[pyfunction]
#[pyo3(signature = (handle, document=None, source=None))]
pub(crate) fn duplicates(
    py: Python<'_>,
    handle: &Handle,
    document: Option<u64>,
    source: Option<String>,
) -> PyResult<DuplicateIter> {
    let corpus = handle.corpus(py)?;
    if let Some(name) = &source {
        corpus.view().expect_source(name).map_err(|error| raise(py, error))?;
    }
    let walk = run_briefly(py, move || {
        PairWalk::try_new(corpus, |corpus| corpus.duplicates(document.map(DocId)))
    })?;
    Ok(DuplicateIter { walk: ProcessOwned::new(handle.open_corpus(py)?.lend(walk)), source })
}

#[pymethods]
impl DuplicateIter {
    /// Up to `count` more pairs; an empty list at the end.
    fn next_pairs(&self, py: Python<'_>, count: usize) -> PyResult<Vec<Pair>> {
        let place = self.walk.get(py)?;
        let Some(walk) = place.take(py, "unread duplicates")? else {
            return Ok(Vec::new());
        };
        let source = self.source.clone();
        let walked = run_detached(py, None, move |context| {
            let mut walk = walk;
            let pairs = walk.with_dependent_mut(|_, pairs| -> Result<Vec<Pair>, SqlError> {
                let mut found = Vec::new();
                while found.len() < count && !context.is_interrupted() {
                    let Some(pair) = pairs.next().transpose()? else { break };
                    if source.as_ref().is_some_and(|source| *source != pair.source) {
                        continue;
                    }
                    found.push((
                        pair.id,
                        pair.key,
                        pair.source,
                        pair.witness,
                        pair.witness_key,
                        pair.witness_source,
                        pair.kind,
                        pair.jaccard,
                        pair.containment_removed,
                        pair.containment_witness,
                    ));
                }
                Ok(found)
            })?;
            Ok((pairs, walk))
        });
        let (pairs, walk) = walked.inspect_err(|_| place.put_back(None))?;
        place.put_back((!pairs.is_empty()).then_some(walk));
        Ok(pairs)
    }
}

/// How many documents of each group were removed, by the group of their witnesses. A row is a pair of groups.
#[pyfunction]
#[pyo3(signature = (handle, by, source=None))]
pub(crate) fn duplicates_matrix(
    py: Python<'_>,
    handle: &Handle,
    by: Vec<String>,
    source: Option<String>,
) -> PyResult<PyRows> {
    let corpus = handle.corpus(py)?;
    let batch = run_detached(py, None, move |_| {
        Ok(corpus.duplicates_matrix(&by, source.as_deref())?.to_record_batch()?)
    })?;
    Ok(PyRows::of(batch))
}

/// Compares the texts of two documents word by word; the parts as JSON text.
#[pyfunction]
pub(crate) fn diff(py: Python<'_>, handle: &Handle, a: u64, b: u64) -> PyResult<String> {
    let corpus = handle.corpus(py)?;
    let parts = run_briefly(py, move || corpus.diff(DocId(a), DocId(b)))?;
    json(py, &parts)
}
