//! What the rows of a batch are made of: told with it, or found when somebody asks.

use super::reader::{Opened, lock, raised};
use crate::process::ProcessOwned;
use corpusdb::Error;
use corpusdb::epoch::{Epoch, EpochBatch, EpochError, EpochRow, EpochSteps, StreamOptions};
use numpy::ToPyArray;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Arc, Mutex};

/// Steps that are passed over rather than looked up again.
const NEAR_STEPS: u64 = 64;

/// What the rows of a batch are made of, as numbers.
pub(super) struct Told {
    /// Numbers of its rows in the epoch.
    rows: Vec<i64>,
    /// Of each row the number of its source; -1 for a row of pads.
    sources: Vec<i64>,
    /// The document of each segment of all rows.
    documents: Vec<i64>,
    /// Where in its document each begins, in tokens.
    offsets: Vec<i64>,
    /// Of each row the end of its segments among all of them.
    ends: Vec<i64>,
}

impl Told {
    /// `sources` are the names that rows are numbered by.
    pub fn of(rows: &[EpochRow], sources: &[String]) -> Self {
        let count = rows.iter().map(|row| row.segments().len()).sum();
        let mut told = Self {
            rows: rows.iter().map(|row| row.number().cast_signed()).collect(),
            sources: Vec::with_capacity(rows.len()),
            documents: Vec::with_capacity(count),
            offsets: Vec::with_capacity(count),
            ends: Vec::with_capacity(rows.len()),
        };
        let mut last = 0;
        for row in rows {
            // Rows of a source often follow each other.
            let at = row.source().map(|source| {
                if sources.get(last).is_none_or(|name| name != source) {
                    last = sources.iter().position(|name| name == source).unwrap_or(0);
                }
                last as i64
            });
            told.sources.push(at.unwrap_or(-1));
            for segment in row.segments() {
                told.documents.push(segment.document.0.cast_signed());
                told.offsets.push(i64::from(segment.offset));
            }
            told.ends.push(told.documents.len() as i64);
        }
        told
    }

    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let parts = [&self.rows, &self.sources, &self.documents, &self.offsets, &self.ends];
        PyTuple::new(py, parts.map(|part| part.to_pyarray(py)))
    }
}

/// Finds what the batches of a rank are made of, fastest one after the other.
pub(super) struct Origins {
    opened: Arc<Opened>,
    epoch: Epoch,
    /// Which reader of how many asks.
    options: StreamOptions,
    /// Where the batch asked for last was found.
    steps: Mutex<Option<EpochSteps>>,
}

impl Origins {
    pub const fn new(opened: Arc<Opened>, epoch: Epoch, options: StreamOptions) -> Self {
        Self { opened, epoch, options, steps: Mutex::new(None) }
    }

    fn told(&self, batch: u64) -> Result<Told, Error> {
        Ok(Told::of(&self.find(batch)?.rows, &self.opened.sources))
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

/// What a batch is made of.
#[pyclass(frozen, module = "corpusdb._native")]
pub(crate) struct Origin {
    known: Known,
}

enum Known {
    Told(Told),
    /// The batch, and what finds it: with it the corpus is held open.
    Asked(ProcessOwned<Arc<Origins>>, u64),
}

impl Origin {
    pub(super) const fn told(told: Told) -> Self {
        Self { known: Known::Told(told) }
    }

    pub(super) fn asked(origins: &Arc<Origins>, batch: u64) -> Self {
        Self { known: Known::Asked(ProcessOwned::new(Arc::clone(origins)), batch) }
    }
}

#[pymethods]
impl Origin {
    /// (rows, sources, documents, offsets, ends).
    fn tell<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match &self.known {
            Known::Told(told) => told.arrays(py),
            Known::Asked(origins, batch) => {
                let origins = origins.get(py)?;
                let told = py.detach(|| origins.told(*batch));
                told.map_err(|error| raised(py, error))?.arrays(py)
            }
        }
    }
}
