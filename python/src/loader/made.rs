//! A batch as the reading thread makes it, and as Python takes it over.

use corpusdb::Error;
use corpusdb::arrow::array::RecordBatch;
use corpusdb::epoch::recipe::Column;
use corpusdb::epoch::{
    BatchTable, Epoch, EpochBatch, EpochRow, StreamViews, Tensor, TensorForm, TensorMaker,
    TensorValues, TensorView,
};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// What is asked for of batches.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Tensors(TensorForm),
    Table(StreamViews),
}

impl Form {
    /// The form of these views: `kind` is `tensors`, `narrow` (tensors of 32 bits) or `arrow`.
    pub fn of(views: Option<Vec<String>>, flat: bool, kind: &str) -> PyResult<Self> {
        if kind == "arrow" {
            let columns = named(views, Column::ALL.into_iter().map(|view| (view.name(), view)))?;
            return Ok(Self::Table(StreamViews { columns, unpadded: flat }));
        }
        let views = named(views, TensorView::ALL.into_iter().map(|view| (view.name(), view)))?;
        Ok(Self::Tensors(TensorForm { views, flat, narrow: kind == "narrow" }))
    }
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
            PyValueError::new_err(format!(
                "there is no view `{name}`; there is {}",
                names.join(", ")
            ))
        })
    };
    views.into_iter().map(find).collect::<PyResult<_>>().map(Some)
}

/// Makes batches of an epoch ready.
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

    /// `sources` are the names that rows are numbered by.
    pub fn make(&self, batch: &EpochBatch, next: u64, sources: &[String]) -> Result<Made, Error> {
        let rows = &batch.rows;
        let content = match self {
            Self::Tensors(maker) => Content::Tensors(maker.tensors(batch)?),
            Self::Table(table) => Content::Table(table.record_batch(batch)?),
        };
        let segments = || rows.iter().flat_map(EpochRow::segments);
        let count = segments().count();
        let mut made = Made {
            content,
            number: batch.number,
            next,
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
            made.sources.push(at.unwrap_or(-1));
            for segment in row.segments() {
                made.documents.push(segment.document.0.cast_signed());
                made.offsets.push(i64::from(segment.offset));
            }
            made.ends.push(made.documents.len() as i64);
        }
        Ok(made)
    }
}

enum Content {
    Tensors(Vec<Tensor>),
    Table(RecordBatch),
}

/// A batch, ready.
pub(super) struct Made {
    content: Content,
    number: u64,
    /// The global batch after its step.
    next: u64,
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

impl Made {
    /// (arrays by name or a record batch, number, next, rows, sources, documents, offsets, ends).
    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        let content = match self.content {
            Content::Tensors(tensors) => {
                let arrays = PyDict::new(py);
                for tensor in tensors {
                    arrays.set_item(tensor.name, array(py, tensor.dims, tensor.values)?)?;
                }
                arrays.into_any()
            }
            Content::Table(batch) => {
                Bound::new(py, pyo3_arrow::PyRecordBatch::new(batch))?.into_any()
            }
        };
        let rest = (
            content,
            self.number,
            self.next,
            self.rows.into_pyarray(py),
            self.sources.into_pyarray(py),
            self.documents.into_pyarray(py),
            self.offsets.into_pyarray(py),
            self.ends.into_pyarray(py),
        );
        rest.into_pyobject(py)
    }
}

/// An array that owns these very values; a number where there are no dimensions.
fn array(py: Python<'_>, dims: Vec<usize>, values: TensorValues) -> PyResult<Bound<'_, PyAny>> {
    Ok(match values {
        TensorValues::I32(values) if dims.is_empty() => {
            values.first().copied().unwrap_or(0).into_pyobject(py)?.into_any()
        }
        TensorValues::I64(values) => values.into_pyarray(py).reshape(dims)?.into_any(),
        TensorValues::I32(values) => values.into_pyarray(py).reshape(dims)?.into_any(),
        TensorValues::I8(values) => values.into_pyarray(py).reshape(dims)?.into_any(),
        TensorValues::F32(values) => values.into_pyarray(py).reshape(dims)?.into_any(),
        TensorValues::Bool(values) => values.into_pyarray(py).reshape(dims)?.into_any(),
    })
}
