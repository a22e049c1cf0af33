//! The native handle of a corpus: one class for reading and writing, which belongs to one process.

use crate::blocking::{run_attended, run_briefly, run_detached, run_to_end};
use crate::error::named;
use crate::loan::{Loan, Loans};
use crate::parameters::parameters;
use crate::process::{ProcessOwned, refuse_forked};
use crate::words::tried;
use corpusdb::sql::DocumentFilter;
use corpusdb::{Context, Corpus, CorpusOptions, CorpusWriter, Error, parse_bytes};
use pyo3::prelude::*;
use serde::Serialize;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// How often a writing call checks whether another one has ended.
const PAUSE: Duration = Duration::from_millis(2);

/// How long closing waits for reading calls: of other threads, and those that a Ctrl-C left running.
const LEAVE: Duration = Duration::from_secs(10);

/// How long a purge waits for such calls before it leaves the old list of files in place.
const PATIENCE: Duration = Duration::from_secs(2);

/// The contents of a handle: the corpus at its present commit, and the writer of a writing handle.
pub(crate) struct OpenCorpus {
    path: PathBuf,
    /// The further corpora that epochs draw from.
    shards: Vec<PathBuf>,
    options: CorpusOptions,
    shown: Mutex<Option<Arc<CorpusMoment>>>,
    /// Earlier commits that the handle has shown and that may still be read.
    moments: Mutex<Vec<Weak<()>>>,
    /// Lent values that read a commit.
    loans: Loans,
    writer: Mutex<Option<CorpusWriter>>,
    /// Python threads with a call that writes or waits for writing.
    writing: Mutex<Vec<ThreadId>>,
    writes: bool,
}

/// A corpus at a commit.
pub(crate) struct CorpusMoment {
    corpus: Corpus,
    /// It goes when the corpus is closed: references to the moment are gone before, when it begins to be.
    _mark: Arc<()>,
}

/// A moment that no handle waits for.
impl From<Corpus> for CorpusMoment {
    fn from(corpus: Corpus) -> Self {
        Self { corpus, _mark: Arc::default() }
    }
}

impl Deref for CorpusMoment {
    type Target = Corpus;

    fn deref(&self) -> &Corpus {
        &self.corpus
    }
}

/// An open corpus. `corpusdb.Corpus` and `corpusdb.Writer` wrap it.
#[pyclass(frozen, module = "corpusdb._native", name = "Handle")]
pub(crate) struct Handle {
    open: ProcessOwned<Arc<OpenCorpus>>,
}

/// A size: a number of bytes, or text with a unit.
#[derive(FromPyObject)]
enum MemorySize {
    Number(i64),
    Text(String),
}

impl MemorySize {
    fn bytes(&self, py: Python<'_>) -> PyResult<u64> {
        let found = match self {
            Self::Number(number) => u64::try_from(*number).map_err(|_| {
                format!("`{number}` is not a size: write a number of bytes from 0 on")
            }),
            Self::Text(text) => parse_bytes(text),
        };
        found.map_err(|why| named(py, "BadInput", &format!("`memory=`: {why}")))
    }
}

/// The options that a corpus is opened with.
fn checked(
    py: Python<'_>,
    memory: Option<&MemorySize>,
    threads: Option<i64>,
) -> PyResult<CorpusOptions> {
    let mut options = Corpus::options();
    if let Some(memory) = memory {
        options = options.memory(memory.bytes(py)?);
    }
    if let Some(threads) = thread_count(py, threads)? {
        options = options.threads(threads);
    }
    Ok(options)
}

/// How many threads a caller asks for.
///
/// # Errors
/// `corpusdb.BadInput` outside of the range that the command has, too.
pub(crate) fn thread_count(py: Python<'_>, threads: Option<i64>) -> PyResult<Option<usize>> {
    let Some(asked) = threads else { return Ok(None) };
    match u16::try_from(asked) {
        Ok(threads) if threads > 0 => Ok(Some(threads.into())),
        _ => Err(named(py, "BadInput", &format!("`threads=`: {asked} is not in 1..65535"))),
    }
}

