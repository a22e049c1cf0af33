//! Orders and rows of documents of which only lengths are known.

use super::KernelResult;
use crate::blocking::run_detached;
use crate::error::named;
use corpusdb::Recipe;
use corpusdb::epoch::torch::Generator;
use corpusdb::epoch::{SegmentArrays, pack_lengths};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::borrow::Cow;

/// Indices, and the state of the generator behind them.
type OrderAndState = (Vec<u64>, Option<Cow<'static, [u8]>>);

/// Row offsets, documents, starts and stops.
type SegmentColumns<'py> = [Bound<'py, PyArray1<i64>>; 4];

/// The order of a length-grouped sampler, from a seed or from the state of torch's generator; and its state behind it.
#[pyfunction]
#[pyo3(signature = (lengths, batch_size, mega_batch_mult, seed, state=None))]
pub(crate) fn kernel_length_grouped<'py>(
    py: Python<'py>,
    lengths: PyReadonlyArray1<'py, i64>,
    batch_size: i64,
    mega_batch_mult: Option<i64>,
    seed: u64,
    state: Option<Vec<u8>>,
) -> PyResult<OrderAndState> {
    let lengths = read(py, &lengths)?;
    let count = |name: &str, value: i64| {
        let why = || format!("`{name}` is {value}; give a whole number of at least 1");
        usize::try_from(value).map_err(|_| named(py, "BadInput", &why()))
    };
    let batch_size = count("batch_size", batch_size)?;
    let multiple = mega_batch_mult.map(|value| count("mega_batch_mult", value)).transpose()?;
    run_detached(py, None, move |_| {
        let mut state = state;
        let mut generator = match &state {
            Some(state) => Generator::of_state(state)?,
            None => Generator::new(seed),
        };
        let order = generator.length_grouped_indices(&lengths, batch_size, multiple)?;
        if let Some(state) = &mut state {
            generator.put_state(state)?;
        }
        Ok((order, state.map(Cow::Owned)))
    })
}

/// The rows of documents of these lengths, as `[pack]` of a recipe says.
#[pyfunction]
pub(crate) fn kernel_pack<'py>(
    py: Python<'py>,
    lengths: PyReadonlyArray1<'py, i64>,
    recipe: String,
) -> PyResult<SegmentColumns<'py>> {
    let lengths = read(py, &lengths)?;
    let SegmentArrays { row_offsets, documents, starts, stops } =
        run_detached(py, None, move |_| {
            let recipe = Recipe::parse(&recipe)?;
            Ok(pack_lengths(&lengths, &recipe.pack)?)
        })?;
    Ok([row_offsets, documents, starts, stops].map(|column| column.into_pyarray(py)))
}

/// The lengths in the type that the library takes.
fn read(py: Python<'_>, lengths: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<u32>> {
    let given = lengths.as_slice()?;
    let numbers: KernelResult<Vec<u32>> = py.detach(|| {
        let number = |(at, length): (usize, &i64)| {
            u32::try_from(*length).map_err(|_| {
                let most = u32::MAX;
                format!(
                    "`lengths` has {length} at {at}; a length is a whole number from 0 to {most}"
                )
            })
        };
        given.iter().enumerate().map(number).collect()
    });
    numbers.map_err(|why| named(py, "BadInput", &why))
}
