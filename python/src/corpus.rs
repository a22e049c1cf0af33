//! A corpus as Python holds it: one class for reading and writing, closed once, of one process.

use crate::blocking::{attended, or_leave, soon, to_the_end};
use crate::error::named;
use crate::process::{Owned, refuse_forked};
use crate::words::tried;
use corpusdb::query::DocumentFilter;
use corpusdb::store::DryRunCorpus;
use corpusdb::{Context, Corpus, CorpusOptions, CorpusWriter, Error};
use pyo3::prelude::*;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::ThreadId;
use std::time::Duration;

/// How long a call that writes waits before it looks again whether another one is done.
const PAUSE: Duration = Duration::from_millis(2);

/// What a handle holds: the moment that it shows, and the writer of one that writes.
struct Open {
    path: PathBuf,
    /// The corpora beside it whose documents its epochs draw from.
    shards: Vec<PathBuf>,
    options: CorpusOptions,
    shown: Mutex<Option<Arc<Corpus>>>,
    writer: Mutex<Option<CorpusWriter>>,
    /// The threads of Python with a call that writes, or waits to.
    writing: Mutex<Vec<ThreadId>>,
    writes: bool,
}

/// A corpus, opened. `corpusdb.Corpus` and `corpusdb.Writer` are made of it.
#[pyclass(frozen, module = "corpusdb._native", name = "Handle")]
pub(crate) struct Handle {
    open: Owned<Open>,
}

#[pymethods]
impl Handle {
    /// Opens the corpus at `path`, with those of `shards` beside it; `memory` in bytes, for all of them, and `threads`
    /// as the library's options have them.
    #[new]
    #[pyo3(signature = (path, *, write, memory=None, threads=None, shards=Vec::new()))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        write: bool,
        memory: Option<u64>,
        threads: Option<usize>,
        shards: Vec<PathBuf>,
    ) -> PyResult<Self> {
        let mut options = Corpus::options();
        if let Some(memory) = memory {
            options = options.memory(memory);
        }
        if let Some(threads) = threads {
            options = options.threads(threads);
        }
        if write {
            refuse_forked(py)?;
        }
        let open = to_the_end(py, None, move |_| {
            let (writer, corpus) = if write {
                let writer = options.open_writer_with(&path, &shards)?;
                let shown = writer.corpus();
                (Some(writer), shown)
            } else {
                (None, options.open_with(&path, &shards)?)
            };
            let (shown, writer) = (Mutex::new(Some(Arc::new(corpus))), Mutex::new(writer));
            Ok(Open {
                path,
                shards,
                options,
                shown,
                writer,
                writing: Mutex::default(),
                writes: write,
            })
        })?;
        Ok(Self { open: Owned::new(open) })
    }

    /// Gives everything back; again is nothing, nor in a child of the process that opened it. What was handed out
    /// before stays whole.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(open) = self.open.mine() else { return Ok(()) };
        if lock(&open.writing).contains(&std::thread::current().id()) {
            return Err(busy(py));
        }
        py.detach(|| {
            drop(lock(&open.writer).take());
            drop(lock(&open.shown).take());
        });
        Ok(())
    }

    /// Whether it was closed.
    #[getter]
    fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(lock(&self.open.get(py)?.shown).is_none())
    }

    /// Documents that satisfy a condition; of those that a snapshot keeps.
    #[pyo3(signature = (condition=None, snapshot=None))]
    fn count(
        &self,
        py: Python<'_>,
        condition: Option<String>,
        snapshot: Option<String>,
    ) -> PyResult<u64> {
        let corpus = self.corpus(py)?;
        let filter = DocumentFilter { condition, snapshot, source: None };
        or_leave(py, None, move |_| corpus.count(filter))
    }

    /// Number of the last commit, documents stored, and kept ones.
    fn counts(&self, py: Python<'_>) -> PyResult<(u64, u64, u64)> {
        let corpus = self.corpus(py)?;
        soon(py, move || {
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
        let shown = lock(&self.open.get(py)?.shown).clone();
        shown.ok_or_else(|| closed(py))
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
    /// `meanwhile` (see [`attended`]).
    ///
    /// # Errors
    /// As [`Handle::write`]; `corpusdb.CorpusError` for a dry run while something else reads through the handle.
    pub(crate) fn write_fed<T: Send>(
        &self,
        py: Python<'_>,
        listener: Option<&Bound<'_, PyAny>>,
        dry_run: bool,
        meanwhile: &mut dyn FnMut(Python<'_>, bool) -> bool,
        work: impl FnOnce(&mut CorpusWriter, &Context<'_>) -> Result<T, Error> + Send,
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
        let answer = attended(py, listener, meanwhile, |context| {
            let Some(mut slot) = open.turn(context) else { return Ok(Answer::Closed) };
            if slot.is_none() {
                return Ok(Answer::Closed);
            }
            if dry_run {
                open.on_twin(&mut slot, context, work)
            } else {
                open.on(&mut slot, context, work)
            }
        });
        lock(&open.writing).retain(|thread| *thread != caller);
        match answer? {
            Answer::Done(value) => Ok(value),
            Answer::Closed => Err(closed(py)),
            Answer::InUse => Err(named(
                py,
                "CorpusError",
                "a dry run needs the corpus for itself, and rows or duplicates that are not read to their end still read \
                 it: read them out or let go of them, or try it out with the command",
            )),
        }
    }
}

/// What came of a call that writes.
enum Answer<T> {
    Done(T),
    Closed,
    InUse,
}

impl Open {
    /// Waits until no other call writes; none when it was asked to stop before.
    fn turn(&self, context: &Context<'_>) -> Option<MutexGuard<'_, Option<CorpusWriter>>> {
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

    fn on<T>(
        &self,
        slot: &mut Option<CorpusWriter>,
        context: &Context<'_>,
        work: impl FnOnce(&mut CorpusWriter, &Context<'_>) -> Result<T, Error>,
    ) -> Result<Answer<T>, Error> {
        let Some(writer) = slot else { return Ok(Answer::Closed) };
        let answer = work(writer, context);
        // What was committed before an error is shown too.
        *lock(&self.shown) = Some(Arc::new(writer.corpus()));
        answer.map(Answer::Done)
    }

    /// The twin is made while nobody has the corpus open, so it is closed for a moment.
    fn on_twin<T>(
        &self,
        slot: &mut Option<CorpusWriter>,
        context: &Context<'_>,
        work: impl FnOnce(&mut CorpusWriter, &Context<'_>) -> Result<T, Error>,
    ) -> Result<Answer<T>, Error> {
        let mut shown = lock(&self.shown);
        if shown.as_ref().is_some_and(|corpus| Arc::strong_count(corpus) > 1) {
            return Ok(Answer::InUse);
        }
        drop(shown.take());
        drop(slot.take());
        let twin = DryRunCorpus::make(&self.path);
        let writer = self.options.open_writer_with(&self.path, &self.shards)?;
        *shown = Some(Arc::new(writer.corpus()));
        *slot = Some(writer);
        drop(shown);
        let twin = twin?;
        let mut writer = self.options.open_writer(twin.path())?;
        work(&mut writer, context).map(Answer::Done)
    }
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
