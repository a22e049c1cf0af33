//! Rows of a statement: an Arrow stream that is read once, or tuples of Python.

use crate::blocking::or_leave;
use crate::cells::tuples;
use crate::corpus::Handle;
use crate::error::named;
use crate::process::Owned;
use corpusdb::Corpus;
use corpusdb::arrow::array::{Array, RecordBatch, RecordBatchReader};
use corpusdb::arrow::datatypes::SchemaRef;
use corpusdb::arrow::error::ArrowError;
use corpusdb::query::{QueryError, SqlQuery};
use pyo3::exceptions::{PyBaseException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::{PyRecordBatchReader, PySchema};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// Rows that are left: batches that were looked at ahead, and the others.
struct Left {
    ahead: VecDeque<RecordBatch>,
    rows: Option<corpusdb::query::Rows>,
    /// Keeps the database open until the rows are read or dropped; dropped last.
    _corpus: Arc<Corpus>,
}

type Pulled = Result<Option<RecordBatch>, QueryError>;

impl Left {
    fn pull(&mut self) -> Pulled {
        if let Some(batch) = self.ahead.pop_front() {
            return Ok(Some(batch));
        }
        let Some(rows) = &mut self.rows else { return Ok(None) };
        let next = rows.next().transpose();
        if !matches!(next, Ok(Some(_))) {
            self.rows = None;
        }
        next
    }

    /// The next batch, waited for where Ctrl-C is heard. After one the rows are gone.
    fn next(self, py: Python<'_>) -> PyResult<(Option<RecordBatch>, Self)> {
        let mut left = self;
        if let Some(batch) = left.ahead.pop_front() {
            return Ok((Some(batch), left));
        }
        if left.rows.is_none() {
            return Ok((None, left));
        }
        or_leave(py, None, move |_| Ok((left.pull()?, left)))
    }
}

/// The answer to a statement, read once.
#[pyclass(frozen, module = "corpusdb._native", name = "Rows")]
pub(crate) struct Rows {
    schema: SchemaRef,
    left: Owned<Mutex<Option<Left>>>,
    failure: Arc<Failure>,
}

/// What ended a stream that was handed out.
#[derive(Default)]
struct Failure {
    error: Mutex<Option<PyErr>>,
    /// Whoever asked for the stream raises the error itself.
    is_asked_for: AtomicBool,
}

/// Runs one SELECT.
#[pyfunction]
#[pyo3(signature = (handle, statement, snapshot=None, files=false))]
pub(crate) fn sql(
    py: Python<'_>,
    handle: &Handle,
    statement: String,
    snapshot: Option<String>,
    files: bool,
) -> PyResult<Rows> {
    let corpus = handle.corpus(py)?;
    let mut query = SqlQuery::new(statement).files(files);
    if let Some(snapshot) = snapshot {
        query = query.snapshot(snapshot);
    }
    let (schema, left) = or_leave(py, None, move |_| {
        let rows = corpus.sql(query)?;
        let schema = rows.schema();
        Ok((schema, Left { ahead: VecDeque::new(), rows: Some(rows), _corpus: corpus }))
    })?;
    Ok(Rows { schema, left: Owned::new(Mutex::new(Some(left))), failure: Arc::default() })
}

impl Rows {
    /// Rows that are there already.
    pub(crate) fn of(batch: RecordBatch, corpus: Arc<Corpus>) -> Self {
        let schema = batch.schema();
        let left = Left { ahead: VecDeque::from([batch]), rows: None, _corpus: corpus };
        Self { schema, left: Owned::new(Mutex::new(Some(left))), failure: Arc::default() }
    }

    fn left(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<Left>>> {
        Ok(self.left.get(py)?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take(&self, py: Python<'_>) -> PyResult<Left> {
        let left = self.left(py)?.take();
        left.ok_or_else(|| {
            named(
                py,
                "Closed",
                "these rows were read already, or are being read: run the statement again",
            )
        })
    }

    /// Takes the next batch; behind the last one the rows count as read.
    fn next(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let (batch, left) = self.take(py)?.next(py)?;
        if batch.is_some() {
            *self.left(py)? = Some(left);
        }
        Ok(batch)
    }
}

#[pymethods]
impl Rows {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Their types, in Arrow's words.
    #[getter]
    fn types(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.data_type().to_string()).collect()
    }

    /// Whether the rows were read.
    #[getter]
    fn is_read(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.left(py)?.is_none())
    }

    /// The next rows as tuples, a batch of them; none behind the last.
    fn next_rows<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyTuple>>>> {
        self.next(py)?.map(|batch| tuples(py, &batch)).transpose()
    }

    /// The first `count` rows as tuples. They stay to be read.
    fn peek<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let mut left = self.take(py)?;
        let (mut seen, mut rows) = (VecDeque::new(), 0);
        while rows < count {
            let (batch, after) = left.next(py)?;
            left = after;
            let Some(batch) = batch else { break };
            rows += batch.num_rows();
            seen.push_back(batch);
        }
        let mut first = Vec::new();
        for batch in &seen {
            let wanted = count.saturating_sub(first.len()).min(batch.num_rows());
            first.extend(tuples(py, &batch.slice(0, wanted))?);
        }
        seen.append(&mut left.ahead);
        left.ahead = seen;
        *self.left(py)? = Some(left);
        Ok(first)
    }

    /// Says that who takes the stream asks for its `failure`, an interrupt too.
    fn ask_for_failure(&self) {
        self.failure.is_asked_for.store(true, Ordering::Relaxed);
    }

    /// What ended the stream that was handed out, if an error did: who reads one has only its words.
    fn failure<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBaseException>> {
        let failure = self.failure.error.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().map(|failure| failure.value(py).clone())
    }

    /// Of each batch that was looked at ahead and of each of its columns, the addresses of its buffers: who reads the
    /// stream finds the same ones where nothing was copied.
    fn addresses(&self, py: Python<'_>) -> PyResult<Vec<Vec<Vec<usize>>>> {
        let left = self.left(py)?;
        let of = |column: &Arc<dyn Array>| {
            let data = column.to_data();
            data.buffers().iter().map(|buffer| buffer.as_ptr().addr()).collect()
        };
        let ahead = left.iter().flat_map(|left| &left.ahead);
        Ok(ahead.map(|batch| batch.columns().iter().map(of).collect()).collect())
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
        let left = Owned::new(self.take(py)?);
        let thread = std::thread::current().id();
        let failure = Arc::clone(&self.failure);
        let stream = Stream { schema: Arc::clone(&self.schema), left: Some(left), thread, failure };
        let reader = PyRecordBatchReader::new(Box::new(stream)).into_pyobject(py)?;
        Ok(reader.call_method1("__arrow_c_stream__", (requested_schema,))?.cast_into()?)
    }
}

/// Rows as who reads an Arrow stream asks for them, batch by batch.
struct Stream {
    schema: SchemaRef,
    left: Option<Owned<Left>>,
    /// The thread that began to read.
    thread: ThreadId,
    failure: Arc<Failure>,
}

impl Stream {
    fn pull(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        // Where the reader is on the thread that asked, Ctrl-C is listened to. On others the interpreter's lock is not
        // asked for: who reads may wait for its threads with the lock in hand.
        if std::thread::current().id() == self.thread {
            return Python::attach(|py| self.pull_heard(py));
        }
        let Some(left) = self.left.as_mut() else { return Ok(None) };
        let Some(left) = left.mine_mut() else { return Err(forked()) };
        left.pull().map_err(|error| ArrowError::ExternalError(Box::new(error)))
    }

    fn pull_heard(&mut self, py: Python<'_>) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(owned) = self.left.take() else { return Ok(None) };
        let Some(left) = owned.into_mine() else { return Err(forked()) };
        match left.next(py) {
            Ok((batch, left)) => {
                self.left = Some(Owned::new(left));
                Ok(batch)
            }
            Err(error) => {
                // Readers turn errors into their own: an interrupt is raised again behind them.
                let is_asked_for = self.failure.is_asked_for.load(Ordering::Relaxed);
                if error.is_instance_of::<PyKeyboardInterrupt>(py) && !is_asked_for {
                    let again =
                        py.import("_thread").and_then(|it| it.call_method0("interrupt_main"));
                    drop(again);
                }
                let told = error.to_string();
                *self.failure.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Err(ArrowError::ExternalError(told.into()))
            }
        }
    }
}

fn forked() -> ArrowError {
    let why = "these rows were asked for before a fork: run the statement again in this process";
    ArrowError::ExternalError(why.into())
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.pull();
        if !matches!(next, Ok(Some(_))) {
            self.left = None;
        }
        next.transpose()
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
