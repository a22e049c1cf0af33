//! Rows as an Arrow stream of the C interface, for whatever reads these.

use crate::error::named;
use crate::loan::{Loan, LoanUnavailable};
use crate::process::ProcessOwned;
use crate::rows::RemainingRows;
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

/// One reading of rows, to be handed out as a stream.
#[pyclass(frozen, module = "corpusdb._native", name = "RowStream")]
pub(crate) struct RowStream {
    schema: SchemaRef,
    rows: ProcessOwned<Mutex<Option<Loan<RemainingRows>>>>,
    failure: Arc<StreamFailure>,
}

/// What ended a stream that was handed out.
#[derive(Default)]
struct StreamFailure {
    error: Mutex<Option<PyErr>>,
    /// Whoever asked for the stream raises the error itself.
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
    /// Says that who takes the stream asks for its `failure`, an interrupt too.
    fn ask_for_failure(&self) {
        self.failure.is_asked_for.store(true, Ordering::Relaxed);
    }

    /// What ended the stream, if an error did: who reads one has only its words.
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
            named(py, "Closed", "this stream was handed out already: ask the table for another")
        })?;
        let thread = std::thread::current().id();
        let failure = Arc::clone(&self.failure);
        let schema = Arc::clone(&self.schema);
        let stream = RowBatchStream { schema, rows: ProcessOwned::new(rows), thread, failure };
        let reader = PyRecordBatchReader::new(Box::new(stream)).into_pyobject(py)?;
        Ok(reader.call_method1("__arrow_c_stream__", (requested_schema,))?.cast_into()?)
    }
}

/// Rows as who reads an Arrow stream asks for them, batch by batch.
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
                "these rows were asked for before a fork: run the statement again in this process",
            ));
        };
        let mut rows = match place.try_take() {
            Ok(Some(rows)) => rows,
            Ok(None) => return Ok(None),
            Err(LoanUnavailable::Revoked) => {
                return Err(ended(
                    "the corpus was closed before these rows were read: read them before",
                ));
            }
            Err(LoanUnavailable::InUse) => return Err(ended("another thread reads these rows")),
        };
        // Where the reader is on the thread that asked, Ctrl-C is listened to. On others the interpreter's lock is not
        // asked for: who reads may wait for its threads with the lock in hand.
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
            // Readers turn errors into their own: an interrupt is raised again behind them.
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
