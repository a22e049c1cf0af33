//! Snapshots: creates, shows, compares, renames and drops them.

use crate::blocking::run_detached;
use crate::corpus::{CorpusMoment, Handle};
use crate::loan::Loan;
use crate::process::ProcessOwned;
use corpusdb::inspect::ChangedDocuments;
use corpusdb::inspect::InspectError;
use pyo3::prelude::*;
use self_cell::self_cell;
use std::sync::Arc;

self_cell!(
    struct ChangeWalk {
        owner: Arc<CorpusMoment>,
        #[not_covariant]
        dependent: ChangedDocuments,
    }
);

/// Id, key, source, change, reason; witness and its key; successor.
type Changed = (
    u64,
    String,
    String,
    &'static str,
    Option<&'static str>,
    Option<u64>,
    Option<String>,
    Option<u64>,
);

/// Documents that changed from one moment to a later one, ascending by id. It holds one document at a time, and works
/// after a reading handle was closed.
#[pyclass(frozen, module = "corpusdb._native", name = "Changes")]
pub(crate) struct ChangeIter {
    walk: ProcessOwned<Loan<ChangeWalk>>,
}

/// The documents that changed from a snapshot to a later one, or to now.
#[pyfunction]
#[pyo3(signature = (handle, earlier, later=None))]
pub(crate) fn snapshot_changes(
    py: Python<'_>,
    handle: &Handle,
    earlier: String,
    later: Option<String>,
) -> PyResult<ChangeIter> {
    let corpus = handle.corpus(py)?;
    let walk = run_detached(py, None, move |_| {
        ChangeWalk::try_new(corpus, |corpus| corpus.snapshot_changes(&earlier, later.as_deref()))
    })?;
    Ok(ChangeIter { walk: ProcessOwned::new(handle.open_corpus(py)?.lend(walk)) })
}

#[pymethods]
impl ChangeIter {
    /// Up to `count` more documents; an empty list at the end.
    fn next_changes(&self, py: Python<'_>, count: usize) -> PyResult<Vec<Changed>> {
        let place = self.walk.get(py)?;
        let Some(walk) = place.take(py, "unread changes")? else {
            return Ok(Vec::new());
        };
        let walked = run_detached(py, None, move |context| {
            let mut walk = walk;
            let next = |_: &Arc<CorpusMoment>, documents: &mut ChangedDocuments<'_>| {
                let mut found = Vec::new();
                while found.len() < count && !context.is_interrupted() {
                    let Some(one) = documents.next().transpose()? else { break };
                    found.push((
                        one.id,
                        one.key,
                        one.source,
                        one.change,
                        one.reason,
                        one.witness,
                        one.witness_key,
                        one.successor,
                    ));
                }
                Ok::<Vec<Changed>, InspectError>(found)
            };
            let changes = walk.with_dependent_mut(next)?;
            Ok((changes, walk))
        });
        let (changes, walk) = walked.inspect_err(|_| place.put_back(None))?;
        place.put_back((!changes.is_empty()).then_some(walk));
        Ok(changes)
    }
}
