//! A corpus as Python holds it: one class for reading and writing, closed once, of one process.

use crate::blocking::{run_attended, run_briefly, run_detached, run_to_end};
use crate::error::named;
use crate::loan::{Loan, Loans};
use crate::parameters::parameters;
use crate::process::{ProcessOwned, refuse_forked};
use crate::words::tried;
use corpusdb::query::DocumentFilter;
use corpusdb::{Context, Corpus, CorpusOptions, CorpusWriter, Error, parse_bytes};
use pyo3::prelude::*;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// How long a call that writes waits before it looks again whether another one is done.
const PAUSE: Duration = Duration::from_millis(2);

/// How long closing waits for calls of other threads that read, and for those that a Ctrl-C left to end by themselves.
const LEAVE: Duration = Duration::from_secs(10);

/// How long a purge waits for such calls before it leaves the list of files as it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a handle holds: the moment that it shows, and the writer of one that writes.
pub(crate) struct OpenCorpus {
    path: PathBuf,
    /// The corpora beside it whose documents its epochs draw from.
    shards: Vec<PathBuf>,
    options: CorpusOptions,
    shown: Mutex<Option<Arc<Corpus>>>,
    /// Every moment that was shown and that somebody may still read.
    moments: Mutex<Vec<Weak<Corpus>>>,
    /// What was handed out and reads a moment.
    loans: Loans,
    writer: Mutex<Option<CorpusWriter>>,
    /// The threads of Python with a call that writes, or waits to.
    writing: Mutex<Vec<ThreadId>>,
    writes: bool,
}

/// A corpus, opened. `corpusdb.Corpus` and `corpusdb.Writer` are made of it.
#[pyclass(frozen, module = "corpusdb._native", name = "Handle")]
pub(crate) struct Handle {
    open: ProcessOwned<Arc<OpenCorpus>>,
}

/// Bytes: a number of them, or a text with a unit.
#[derive(FromPyObject)]
enum MemorySize {
    Number(i64),
    Text(String),
}

impl MemorySize {
    fn bytes(&self, py: Python<'_>) -> PyResult<u64> {
        let found = match self {
            Self::Number(number) => u64::try_from(*number).map_err(|_| {
                format!("`{number}` is not a size; write a number of bytes from 0 on")
            }),
            Self::Text(text) => parse_bytes(text),
        };
        found.map_err(|why| named(py, "BadInput", &format!("`memory=`: {why}")))
    }
}

#[pymethods]
impl Handle {
    /// Opens the corpus at `path`, with those of `shards` beside it; `memory` as a number of bytes or as text, for all of them, and `threads`
    /// as the library's options have them.
    #[new]
    #[pyo3(signature = (path, *, write, memory=None, threads=None, shards=Vec::new()))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        write: bool,
        memory: Option<MemorySize>,
        threads: Option<usize>,
        shards: Vec<PathBuf>,
    ) -> PyResult<Self> {
        let mut options = Corpus::options();
        if let Some(memory) = memory {
            options = options.memory(memory.bytes(py)?);
        }
        if let Some(threads) = threads {
            options = options.threads(threads);
        }
        if write {
            refuse_forked(py)?;
        }
        let open = run_to_end(py, None, move |_| {
            let (writer, corpus) = if write {
                let writer = options.open_writer_with(&path, &shards)?;
                let shown = writer.corpus();
                (Some(writer), shown)
            } else {
                (None, options.open_with(&path, &shards)?)
            };
            let open = OpenCorpus {
                path,
                shards,
                options,
                shown: Mutex::default(),
                moments: Mutex::default(),
                loans: Loans::default(),
                writer: Mutex::new(writer),
                writing: Mutex::default(),
                writes: write,
            };
            open.show(corpus);
            Ok(open)
        })?;
        Ok(Self { open: ProcessOwned::new(Arc::new(open)) })
    }

    /// Gives everything back; again is nothing, nor in a child of the process that opened it. When a writer is closed,
    /// what was handed out and not read is given up, so that the next one can open the corpus.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(open) = self.open.mine() else { return Ok(()) };
        if lock(&open.writing).contains(&std::thread::current().id()) {
            return Err(busy(py));
        }
        py.detach(|| open.close());
        let begun = Instant::now();
        while open.writes && open.is_read() && begun.elapsed() < LEAVE {
            py.detach(|| std::thread::sleep(PAUSE));
            py.check_signals()?;
        }
        Ok(())
    }

    /// Whether it was closed.
    #[getter]
    fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(lock(&self.open.get(py)?.shown).is_none())
    }

    /// Documents that satisfy a condition; of those that a snapshot keeps.
    #[pyo3(signature = (condition=None, values=None, snapshot=None))]
    fn count(
        &self,
        py: Python<'_>,
        condition: Option<String>,
        values: Option<Bound<'_, PyAny>>,
        snapshot: Option<String>,
    ) -> PyResult<u64> {
        let corpus = self.corpus(py)?;
        let parameters = parameters(values.as_ref())?;
        let filter = DocumentFilter { condition, snapshot, parameters, source: None };
        run_detached(py, None, move |_| corpus.count(filter))
    }

    /// Number of the last commit, documents stored, and kept ones.
    fn counts(&self, py: Python<'_>) -> PyResult<(u64, u64, u64)> {
        let corpus = self.corpus(py)?;
        run_briefly(py, move || {
            let view = corpus.view();
            Ok((view.commit().0, view.documents(), view.kept()?.len()))
        })
    }
}

