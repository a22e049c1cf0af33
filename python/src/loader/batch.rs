//! Batches as Python gets them: made in the reading thread, with the origin of their rows, and handed over as arrays.
//!
//! The origin is the sources, documents and offsets of the rows. It is known with the batch, or looked up on demand.

use super::corpus::{LoaderCorpus, lock, raised};
use crate::process::ProcessOwned;
use corpusdb::Error;
use corpusdb::arrow::array::RecordBatch;
use corpusdb::epoch::recipe::RowColumn;
use corpusdb::epoch::{
    BatchField, BatchForm, BatchTable, Contract, Epoch, EpochBatch, EpochError, EpochRow,
    EpochSteps, IdBatch, StreamOptions, StreamViews, Tensor, TensorIds, TensorMaker, TensorValues,
};
use numpy::{IntoPyArray, PyArrayMethods, ToPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};
use std::sync::{Arc, Mutex};

/// Up to this many steps are skipped one by one; for more, a new search is cheaper.
const NEAR_STEPS: u64 = 64;

/// The requested form of batches.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Tensors(BatchForm),
    Table(StreamViews),
}

impl Form {
    /// The form with these views, or of this contract. `kind` is `arrow` or the type of ids: `int64`, `int32`, `uint16`.
    pub fn of(
        views: Option<Vec<String>>,
        flat: bool,
        kind: &str,
        contract: Option<&str>,
    ) -> PyResult<Self> {
        if kind == "arrow" {
            let columns = named(views, RowColumn::ALL.into_iter().map(|view| (view.name(), view)))?;
            return Ok(Self::Table(StreamViews { columns, unpadded: flat }));
        }
        let views = named(views, BatchField::ALL.into_iter().map(|view| (view.name(), view)))?;
        let ids = match kind {
            "int32" => TensorIds::I32,
            "uint16" => TensorIds::U16,
            _ => TensorIds::I64,
        };
        let contract = contract.map(named_contract).transpose()?;
        Ok(Self::Tensors(BatchForm { views, flat, contract, ids }))
    }

    /// The form of rows that are given by themselves.
    pub fn of_rows(epoch: &Epoch, form: &Self) -> Result<Self, Error> {
        Ok(match form {
            Self::Tensors(form) if form.views.is_none() => {
                Self::Tensors(BatchForm { views: Some(epoch.row_fields()?), ..form.clone() })
            }
            form => form.clone(),
        })
    }
}

/// The contract of that name.
pub(super) fn named_contract(name: &str) -> PyResult<Contract> {
    Contract::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Contract::ALL.into_iter().map(Contract::name).collect();
        PyValueError::new_err(format!("no contract `{name}`; there are {}", names.join(", ")))
    })
}

fn named<T: Copy>(
    views: Option<Vec<String>>,
    known: impl Iterator<Item = (&'static str, T)> + Clone,
) -> PyResult<Option<Vec<T>>> {
    let Some(views) = views else { return Ok(None) };
    let find = |name: String| {
        let found = known.clone().find(|(known, _)| *known == name);
        found.map(|(_, view)| view).ok_or_else(|| {
            let names: Vec<&str> = known.clone().map(|(name, _)| name).collect();
            PyValueError::new_err(format!("no view `{name}`; there are {}", names.join(", ")))
        })
    };
    views.into_iter().map(find).collect::<PyResult<_>>().map(Some)
}

/// Makes the batches of an epoch.
pub(super) enum Maker {
    Tensors(TensorMaker),
    Table(Box<BatchTable>),
}

impl Maker {
    pub fn of(epoch: &Epoch, form: &Form) -> Result<Self, Error> {
        Ok(match form {
            Form::Tensors(form) => Self::Tensors(epoch.tensors(form)?),
            Form::Table(views) => Self::Table(Box::new(epoch.table(views)?)),
        })
    }

    /// `sources` are the names of the sources; each row gets the index of its own.
    pub fn make(
        &self,
        batch: &EpochBatch,
        next: u64,
        sources: &[String],
    ) -> Result<ReadyBatch, Error> {
        let rows = &batch.rows;
        let content = match self {
            Self::Tensors(maker) => BatchContent::Tensors(maker.tensors(batch)?),
            Self::Table(table) => BatchContent::Table(table.record_batch(batch)?),
        };
        Ok(ReadyBatch {
            content,
            number: batch.number,
            next,
            origin: PyBatchOrigin::ready(BatchOrigin::of(rows, sources)),
        })
    }
}

/// Makes batches that have only ids.
pub(super) struct IdMaker {
    maker: TensorMaker,
    origins: Arc<OriginFinder>,
}

impl IdMaker {
    pub fn new(maker: TensorMaker, origins: OriginFinder) -> Self {
        Self { maker, origins: Arc::new(origins) }
    }

    /// The origin of the rows is looked up on demand.
    pub fn make(&self, batch: &IdBatch) -> ReadyBatch {
        ReadyBatch {
            content: BatchContent::Tensors(vec![self.maker.ids(batch)]),
            number: batch.number(),
            next: batch.next(),
            origin: PyBatchOrigin::on_demand(&self.origins, batch.number()),
        }
    }
}

enum BatchContent {
    Tensors(Vec<Tensor>),
    Table(RecordBatch),
}

/// A finished batch.
pub(super) struct ReadyBatch {
    content: BatchContent,
    number: u64,
    /// The global batch after its step.
    next: u64,
    origin: PyBatchOrigin,
}

impl ReadyBatch {
    /// The global batch after its step.
    pub const fn after(&self) -> u64 {
        self.next
    }

    /// (arrays by name or a record batch, number, next, origin).
    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        let content = match self.content {
            BatchContent::Tensors(tensors) => arrays(py, tensors)?.into_any(),
            BatchContent::Table(batch) => {
                Bound::new(py, pyo3_arrow::PyRecordBatch::new(batch))?.into_any()
            }
        };
        (content, self.number, self.next, self.origin).into_pyobject(py)
    }
}

/// Tensors by their names.
pub(super) fn arrays(py: Python<'_>, tensors: Vec<Tensor>) -> PyResult<Bound<'_, PyDict>> {
    let arrays = PyDict::new(py);
    for tensor in tensors {
        arrays.set_item(tensor.name, array(py, tensor.dims, tensor.values)?)?;
    }
    Ok(arrays)
}

/// An array that owns the values without a copy; a plain number, list or setting if the value is no tensor.
fn array(py: Python<'_>, dims: Vec<usize>, values: TensorValues) -> PyResult<Bound<'_, PyAny>> {
    Ok(match values {
        TensorValues::I32(values) if dims.is_empty() => {
            values.first().copied().unwrap_or(0).into_pyobject(py)?.into_any()
        }
        TensorValues::I64(values) => values.into_pyarray(py).reshape(dims)?.into_any(),
        TensorValues::I32(values) => values.into_pyarray(py).reshape(dims)?.into_any(),
        TensorValues::I8(values) => values.into_pyarray(py).reshape(dims)?.into_any(),
        TensorValues::F32(values) => values.into_pyarray(py).reshape(dims)?.into_any(),
        TensorValues::U16(values) => values.into_pyarray(py).reshape(dims)?.into_any(),
        TensorValues::Bool(values) => values.into_pyarray(py).reshape(dims)?.into_any(),
        TensorValues::List(values) => PyList::new(py, values)?.into_any(),
        TensorValues::Flag(value) => PyBool::new(py, value).to_owned().into_any(),
    })
}

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
    /// `sources` are the names of the sources; each row gets the index of its own.
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
        let found = steps.next_without_ids()?.ok_or(asked)?;
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
