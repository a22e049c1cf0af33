//! Values that belong to one process.
//!
//! After a fork the child has a copy of every handle, but not its threads. Using the copy raises `corpusdb.Forked`. The
//! copy is never dropped, because dropping would wait for threads that do not exist.

use pyo3::prelude::*;
use rayon::ThreadPool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The process that used this module first. The background threads of libraries run in it.
static FIRST: OnceLock<u32> = OnceLock::new();

/// The thread pool of a child, with the id of its process.
static OWN: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Whether this process was forked from one that had used this module.
pub(crate) fn is_forked() -> bool {
    *FIRST.get_or_init(std::process::id) != std::process::id()
}

/// Runs work that may be done in parallel. A forked child does not have the global thread pool, so it gets a pool of
/// its own.
pub(crate) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match own_pool() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

fn own_pool() -> Option<Arc<ThreadPool>> {
    if !is_forked() {
        return None;
    }
    let process = std::process::id();
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, pool)) = &*own
        && *of == process
    {
        return Some(Arc::clone(pool));
    }
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().build().ok()?);
    // The pool of a parent is never dropped, because dropping waits for its threads.
    std::mem::forget(own.replace((process, Arc::clone(&pool))));
    Some(pool)
}

/// Raises an error in a forked child, which does not have the background threads that writing needs.
#[pyfunction]
pub(crate) fn refuse_forked(py: Python<'_>) -> PyResult<()> {
    if !is_forked() {
        return Ok(());
    }
    Err(crate::error::named(
        py,
        "Forked",
        "this process was forked from one that had a corpus open, so it can read, but not write: start it with `spawn` \
         or `forkserver` (multiprocessing.set_start_method)",
    ))
}

/// A value that only its own process may use.
pub(crate) struct ProcessOwned<T> {
    /// Always `Some` until the drop.
    value: Option<T>,
    process: u32,
}

impl<T> ProcessOwned<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Some(value), process: std::process::id() }
    }

    /// The value, in the process that made it; elsewhere `corpusdb.Forked`.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<&T> {
        self.mine().ok_or_else(|| {
            crate::error::named(
                py,
                "Forked",
                "this handle was opened before a fork, and its threads do not run in this process: open the corpus \
                 here, or start workers with `spawn` or `forkserver`",
            )
        })
    }

    /// The value, in the process that made it.
    pub(crate) fn mine(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| std::process::id() == self.process)
    }
}

impl<T> Drop for ProcessOwned<T> {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            std::mem::forget(self.value.take());
        }
    }
}
