//! What every long operation is given besides its own arguments.

use super::progress::{Interrupt, Progress};

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
