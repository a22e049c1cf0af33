//! The context of a long operation beside its arguments: progress reports, an interrupt, threads and memory.

use super::Interrupted;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// An interrupt that never comes.
static NEVER: LazyLock<Interrupt> = LazyLock::new(Interrupt::default);

/// The context of a long operation: where progress is reported, the interrupt, and the threads and memory that it may
/// take. It is the last argument of every long method, and decides nothing about what is stored or exported.
///
/// ```
/// # extern crate model as corpusdb;
/// use corpusdb::{Context, Interrupt};
/// let silent = Context::new();
/// let interrupt = Interrupt::default();
/// let stoppable = Context::new().with_interrupt(&interrupt).with_threads(2);
/// # let _ = (silent, stoppable);
/// ```
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Receives progress.
    #[doc(hidden)]
    pub progress: &'a dyn Progress,
    /// Asks for a stop.
    #[doc(hidden)]
    pub interrupt: &'a Interrupt,
    /// Threads of the pool that an ingest or an export starts for itself; 0: those of
    /// the handle. Everything else runs on the pool of its caller.
    #[doc(hidden)]
    pub threads: usize,
    /// Bytes that work in memory may take: a handle puts in what it was opened with.
    #[doc(hidden)]
    pub memory: u64,
}

/// Bytes of memory where no handle says how many.
const DEFAULT_MEMORY: u64 = 256 << 20;

impl Default for Context<'_> {
    fn default() -> Self {
        Self { progress: &NoProgress, interrupt: &NEVER, threads: 0, memory: DEFAULT_MEMORY }
    }
}

impl<'a> Context<'a> {
    /// One that says nothing, is never stopped, and takes the threads that the handle was opened with.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// This context, telling `progress` what is done.
    #[must_use]
    pub fn with_progress(self, progress: &'a dyn Progress) -> Self {
        Self { progress, ..self }
    }

    /// This context, for an operation that stops when `interrupt` asks for it.
    #[must_use]
    pub fn with_interrupt(self, interrupt: &'a Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// This context with `threads` threads; 0: those that the handle was opened with.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// This context with a handle's memory, and with its threads where the context names none.
    #[doc(hidden)]
    pub fn within(self, memory: u64, threads: usize) -> Self {
        let threads = if self.threads == 0 { threads } else { self.threads };
        Self { memory, threads, ..self }
    }

    /// This context with `memory` bytes of memory.
    #[doc(hidden)]
    pub fn with_memory(self, memory: u64) -> Self {
        Self { memory, ..self }
    }

    /// What asks for its stop.
    #[must_use]
    pub const fn interrupt(&self) -> &'a Interrupt {
        self.interrupt
    }

    /// Whether a stop was requested.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_raised()
    }

    /// An error once a stop was requested.
    #[doc(hidden)]
    pub fn check_interrupt(&self) -> Result<(), Interrupted> {
        self.interrupt.check()
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
    /// The interrupt that this one is a part of.
    whole: Option<Arc<Interrupt>>,
}

impl Interrupt {
    /// Asks for the stop. Safe to call from a signal handler's thread.
    pub fn raise(&self) {
        self.is_raised.store(true, Ordering::SeqCst);
    }

    /// Whether a stop was requested.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        let is_raised = self.is_raised.load(Ordering::SeqCst);
        is_raised || self.whole.as_ref().is_some_and(|whole| whole.is_raised())
    }

    /// An error once a stop was requested.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.is_raised() { Err(Interrupted::default()) } else { Ok(()) }
    }

    /// A flag of a part of the operation: it can be raised alone, and is raised with this one.
    #[must_use]
    pub fn of_part(&self) -> Self {
        Self { is_raised: Arc::default(), whole: Some(Arc::new(self.clone())) }
    }
}
