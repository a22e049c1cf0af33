//! The origin of the rows of a batch: sources, documents and offsets. Known with the batch, or looked up on demand.

use super::reader::{LoaderCorpus, lock, raised};
use crate::process::ProcessOwned;
use corpusdb::Error;
use corpusdb::epoch::{Epoch, EpochBatch, EpochError, EpochRow, EpochSteps, StreamOptions};
use numpy::ToPyArray;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Arc, Mutex};

/// Up to this many steps are skipped one by one; for more, a new search is cheaper.
const NEAR_STEPS: u64 = 64;

/// The origin of the rows of a batch, as numbers.
pub(super) struct BatchOrigin {
    /// The numbers of the rows in the epoch.
    rows: Vec<i64>,
    /// The index of the source of each row; -1 for a row of pads.
    sources: Vec<i64>,
    /// The document of each segment of all rows.
    documents: Vec<i64>,
    /// Where each segment begins in its document, in tokens.
    offsets: Vec<i64>,
    /// For each row, the end of its segments in the list of all segments.
    ends: Vec<i64>,
}

impl BatchOrigin {
    /// `sources` are the names of the sources; rows get the index of theirs.
    pub fn of(rows: &[EpochRow], sources: &[String]) -> Self {
        let count = rows.iter().map(|row| row.segments().len()).sum();
        let mut origin = Self {
            rows: rows.iter().map(|row| row.number().cast_signed()).collect(),
            sources: Vec::with_capacity(rows.len()),
            documents: Vec::with_capacity(count),
            offsets: Vec::with_capacity(count),
            ends: Vec::with_capacity(rows.len()),
        };
        let mut last = 0;
        for row in rows {
            // Neighbouring rows often have the same source.
            let at = row.source().map(|source| {
                if sources.get(last).is_none_or(|name| name != source) {
                    last = sources.iter().position(|name| name == source).unwrap_or(0);
                }
                last as i64
            });
            origin.sources.push(at.unwrap_or(-1));
            for segment in row.segments() {
                origin.documents.push(segment.document.0.cast_signed());
                origin.offsets.push(i64::from(segment.offset));
            }
            origin.ends.push(origin.documents.len() as i64);
        }
        origin
    }

    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let parts = [&self.rows, &self.sources, &self.documents, &self.offsets, &self.ends];
        PyTuple::new(py, parts.map(|part| part.to_pyarray(py)))
    }
}

/// Looks up the origin of batches of a rank. Looking them up in order is fastest.
pub(super) struct OriginFinder {
    opened: Arc<LoaderCorpus>,
    epoch: Epoch,
    /// The rank and world of the reader.
    options: StreamOptions,
    /// The position behind the last batch that was looked up.
    steps: Mutex<Option<EpochSteps>>,
}

impl OriginFinder {
    pub const fn new(opened: Arc<LoaderCorpus>, epoch: Epoch, options: StreamOptions) -> Self {
        Self { opened, epoch, options, steps: Mutex::new(None) }
    }

    fn origin_of(&self, batch: u64) -> Result<BatchOrigin, Error> {
        Ok(BatchOrigin::of(&self.find(batch)?.rows, &self.opened.sources))
    }

    fn find(&self, batch: u64) -> Result<EpochBatch, EpochError> {
        let mut held = lock(&self.steps);
        let ahead = |steps: &EpochSteps| batch.checked_sub(steps.state().1);
        let mut steps = match held.take().map(|steps| (ahead(&steps), steps)) {
            Some((Some(ahead @ ..=NEAR_STEPS), mut steps)) => {
                steps.skip_steps(ahead)?;
                steps
            }
            _ => {
                let options = StreamOptions { from_batch: batch, ..self.options };
                self.opened.pool.install(|| self.epoch.steps(&options))?
            }
        };
        let asked =
            EpochError::OutOfRange { what: "batch", asked: batch, there_are: self.epoch.batches() };
        let found = steps.next_unread()?.ok_or(asked)?;
        *held = Some(steps);
        Ok(found)
    }
}

/// The origin of a batch.
#[pyclass(frozen, module = "corpusdb._native", name = "Origin")]
pub(crate) struct PyBatchOrigin {
    source: OriginSource,
}

enum OriginSource {
    Ready(BatchOrigin),
    /// The batch and its finder, which keeps the corpus open.
    OnDemand(ProcessOwned<Arc<OriginFinder>>, u64),
}

impl PyBatchOrigin {
    pub(super) const fn ready(origin: BatchOrigin) -> Self {
        Self { source: OriginSource::Ready(origin) }
    }

    pub(super) fn on_demand(origins: &Arc<OriginFinder>, batch: u64) -> Self {
        Self { source: OriginSource::OnDemand(ProcessOwned::new(Arc::clone(origins)), batch) }
    }
}

#[pymethods]
impl PyBatchOrigin {
    /// (rows, sources, documents, offsets, ends).
    fn tell<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match &self.source {
            OriginSource::Ready(origin) => origin.arrays(py),
            OriginSource::OnDemand(origins, batch) => {
                let origins = origins.get(py)?;
                let found = py.detach(|| origins.origin_of(*batch));
                found.map_err(|error| raised(py, error))?.arrays(py)
            }
        }
    }
}