impl Handle {
    /// The moment that the handle shows: the last commit when it was opened, or that it wrote.
    ///
    /// # Errors
    /// `corpusdb.Closed`, `corpusdb.Forked`.
    pub(crate) fn corpus(&self, py: Python<'_>) -> PyResult<Arc<Corpus>> {
        self.open.get(py)?.shown(py).ok_or_else(|| closed(py))
    }

    /// What it has open, for values that may outlive it.
    ///
    /// # Errors
    /// `corpusdb.Forked`.
    pub(crate) fn open_corpus(&self, py: Python<'_>) -> PyResult<&Arc<OpenCorpus>> {
        self.open.get(py)
    }

    /// What the corpus was opened with.
    ///
    /// # Errors
    /// `corpusdb.Forked`.
    pub(crate) fn options(&self, py: Python<'_>) -> PyResult<CorpusOptions> {
        Ok(self.open.get(py)?.options)
    }

    /// Runs what writes. Another thread that writes waits; readers go on with the commit before.
    ///
    /// # Errors
    /// As [`Handle::corpus`]; `corpusdb.ReadOnly` for a handle that reads.
    pub(crate) fn write<T: Send>(
        &self,
        py: Python<'_>,
        listener: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&mut CorpusWriter, &Context<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        self.write_fed(py, listener, false, &mut |_, _| false, work)
    }