#[pymethods]
impl Handle {
    /// Opens the corpus at `path`, and the further corpora `shards`. `memory` (a number of bytes, or text) is for all
    /// of them together. `threads` is as in the library's options.
    #[new]
    #[pyo3(signature = (path, *, write, memory=None, threads=None, shards=Vec::new()))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        write: bool,
        memory: Option<MemorySize>,
        threads: Option<i64>,
        shards: Vec<PathBuf>,
    ) -> PyResult<Self> {
        let options = checked(py, memory.as_ref(), threads)?;
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

    /// Raises an error for options that no corpus can be opened with.
    #[staticmethod]
    #[pyo3(signature = (*, memory=None, threads=None))]
    fn check_options(
        py: Python<'_>,
        memory: Option<MemorySize>,
        threads: Option<i64>,
    ) -> PyResult<()> {
        checked(py, memory.as_ref(), threads).map(|_| ())
    }

    /// Closes the corpus. A second call has no effect, nor has a call in a forked child. Closing a writer drops unread
    /// values, so that the next writer can open the corpus.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(open) = self.open.mine() else { return Ok(()) };
        if lock(&open.writing).contains(&std::thread::current().id()) {
            return Err(busy(py));
        }
        while !py.detach(|| open.try_close()) {
            // Another thread is writing.
            py.detach(|| std::thread::sleep(PAUSE));
            py.check_signals()?;
        }
        let begun = Instant::now();
        let is_read = || open.is_read() || corpusdb::sql::has_left_statements();
        while open.writes && is_read() && begun.elapsed() < LEAVE {
            py.detach(|| std::thread::sleep(PAUSE));
            py.check_signals()?;
        }
        Ok(())
    }

    /// Whether it was closed.
    #[getter]
    fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.open.get(py)?.shown(py).is_none())
    }

    /// How many documents satisfy a condition; with a snapshot, only documents that it keeps are counted.
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
        let filter =
            DocumentFilter { condition, snapshot, parameters, ..DocumentFilter::default() };
        run_detached(py, None, move |context| {
            corpus.count(filter.with_interrupt(context.interrupt()))
        })
    }

    /// The number of the last commit, of stored documents, and of kept ones.
    fn counts(&self, py: Python<'_>) -> PyResult<(u64, u64, u64)> {
        let corpus = self.corpus(py)?;
        run_briefly(py, move || {
            let view = corpus.view();
            Ok((view.commit().0, view.documents(), view.kept()?.len()))
        })
    }
}

impl Handle {
    /// The corpus at the commit that the handle shows: the last one when it was opened, or the last that it wrote.
    pub(crate) fn corpus(&self, py: Python<'_>) -> PyResult<Arc<CorpusMoment>> {
        self.open.get(py)?.shown(py).ok_or_else(|| closed(py))
    }

    /// The open corpus, for values that may outlive the handle.
    pub(crate) fn open_corpus(&self, py: Python<'_>) -> PyResult<&Arc<OpenCorpus>> {
        self.open.get(py)
    }

    /// The options that the corpus was opened with.
    pub(crate) fn options(&self, py: Python<'_>) -> PyResult<CorpusOptions> {
        Ok(self.open.get(py)?.options)
    }

    /// Runs a writing call. Other writing threads wait; readers continue with the previous commit.
    pub(crate) fn write<T: Send>(
        &self,
        py: Python<'_>,
        listener: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&mut CorpusWriter, &Context<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        self.write_fed(py, listener, false, &mut |_, _| false, work)
    }

    /// Runs a writing call and returns its report as JSON text. With `dry_run` it runs on a copy of the corpus that is
    /// deleted afterwards.
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

