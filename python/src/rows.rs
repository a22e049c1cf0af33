//! The rows of a statement, as an Arrow stream or as Python tuples, which can be read any number of times.
//!
//! A table belongs to one commit. Its statement starts to run when the table is made, so errors show at once. The first
//! reading takes that run; each further reading starts another run on the same commit.

use crate::blocking::run_detached;
use crate::cells::tuples;
use crate::corpus::{CorpusMoment, Handle, OpenCorpus};
use crate::error::named;
use crate::loan::Loan;
use crate::parameters::parameters;
use crate::process::ProcessOwned;
use crate::remaining::{RemainingRows, first, there};
use crate::stream::RowStream;
use corpusdb::arrow::array::{Array, RecordBatch};
use corpusdb::arrow::datatypes::SchemaRef;
use corpusdb::sql::{PrintFormat, RowPrinter, SqlQuery, has_thousands};
use corpusdb::{Context, CorpusOptions};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::PySchema;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The name of the remaining rows in errors.
const WHAT: &str = "the rows of this table";

/// The source of rows.
enum RowSource {
    /// A batch in memory.
    Batch(RecordBatch),
    Statement(Box<BoundStatement>),
}

/// A statement at one commit.
struct BoundStatement {
    query: SqlQuery,
    commit: u64,
    /// The corpus, and how to open it again if it was closed.
    open: Weak<OpenCorpus>,
    path: PathBuf,
    shards: Vec<PathBuf>,
    corpus_options: CorpusOptions,
}

impl BoundStatement {
    /// The corpus at the commit of the statement.
    ///
    /// # Errors
    /// `corpusdb.Stale` if the corpus has a newer commit; errors of opening it again.
    fn corpus(&self, py: Python<'_>) -> PyResult<Arc<CorpusMoment>> {
        let shown = self.open.upgrade().and_then(|open| open.shown(py));
        let corpus = match shown {
            Some(corpus) => corpus,
            None => {
                let (path, shards) = (self.path.clone(), self.shards.clone());
                let options = self.corpus_options;
                let open = move |_: &Context<'_>| {
                    Ok(Arc::new(CorpusMoment::from(options.open_with(path, &shards)?)))
                };
                run_detached(py, None, open)?
            }
        };
        let (commit, now) = (self.commit, corpus.view().commit().0);
        if commit == now {
            return Ok(corpus);
        }
        Err(named(
            py,
            "Stale",
            &format!(
                "this table belongs to commit {commit}, but the corpus is at commit {now}: run the statement again, or \
                 read the table into a frame (`.df()`, `.pl()`, `.arrow()`) before the corpus changes"
            ),
        ))
    }

    fn run(
        &self,
        py: Python<'_>,
        corpus: Arc<CorpusMoment>,
    ) -> PyResult<(SchemaRef, RemainingRows)> {
        let query = self.query.clone();
        run_detached(py, None, move |_| {
            let rows = corpus.sql(query)?;
            let (schema, ahead) = (rows.schema(), VecDeque::new());
            Ok((schema, RemainingRows { ahead, rows: Some(rows), _corpus: Some(corpus) }))
        })
    }
}

/// The answer to a statement.
#[pyclass(frozen, module = "corpusdb._native", name = "Rows")]
pub(crate) struct PyRows {
    schema: SchemaRef,
    source: RowSource,
    /// A run of the statement that no reading has taken yet.
    unread: ProcessOwned<Mutex<Loan<RemainingRows>>>,
}

/// Runs one SELECT.
#[pyfunction]
#[pyo3(signature = (handle, statement, values=None, snapshot=None, files=false))]
pub(crate) fn sql(
    py: Python<'_>,
    handle: &Handle,
    statement: String,
    values: Option<Bound<'_, PyAny>>,
    snapshot: Option<String>,
    files: bool,
) -> PyResult<PyRows> {
    let (open, corpus) = (handle.open_corpus(py)?, handle.corpus(py)?);
    let mut query = SqlQuery::new(statement).files(files).parameters(parameters(values.as_ref())?);
    if let Some(snapshot) = snapshot {
        query = query.snapshot(snapshot);
    }
    let bound = BoundStatement {
        query,
        commit: corpus.view().commit().0,
        open: Arc::downgrade(open),
        path: open.absolute_path(),
        shards: open.absolute_shards(),
        corpus_options: open.options(),
    };
    let (schema, rows) = bound.run(py, corpus)?;
    let unread = ProcessOwned::new(Mutex::new(open.lend(rows)));
    Ok(PyRows { schema, source: RowSource::Statement(Box::new(bound)), unread })
}

impl PyRows {
    /// Rows that are in memory already.
    pub(crate) fn of(batch: RecordBatch) -> Self {
        let (schema, source) = (batch.schema(), RowSource::Batch(batch.clone()));
        let unread = ProcessOwned::new(Mutex::new(Loan::new(there(batch))));
        Self { schema, source, unread }
    }

    /// A run for one reading: the first one if it is still unread, otherwise a new one.
    fn begin(&self, py: Python<'_>) -> PyResult<RemainingRows> {
        let unread = self.unread.get(py)?.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(Some(rows)) = unread.try_take() {
            unread.put_back(None);
            return Ok(rows);
        }
        drop(unread);
        match &self.source {
            RowSource::Batch(batch) => Ok(there(batch.clone())),
            RowSource::Statement(bound) => Ok(bound.run(py, bound.corpus(py)?)?.1),
        }
    }

