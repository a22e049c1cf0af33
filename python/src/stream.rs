//! Rows as an Arrow stream (C stream interface), for other libraries.

use crate::error::named;
use crate::loan::{Loan, LoanUnavailable};
use crate::process::ProcessOwned;
use crate::remaining::RemainingRows;
use corpusdb::arrow::array::{RecordBatch, RecordBatchReader};
use corpusdb::arrow::datatypes::SchemaRef;
use corpusdb::arrow::error::ArrowError;
use pyo3::exceptions::{PyBaseException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::{PyRecordBatchReader, PySchema};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

/// One reading of rows as an Arrow stream.
#[pyclass(frozen, module = "corpusdb._native", name = "RowStream")]
pub(crate) struct RowStream {
    schema: SchemaRef,
    rows: ProcessOwned<Mutex<Option<Loan<RemainingRows>>>>,
    failure: Arc<StreamFailure>,
}

/// The error that ended an exported stream.
#[derive(Default)]
struct StreamFailure {
    error: Mutex<Option<PyErr>>,
    /// Whether the caller will ask for the error itself.
    is_asked_for: AtomicBool,
}

impl RowStream {
    pub(crate) fn new(schema: SchemaRef, rows: Loan<RemainingRows>) -> Self {
        let rows = ProcessOwned::new(Mutex::new(Some(rows)));
        Self { schema, rows, failure: Arc::default() }
    }
}

#[pymethods]
impl RowStream {
    /// Announces that the caller will ask for `failure`, which then also has an interrupt.
    fn ask_for_failure(&self) {
        self.failure.is_asked_for.store(true, Ordering::Relaxed);
    }

    /// The error that ended the stream, if any. A reader of the stream sees only its text.
    fn failure<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBaseException>> {
        let failure = self.failure.error.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().map(|failure| failure.value(py).clone())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = PySchema::new(Arc::clone(&self.schema)).into_pyobject(py)?;
        Ok(schema.call_method0("__arrow_c_schema__")?.cast_into()?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let rows = self.rows.get(py)?.lock().unwrap_or_else(PoisonError::into_inner).take();
        let rows = rows.ok_or_else(|| {
            named(py, "Closed", "this stream was read already: ask the table for another one")
        })?;
        let thread = std::thread::current().id();
        let failure = Arc::clone(&self.failure);
        let schema = Arc::clone(&self.schema);
        let stream = RowBatchStream { schema, rows: ProcessOwned::new(rows), thread, failure };
        let reader = PyRecordBatchReader::new(Box::new(stream)).into_pyobject(py)?;
        Ok(reader.call_method1("__arrow_c_stream__", (requested_schema,))?.cast_into()?)
    }
}

/// The batches of rows, as the reader of an Arrow stream requests them.
struct RowBatchStream {
    schema: SchemaRef,
    rows: ProcessOwned<Loan<RemainingRows>>,
    /// The thread that began to read.
    thread: ThreadId,
    failure: Arc<StreamFailure>,
}

impl RowBatchStream {
    fn pull(&self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(place) = self.rows.mine() else {
            return Err(ended(
                "this statement was run before a fork: run it again in this process",
            ));
        };
        let mut rows = match place.try_take() {
            Ok(Some(rows)) => rows,
            Ok(None) => return Ok(None),
            Err(LoanUnavailable::Revoked) => {
                return Err(ended(
                    "the corpus was closed before these rows were read: read them before you close it",
                ));
            }
            Err(LoanUnavailable::InUse) => {
                return Err(ended("another thread is reading these rows"));
            }
        };
        // Ctrl-C is checked only on the thread that asked. Other threads must not take the interpreter's lock: the
        // reader may hold it while it waits for them.
        let pulled = if std::thread::current().id() == self.thread {
            Python::attach(|py| self.pull_heard(py, rows))
        } else {
            match rows.pull() {
                Ok(batch) => Ok((batch, rows)),
                Err(error) => Err(ArrowError::ExternalError(Box::new(error))),
            }
        };
        match pulled {
            Ok((batch, rows)) => {
                place.put_back(batch.is_some().then_some(rows));
                Ok(batch)
            }
            Err(error) => {
                place.put_back(None);
                Err(error)
            }
        }
    }

    fn pull_heard(
        &self,
        py: Python<'_>,
        rows: RemainingRows,
    ) -> Result<(Option<RecordBatch>, RemainingRows), ArrowError> {
        rows.next(py).map_err(|error| {
            // Readers replace errors by their own, so an interrupt is raised again afterwards.
            let is_asked_for = self.failure.is_asked_for.load(Ordering::Relaxed);
            if error.is_instance_of::<PyKeyboardInterrupt>(py) && !is_asked_for {
                let again = py.import("_thread").and_then(|it| it.call_method0("interrupt_main"));
                drop(again);
            }
            let words = error.to_string();
            *self.failure.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            ended(&words)
        })
    }
}

fn ended(why: &str) -> ArrowError {
    ArrowError::ExternalError(why.into())
}

impl Iterator for RowBatchStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pull().transpose()
    }
}

impl RecordBatchReader for RowBatchStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