    /// Runs what writes and reports, with `dry_run` on a twin of the corpus that is thrown away; the report as JSON
    /// text.
    ///
    /// # Errors
    /// As [`Handle::write_fed`].
    pub(crate) fn report<T: Serialize + Send>(
        &self,
        py: Python<'_>,
        listener: Option<&Bound<'_, PyAny>>,
        dry_run: bool,
        work: impl FnOnce(&mut CorpusWriter, &Context<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<String> {
        let report = self.write_fed(py, listener, dry_run, &mut |_, _| false, work)?;
        tried(py, &report, dry_run)
    }

    /// As [`Handle::write`], with `dry_run` on a twin of the corpus that is thrown away, while this thread does
    /// `meanwhile` (see [`run_attended`]).
    ///
    /// # Errors
    /// As [`Handle::write`].
    pub(crate) fn write_fed<T: Send>(
        &self,
        py: Python<'_>,
        listener: Option<&Bound<'_, PyAny>>,
        dry_run: bool,
        meanwhile: &mut dyn FnMut(Python<'_>, bool) -> bool,
        work: impl FnOnce(&mut CorpusWriter, &Context<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        self.take_turn(py, listener, meanwhile, |open, mut slot, context| {
            let Some(writer) = &mut *slot else { return Ok(None) };
            if dry_run {
                let twin = writer.dry_run_copy()?;
                // Nobody waits for what is only tried.
                drop(slot);
                let mut writer = open.options.open_writer(twin.path())?;
                return work(&mut writer, context).map(Some);
            }
            let answer = work(writer, context);
            // What was committed before an error is shown too.
            open.show(writer.corpus());
            answer.map(Some)
        })
    }

    /// Lets go of the corpus and opens it again under its lock, then does `work`. What was handed out and not read is
    /// given up. Where a call of another thread goes on reading, the corpus stays open, and the answer says so.
    ///
    /// # Errors
    /// As [`Handle::write`].
    pub(crate) fn reopen<T: Send>(
        &self,
        py: Python<'_>,
        listener: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&mut CorpusWriter, bool, &Context<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        self.take_turn(py, listener, &mut |_, _| false, |open, mut slot, context| {
            let is_new = open.reopen(&mut slot, context)?;
            let Some(writer) = &mut *slot else { return Ok(None) };
            work(writer, is_new, context).map(Some)
        })
    }

    /// Gives up what was handed out and reads a moment.
    ///
    /// # Errors
    /// `corpusdb.Forked`.
    pub(crate) fn revoke_loans(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.get(py)?;
        py.detach(|| open.loans.revoke());
        Ok(())
    }

    /// Does `work` once no other call writes; none of it when the corpus is closed.
    fn take_turn<T: Send>(
        &self,
        py: Python<'_>,
        listener: Option<&Bound<'_, PyAny>>,
        meanwhile: &mut dyn FnMut(Python<'_>, bool) -> bool,
        work: impl FnOnce(&OpenCorpus, WriterSlot<'_>, &Context<'_>) -> Result<Option<T>, Error> + Send,
    ) -> PyResult<T> {
        let open = self.open.get(py)?;
        if !open.writes {
            let way_out = "this corpus is open for reading: open it with mode=\"w\" to write";
            return Err(named(py, "ReadOnly", way_out));
        }
        let caller = std::thread::current().id();
        let mut writing = lock(&open.writing);
        if writing.contains(&caller) {
            return Err(busy(py));
        }
        writing.push(caller);
        drop(writing);
        let answer = run_attended(py, listener, meanwhile, |context| match open.turn(context) {
            Some(slot) => work(open, slot, context),
            None => Ok(None),
        });
        lock(&open.writing).retain(|thread| *thread != caller);
        answer?.ok_or_else(|| closed(py))
    }
}

/// The place of the writer, while no other call writes.
type WriterSlot<'a> = MutexGuard<'a, Option<CorpusWriter>>;

impl OpenCorpus {
    /// The moment that is shown; none when it was closed.
    pub(crate) fn shown(&self, py: Python<'_>) -> Option<Arc<Corpus>> {
        match self.shown.try_lock() {
            Ok(shown) => shown.clone(),
            // A purge opens the corpus again, and other threads may need the interpreter to let go of it.
            Err(_) => py.detach(|| lock(&self.shown).clone()),
        }
    }

    /// Where it lies, whatever the working directory becomes.
    pub(crate) fn absolute_path(&self) -> PathBuf {
        absolute(&self.path)
    }

    /// Where the corpora beside it lie.
    pub(crate) fn absolute_shards(&self) -> Vec<PathBuf> {
        self.shards.iter().map(|shard| absolute(shard)).collect()
    }

    /// What it was opened with.
    pub(crate) const fn options(&self) -> CorpusOptions {
        self.options
    }

    /// A value that reads a moment of the corpus: given up with the corpus where that is written.
    pub(crate) fn lend<T: Send + 'static>(&self, value: T) -> Loan<T> {
        let loan = Loan::new(value);
        // Those of a reader keep nobody out.
        if self.writes {
            self.loans.add(&loan);
        }
        loan
    }

    fn show(&self, corpus: Corpus) {
        *lock(&self.shown) = Some(self.moment(corpus));
    }

    /// A moment, noted as long as somebody reads it.
    fn moment(&self, corpus: Corpus) -> Arc<Corpus> {
        let corpus = Arc::new(corpus);
        let mut moments = lock(&self.moments);
        moments.retain(|moment| moment.strong_count() > 0);
        moments.push(Arc::downgrade(&corpus));
        corpus
    }

    /// Whether somebody reads a moment that was shown.
    fn is_read(&self) -> bool {
        lock(&self.moments).iter().any(|moment| moment.strong_count() > 0)
    }

    fn close(&self) {
        if self.writes {
            self.loans.revoke();
        }
        drop(lock(&self.writer).take());
        drop(lock(&self.shown).take());
    }

    /// Opens the corpus again under its lock; whether that was possible. An error leaves it closed.
    fn reopen(&self, slot: &mut WriterSlot<'_>, context: &Context<'_>) -> Result<bool, Error> {
        let mut shown = lock(&self.shown);
        self.loans.revoke();
        drop(shown.take());
        let begun = Instant::now();
        while self.is_read() && begun.elapsed() < PATIENCE && !context.is_interrupted() {
            std::thread::sleep(PAUSE);
        }
        let is_free = !self.is_read();
        let writer = match slot.take() {
            Some(writer) if is_free => Some(writer.reopen()?),
            other => other,
        };
        *shown = writer.as_ref().map(|writer| self.moment(writer.corpus()));
        **slot = writer;
        Ok(is_free)
    }

    /// Waits until no other call writes; none when it was asked to stop before.
    fn turn(&self, context: &Context<'_>) -> Option<WriterSlot<'_>> {
        loop {
            match self.writer.try_lock() {
                Ok(slot) => return Some(slot),
                Err(TryLockError::Poisoned(slot)) => {
                    // A call that panicked left it in the midst of something.
                    let mut slot = slot.into_inner();
                    drop(slot.take());
                    return Some(slot);
                }
                Err(TryLockError::WouldBlock) if context.is_interrupted() => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            }
        }
    }
}

impl Drop for OpenCorpus {
    fn drop(&mut self) {
        // What was handed out may outlive the handle, and must not keep the lock.
        self.close();
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

fn closed(py: Python<'_>) -> PyErr {
    named(py, "Closed", "this corpus is closed; open it again")
}

fn busy(py: Python<'_>) -> PyErr {
    named(
        py,
        "CorpusError",
        "this corpus is being written by the very call that asked for this: what it iterates over cannot write to it or \
         close it",
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