    fn lend(&self, rows: RemainingRows) -> Loan<RemainingRows> {
        match &self.source {
            RowSource::Statement(bound) => match bound.open.upgrade() {
                Some(open) => open.lend(rows),
                None => Loan::new(rows),
            },
            RowSource::Batch(_) => Loan::new(rows),
        }
    }

    /// Batches with at least the first `count` rows, which can still be read, and whether these are all rows.
    fn look_ahead(&self, py: Python<'_>, count: usize) -> PyResult<(Vec<RecordBatch>, bool)> {
        let mut left = self.begin(py)?;
        let (mut seen, mut rows, mut is_all) = (VecDeque::new(), 0, false);
        while rows < count && !is_all {
            let (batch, after) = left.next(py)?;
            left = after;
            is_all = batch.is_none();
            rows += batch.as_ref().map_or(0, RecordBatch::num_rows);
            seen.extend(batch);
        }
        let found = seen.iter().cloned().collect();
        seen.append(&mut left.ahead);
        left.ahead = seen;
        *self.unread.get(py)?.lock().unwrap_or_else(PoisonError::into_inner) = self.lend(left);
        Ok((found, is_all))
    }
}

#[pymethods]
impl PyRows {
    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The types of the columns, as Arrow names them.
    #[getter]
    fn types(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.data_type().to_string()).collect()
    }

    /// For each column, whether its whole numbers are amounts, which people read with commas.
    #[getter]
    fn amounts(&self) -> Vec<bool> {
        self.schema.fields().iter().map(|field| has_thousands(field)).collect()
    }

    /// Starts to read all rows as tuples.
    fn read(&self, py: Python<'_>) -> PyResult<RowReader> {
        let rows = self.begin(py)?;
        Ok(RowReader { rows: ProcessOwned::new(self.lend(rows)) })
    }

    /// Starts to read all rows as an Arrow stream, which keeps the error that ended it.
    fn stream(&self, py: Python<'_>) -> PyResult<RowStream> {
        let rows = self.begin(py)?;
        Ok(RowStream::new(Arc::clone(&self.schema), self.lend(rows)))
    }

    /// The first `count` rows as tuples.
    fn peek<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let (batches, _) = self.look_ahead(py, count)?;
        let mut rows = Vec::new();
        for batch in first(&batches, count) {
            rows.extend(tuples(py, &batch)?);
        }
        Ok(rows)
    }

    /// The first `count` rows as a text table at most `width` characters wide, as the command prints it, whether these
    /// are all rows, and whether a value is cut.
    fn show(&self, py: Python<'_>, count: usize, width: usize) -> PyResult<(String, bool, bool)> {
        let (batches, is_all) = self.look_ahead(py, count.saturating_add(1))?;
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let mut text = Vec::new();
        let mut printer = RowPrinter::new(PrintFormat::Table, &mut text).within(width);
        let mut printed = Ok(());
        if rows == 0 {
            printed = printer.empty(&self.schema);
        }
        for batch in first(&batches, count) {
            printed = printed.and_then(|()| printer.batch(&batch));
        }
        printed.and_then(|()| printer.finish()).map_err(|error| crate::error::raise(py, error))?;
        let is_cut = printer.has_cut();
        Ok((String::from_utf8_lossy(&text).into_owned(), is_all && rows <= count, is_cut))
    }

    /// The addresses of the buffers of each column of each batch that was read ahead. A reader of the stream sees the
    /// same addresses if nothing was copied.
    fn addresses(&self, py: Python<'_>) -> PyResult<Vec<Vec<Vec<usize>>>> {
        let (batches, _) = self.look_ahead(py, 1)?;
        let of = |column: &Arc<dyn Array>| {
            let data = column.to_data();
            data.buffers().iter().map(|buffer| buffer.as_ptr().addr()).collect()
        };
        Ok(batches.iter().map(|batch| batch.columns().iter().map(of).collect()).collect())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = PySchema::new(Arc::clone(&self.schema)).into_pyobject(py)?;
        Ok(schema.call_method0("__arrow_c_schema__")?.cast_into()?)
    }
}

/// One reading of rows, batch by batch.
#[pyclass(frozen, module = "corpusdb._native", name = "RowReader")]
pub(crate) struct RowReader {
    rows: ProcessOwned<Loan<RemainingRows>>,
}

#[pymethods]
impl RowReader {
    /// The next batch of rows as tuples; `None` at the end.
    fn next_rows<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyTuple>>>> {
        let place = self.rows.get(py)?;
        let Some(rows) = place.take(py, WHAT)? else { return Ok(None) };
        let (batch, left) = match rows.next(py) {
            Ok((Some(batch), left)) => (batch, left),
            Ok((None, _)) => {
                place.put_back(None);
                return Ok(None);
            }
            Err(error) => {
                place.put_back(None);
                return Err(error);
            }
        };
        place.put_back(Some(left));
        tuples(py, &batch).map(Some)
    }
}
