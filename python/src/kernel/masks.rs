//! Masks of padded batches.

use crate::error::named;
use corpusdb::epoch::views::{UnpadIndex, ViewError, unpad};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

/// A mask in one of the types that masks have.
#[derive(FromPyObject)]
pub(crate) enum MaskArray<'py> {
    #[pyo3(transparent)]
    Bytes(PyReadonlyArray2<'py, u8>),
    #[pyo3(transparent)]
    Whole(PyReadonlyArray2<'py, i64>),
    #[pyo3(transparent)]
    Real(PyReadonlyArray2<'py, f64>),
}

/// Indices, cumulative lengths, the longest, the position of each kept token, and those of all.
type UnpadArrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i32>>,
    i32,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray2<i64>>,
);

/// Which tokens of a padded batch a mask keeps.
#[pyfunction]
pub(crate) fn kernel_unpad<'py>(
    py: Python<'py>,
    mask: MaskArray<'py>,
) -> PyResult<UnpadArrays<'py>> {
    let found = match &mask {
        MaskArray::Bytes(mask) => found(py, mask.as_slice()?, mask.shape()),
        MaskArray::Whole(mask) => found(py, mask.as_slice()?, mask.shape()),
        MaskArray::Real(mask) => found(py, mask.as_slice()?, mask.shape()),
    };
    let (found, kept) = found.map_err(|error| named(py, "BadInput", &error.to_string()))?;
    let positions = found.position_ids.into_pyarray(py).reshape([found.rows, found.width])?;
    Ok((
        found.indices.into_pyarray(py),
        found.cu_seqlens.into_pyarray(py),
        found.max_seqlen,
        kept.into_pyarray(py),
        positions,
    ))
}

/// What the mask keeps, and the positions of that.
fn found<M>(
    py: Python<'_>,
    mask: &[M],
    shape: &[usize],
) -> Result<(UnpadIndex, Vec<i64>), ViewError>
where
    M: Copy + PartialEq + From<u8> + std::fmt::Display + Sync,
{
    let (rows, width) = match shape {
        [rows, width] => (*rows, *width),
        _ => (0, 0),
    };
    py.detach(|| {
        let found = unpad(mask, rows, width)?;
        let kept = found.gather(&found.position_ids, 1)?;
        Ok((found, kept))
    })
}
