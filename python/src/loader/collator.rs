//! Makes a trainer's batches from rows of built files, which Python reads with a library of its choice.

use super::batch::{arrays, named_contract};
use crate::error::raise;
use corpusdb::Error;
use corpusdb::epoch::{BuiltCollator, BuiltRow, Manifest};
use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// The collator of a contract for the files of a manifest.
#[pyclass(frozen, module = "corpusdb._native", name = "Collator")]
pub(crate) struct PyCollator {
    collator: BuiltCollator,
}

/// The columns of a row.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct RowColumns<'py> {
    ids: PyReadonlyArray1<'py, i64>,
    seq_lengths: PyReadonlyArray1<'py, i64>,
    labels: Option<PyReadonlyArray1<'py, i64>>,
    loss_mask: Option<PyReadonlyArray1<'py, i64>>,
    loss_weights: Option<PyReadonlyArray1<'py, f32>>,
}

impl RowColumns<'_> {
    fn read(&self) -> PyResult<BuiltRow> {
        Ok(BuiltRow {
            ids: numbers("input_ids", &self.ids)?,
            seq_lengths: numbers("seq_lengths", &self.seq_lengths)?,
            labels: self.labels.as_ref().map(|of| numbers("labels", of)).transpose()?,
            loss_mask: self.loss_mask.as_ref().map(|of| numbers("loss_mask", of)).transpose()?,
            loss_weights: self.loss_weights.as_ref().map(|of| of.to_vec()).transpose()?,
        })
    }
}

fn numbers<T: TryFrom<i64>>(name: &str, column: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<T>> {
    let number = |value: &i64| {
        T::try_from(*value).map_err(|_| PyValueError::new_err(format!("`{name}` has {value}")))
    };
    column.as_slice()?.iter().map(number).collect()
}

/// The text of the manifest of the files in a directory.
#[pyfunction]
pub(crate) fn manifest_text(py: Python<'_>, directory: PathBuf) -> PyResult<String> {
    let text = py.detach(|| Manifest::read(&directory).map(|manifest| manifest.to_json()));
    text.map_err(|error| raise(py, Error::from(error)))
}

#[pymethods]
impl PyCollator {
    #[new]
    fn new(py: Python<'_>, manifest: &str, contract: &str) -> PyResult<Self> {
        let contract = named_contract(contract)?;
        let collator = Manifest::from_json(manifest).and_then(|of| of.collator(contract));
        Ok(Self { collator: collator.map_err(|error| raise(py, Error::from(error)))? })
    }

    /// The arrays of a batch by name.
    fn batch<'py>(
        &self,
        py: Python<'py>,
        rows: Vec<RowColumns<'py>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let rows = rows.iter().map(RowColumns::read).collect::<PyResult<_>>()?;
        let tensors = py.detach(|| self.collator.tensors(rows));
        arrays(py, tensors.map_err(|error| raise(py, Error::from(error)))?)
    }
}
