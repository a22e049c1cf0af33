//! The kernel over Arrow: functions from record batches to one record batch; and that of batches and lengths, over arrays.
//!
//! They have no state, and run without the interpreter's lock.

mod columns;
mod decide;
mod encode;
mod lengths;
mod masks;
mod pairs;
mod prints;

pub(crate) use decide::{kernel_decide, standings_digest};
pub(crate) use encode::{kernel_encode, load_encoder};
pub(crate) use lengths::{kernel_length_grouped, kernel_pack};
pub(crate) use masks::kernel_unpad;
pub(crate) use pairs::{
    kernel_close, kernel_components, kernel_near, kernel_similar, kernel_verify,
};
pub(crate) use prints::kernel_fingerprint;

use crate::error::named;
use corpusdb::arrow::array::{RecordBatch, RecordBatchReader};
use corpusdb::arrow::compute::concat_batches;
use corpusdb::arrow::error::ArrowError;
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};

/// An answer, or a message about the wrong input.
pub(crate) type KernelResult<T> = Result<T, String>;

fn worded(error: ArrowError) -> String {
    error.to_string()
}

/// The batches of a reader.
struct BatchSource(Box<dyn RecordBatchReader + Send>);

impl BatchSource {
    fn of(given: PyRecordBatchReader) -> PyResult<Self> {
        given.into_reader().map(Self)
    }

    /// At least one batch, which may be empty.
    fn batches(self) -> KernelResult<Vec<RecordBatch>> {
        let schema = self.0.schema();
        let mut batches = self.0.collect::<Result<Vec<_>, _>>().map_err(worded)?;
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(schema));
        }
        Ok(batches)
    }

    /// All rows as one batch.
    fn rows(self) -> KernelResult<RecordBatch> {
        let batches = self.batches()?;
        let schema = batches.first().map(RecordBatch::schema).ok_or("the input has no batch")?;
        concat_batches(&schema, &batches).map_err(worded)
    }
}

/// Runs `work` on each input batch (on an empty one if there are none), and concatenates the answers.
fn each(
    py: Python<'_>,
    given: PyRecordBatchReader,
    mut work: impl FnMut(&RecordBatch) -> KernelResult<RecordBatch> + Send,
) -> PyResult<PyRecordBatch> {
    let reading = BatchSource::of(given)?;
    answer(py, move || {
        let done = reading.batches()?.iter().map(&mut work).collect::<KernelResult<Vec<_>>>()?;
        let schema = done.first().map(RecordBatch::schema).ok_or("the input has no batch")?;
        concat_batches(&schema, &done).map_err(worded)
    })
}

/// Runs `work` without the interpreter's lock, and turns its error into an exception.
fn answer(
    py: Python<'_>,
    work: impl FnOnce() -> KernelResult<RecordBatch> + Send,
) -> PyResult<PyRecordBatch> {
    let done = py.detach(work);
    done.map(PyRecordBatch::new).map_err(|why| named(py, "BadInput", &why))
}
