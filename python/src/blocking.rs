//! Runs long calls without the interpreter's lock, reports progress to Python, and stops them at Ctrl-C.

use crate::error::raise;
use crate::process::run;
use corpusdb::{Context, Interrupt, Progress, ProgressTally};
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a waiting call checks for signals and reports progress.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// How long the interpreter waits at exit for calls that Ctrl-C left: longer than the engine needs for one batch.
const LEAVE: Duration = Duration::from_secs(10);

/// Time between two looks at statements that were left.
const PAUSE: Duration = Duration::from_millis(5);

/// The number of threads that read for calls, with those that a Ctrl-C left running.
static READING: ReaderThreads = ReaderThreads { threads: Mutex::new(0), ended: Condvar::new() };

struct ReaderThreads {
    threads: Mutex<usize>,
    ended: Condvar,
}

/// Counts a thread as long as it lives.
struct ReaderThreadGuard;

impl ReaderThreadGuard {
    fn new() -> Self {
        *READING.threads.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for ReaderThreadGuard {
    fn drop(&mut self) {
        *READING.threads.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        READING.ended.notify_all();
    }
}

/// Waits until no thread reads any more. The interpreter calls it at exit, because C++ libraries then destroy data that
/// threads may be using. A forked process does not have these threads.
#[pyfunction]
pub(crate) fn wait_for_reads(py: Python<'_>) {
    if crate::process::is_forked() {
        return;
    }
    py.detach(|| {
        let begun = Instant::now();
        let threads = READING.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = READING.ended.wait_timeout_while(threads, LEAVE, |threads| *threads > 0);
        // The library leaves a statement, too, that is within a call of a function.
        while corpusdb::sql::has_left_statements() && begun.elapsed() < LEAVE {
            std::thread::sleep(PAUSE);
        }
    });
}

/// The progress of a long call. The library writes it, the calling thread reports it to Python.
#[derive(Clone, Debug, Default)]
struct ProgressState {
    stage: String,
    total: Option<u64>,
    done: u64,
    tally: Option<ProgressTally>,
    notes: Vec<String>,
    changed: bool,
}

/// Keeps the library's progress until the calling thread reports it.
#[derive(Debug, Default)]
struct ProgressMailbox(Mutex<ProgressState>);

impl ProgressMailbox {
    fn change(&self, change: impl FnOnce(&mut ProgressState)) {
        let mut standing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut standing);
        standing.changed = true;
    }

    fn take(&self) -> Option<ProgressState> {
        let mut standing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let told = standing.changed.then(|| standing.clone());
        standing.changed = false;
        standing.notes.clear();
        told
    }
}

impl Progress for ProgressMailbox {
    fn begin(&self, stage: &str, total: Option<u64>) {
        self.change(|standing| {
            let notes = std::mem::take(&mut standing.notes);
            *standing =
                ProgressState { stage: stage.to_owned(), total, notes, ..ProgressState::default() };
        });
    }
    fn advance(&self, done: u64) {
        self.change(|standing| standing.done = done);
    }
    fn tally(&self, tally: &ProgressTally) {
        self.change(|standing| standing.tally = Some(*tally));
    }
    fn end(&self) {}
    fn note(&self, message: &str) {
        self.change(|standing| standing.notes.push(message.to_owned()));
    }
}

/// Runs a call that writes, or that must not be left running. After Ctrl-C it is asked to stop at its next safe point,
/// and this thread waits for it, so that the store is consistent and free when the exception is raised.
///
/// `listener` is called with (stage, done, total, tally, notes): the name of the stage, `done` of `total` in its unit,
/// `tally` as `None` or (input bytes, bytes, records, kept, duplicates), and `notes` for people.
pub(crate) fn run_to_end<T: Send>(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Context<'_>) -> Result<T, corpusdb::Error> + Send,
) -> PyResult<T> {
    run_attended(py, listener, &mut |_, _| false, work)
}

/// Like [`run_to_end`], while this thread calls `meanwhile` again and again. Its argument says whether the work was
/// stopped; it returns whether there is more to do at once. While it waits for the work, a call must not take longer
/// than a tick.
pub(crate) fn run_attended<T: Send>(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    meanwhile: &mut dyn FnMut(Python<'_>, bool) -> bool,
    work: impl FnOnce(&Context<'_>) -> Result<T, corpusdb::Error> + Send,
) -> PyResult<T> {
    let (kept, interrupt) = (ProgressMailbox::default(), Interrupt::default());
    let (sender, receiver) = channel();
    let mut stopped: Option<PyErr> = None;
    let result = std::thread::scope(|scope| {
        let (kept, flag) = (&kept, interrupt.clone());
        scope.spawn(move || {
            let context = Context::new().with_progress(kept).with_interrupt(&flag);
            sender.send(run(move || work(&context)))
        });
        // Only this thread reads the receiver, with and without the interpreter's lock.
        let receiver = Mutex::new(receiver);
        loop {
            let is_busy = meanwhile(py, stopped.is_some());
            let tick = if is_busy { Duration::ZERO } else { TICK };
            let waited = py.detach(|| {
                receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(tick)
            });
            match waited {
                Ok(result) => return Some(result),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let told = py.check_signals().and_then(|()| tell(listener, kept));
            if let Err(error) = told
                && stopped.is_none()
            {
                interrupt.raise();
                stopped = Some(error);
            }
        }
    });
    let told = if stopped.is_none() { tell(listener, &kept) } else { Ok(()) };
    match (stopped, result) {
        (Some(stopped), _) => Err(stopped),
        (None, Some(Ok(value))) => told.map(|()| value),
        (None, Some(Err(error))) => Err(raise(py, error)),
        (None, None) => Err(died()),
    }
}

/// Runs a call that only reads. After Ctrl-C it is left running, and its data is dropped when it ends.
pub(crate) fn run_detached<T: Send + 'static>(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Context<'_>) -> Result<T, corpusdb::Error> + Send + 'static,
) -> PyResult<T> {
    let (kept, interrupt) = (Arc::new(ProgressMailbox::default()), Interrupt::default());
    let (sender, receiver) = channel();
    let (theirs, flag) = (Arc::clone(&kept), interrupt.clone());
    let counted = ReaderThreadGuard::new();
    std::thread::Builder::new()
        .name("corpusdb read".to_owned())
        .spawn(move || {
            let _counted = counted;
            let context = Context::new().with_progress(theirs.as_ref()).with_interrupt(&flag);
            let _ = sender.send(run(move || work(&context)));
        })
        .map_err(|error| pyo3::exceptions::PyOSError::new_err(error.to_string()))?;
    let receiver = Mutex::new(receiver);
    loop {
        let waited = py
            .detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(TICK));
        match waited {
            Ok(Ok(value)) => return tell(listener, &kept).map(|()| value),
            Ok(Err(error)) => return Err(raise(py, error)),
            Err(RecvTimeoutError::Disconnected) => return Err(died()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(error) = py.check_signals().and_then(|()| tell(listener, &kept)) {
            interrupt.raise();
            return Err(error);
        }
    }
}

/// Runs a short call without the interpreter's lock.
pub(crate) fn run_briefly<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, corpusdb::Error> + Send,
) -> PyResult<T> {
    py.detach(|| run(work)).map_err(|error| raise(py, error))
}

fn tell(listener: Option<&Bound<'_, PyAny>>, kept: &ProgressMailbox) -> PyResult<()> {
    let (Some(listener), Some(standing)) = (listener, kept.take()) else { return Ok(()) };
    let ProgressState { stage, total, done, tally, notes, .. } = standing;
    let tally = tally.map(|tally| {
        let ProgressTally { input_bytes, bytes, records, kept, duplicates } = tally;
        (input_bytes, bytes, records, kept, duplicates)
    });
    listener.call1((stage, done, total, tally, notes)).map(|_| ())
}

/// The error for a thread that ended without an answer: it has panicked and printed a message.
fn died() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(
        "a thread of corpusdb failed unexpectedly (see its message above); please report it",
    )
}
