//! What every long operation is given besides its own arguments: whom it tells what it does, and what asks it to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a long operation runs: whom it tells what it does, what asks it to stop, and what it may take of the
/// machine. Nothing of it decides what is stored or exported.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Receives progress.
    pub progress: &'a dyn Progress,
    /// Asks for a stop.
    pub interrupt: &'a Interrupt,
    /// Threads of the pool that an ingest or an export starts for itself; 0: one a core. Everything else runs
    /// on the pool of its caller.
    pub threads: usize,
    /// Bytes that work in memory may take, as the corpus was opened with.
    pub memory: u64,
}

impl<'a> Context<'a> {
    /// One thread a core, and so many bytes of memory.
    #[must_use]
    pub fn new(progress: &'a dyn Progress, interrupt: &'a Interrupt, memory: u64) -> Self {
        Self { progress, interrupt, threads: 0, memory }
    }

    /// The same with so many threads; 0: one a core.
    #[must_use]
    pub const fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }
}

/// What an ingest has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgressTally {
    /// Bytes of input consumed, as stored in the files (compressed).
    pub input_bytes: u64,
    /// Bytes of text read from it.
    pub bytes: u64,
    /// Records read so far, bad ones included.
    pub records: u64,
    /// Documents kept so far.
    pub kept: u64,
    /// Documents removed as duplicates.
    pub duplicates: u64,
}

/// Receives progress; the library draws nothing itself.
pub trait Progress: Send + Sync {
    /// A stage begins; `total` is in the unit that [`Progress::advance`] counts, when known.
    fn begin(&self, stage: &str, total: Option<u64>);
    /// `done` of the stage's total are done.
    fn advance(&self, done: u64);
    /// What the ingest has done so far.
    fn tally(&self, tally: &ProgressTally);
    /// The operation is over: nothing of it need be shown any more.
    fn end(&self);
    /// Something a user should read, such as a fall-back that was taken.
    fn note(&self, message: &str);
}

/// A [`Progress`] that says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _stage: &str, _total: Option<u64>) {}
    fn advance(&self, _done: u64) {}
    fn tally(&self, _tally: &ProgressTally) {}
    fn end(&self) {}
    fn note(&self, _message: &str) {}
}

/// A flag that asks a long operation to stop at its next safe point.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    is_raised: Arc<AtomicBool>,
    /// Of whom it is a part.
    whole: Option<Arc<Interrupt>>,
}

impl Interrupt {
    /// Asks for the stop. Safe to call from a signal handler's thread.
    pub fn raise(&self) {
        self.is_raised.store(true, Ordering::SeqCst);
    }

    /// Whether a stop was asked for.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        let is_raised = self.is_raised.load(Ordering::SeqCst);
        is_raised || self.whole.as_ref().is_some_and(|whole| whole.is_raised())
    }

    /// A flag of a part of the operation: it can be raised alone, and is raised with this one.
    #[must_use]
    pub fn of_part(&self) -> Self {
        Self { is_raised: Arc::default(), whole: Some(Arc::new(self.clone())) }
    }
}