    /// Like [`Handle::write`], while this thread does `meanwhile` (see [`run_attended`]). With `dry_run` it runs on a
    /// copy of the corpus that is deleted afterwards.
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
                // Other writing calls need not wait for a trial run.
                drop(slot);
                let mut writer = open.options.open_writer(twin.path())?;
                return work(&mut writer, context).map(Some);
            }
            let answer = work(writer, context);
            // Commits before an error are shown, too.
            open.show(writer.corpus());
            answer.map(Some)
        })
    }

    /// Closes the corpus and opens it again under its lock, then does `work`. Unread values are dropped. If a call of
    /// another thread is still reading, the corpus stays open, and the answer says so.
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

    /// Drops all lent values that read a commit.
    pub(crate) fn revoke_loans(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.get(py)?;
        py.detach(|| open.loans.revoke());
        Ok(())
    }

    /// Does `work` once no other call writes. An error if the corpus is closed.
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

/// Exclusive access to the writer, while no other call writes.
type WriterSlot<'a> = MutexGuard<'a, Option<CorpusWriter>>;

impl OpenCorpus {
    /// The corpus at the shown commit; `None` if it was closed.
    pub(crate) fn shown(&self, py: Python<'_>) -> Option<Arc<CorpusMoment>> {
        match self.shown.try_lock() {
            Ok(shown) => shown.clone(),
            // A purge opens the corpus again, and other threads may need the interpreter to release it.
            Err(_) => py.detach(|| lock(&self.shown).clone()),
        }
    }

    /// The absolute path of the corpus, so that the working directory may change.
    pub(crate) fn absolute_path(&self) -> PathBuf {
        absolute(&self.path)
    }

    /// The paths of the further corpora.
    pub(crate) fn absolute_shards(&self) -> Vec<PathBuf> {
        self.shards.iter().map(|shard| absolute(shard)).collect()
    }

    /// The options that the corpus was opened with.
    pub(crate) const fn options(&self) -> CorpusOptions {
        self.options
    }

    /// Lends a value that reads a commit of the corpus. Closing a writing handle drops it.
    pub(crate) fn lend<T: Send + 'static>(&self, value: T) -> Loan<T> {
        let loan = Loan::new(value);
        // Values of a reading handle do not hold the lock.
        if self.writes {
            self.loans.add(&loan);
        }
        loan
    }

    fn show(&self, corpus: Corpus) {
        *lock(&self.shown) = Some(self.moment(corpus));
    }

    /// The corpus at a commit, remembered as long as it may be read.
    fn moment(&self, corpus: Corpus) -> Arc<CorpusMoment> {
        let mark = Arc::new(());
        let mut moments = lock(&self.moments);
        moments.retain(|moment| moment.strong_count() > 0);
        moments.push(Arc::downgrade(&mark));
        Arc::new(CorpusMoment { corpus, _mark: mark })
    }

    /// Whether an earlier commit is still being read.
    fn is_read(&self) -> bool {
        lock(&self.moments).iter().any(|moment| moment.strong_count() > 0)
    }

    /// Closes the corpus and returns true, unless a call is writing.
    fn try_close(&self) -> bool {
        let mut writer = match self.writer.try_lock() {
            Ok(writer) => writer,
            Err(TryLockError::Poisoned(writer)) => writer.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        if self.writes {
            self.loans.revoke();
        }
        drop(writer.take());
        drop(lock(&self.shown).take());
        true
    }

    /// Opens the corpus again under its lock, and returns whether that was possible. An error leaves it closed.
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

    /// Waits until no other call writes; `None` if it was asked to stop before.
    fn turn(&self, context: &Context<'_>) -> Option<WriterSlot<'_>> {
        loop {
            match self.writer.try_lock() {
                Ok(slot) => return Some(slot),
                Err(TryLockError::Poisoned(slot)) => {
                    // A call panicked and may have left the writer inconsistent.
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
        // Lent values may outlive the handle, and must not hold the lock. Nobody else has it any more, so nobody writes.
        self.try_close();
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

fn closed(py: Python<'_>) -> PyErr {
    named(py, "Closed", "this corpus is closed: open it again")
}

fn busy(py: Python<'_>) -> PyErr {
    named(
        py,
        "CorpusError",
        "a writing call of this thread is still running: its iterator or progress function cannot write to the corpus \
         or close it",
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
