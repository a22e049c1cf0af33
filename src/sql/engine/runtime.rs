//! Runs asynchronous plans to their end for synchronous callers; the only file that starts tokio.
//!
//! The runtime lives on a thread of its own, so the functions of this layer may be called from anywhere; called within
//! another async runtime, they block its thread while they run.

use super::drivers::DriverThreads;
use crate::sql::error::SqlError;
use std::future::Future;
use std::sync::mpsc::Receiver;
use std::thread::{Builder, ScopedJoinHandle};
use std::time::Duration;

/// Planning recurses with the depth of the statement, which `nesting` bounds. Pages of the stack that it does not reach
/// take no memory.
const STACK: usize = 64 << 20;

/// How long a thread waits for the next statement.
const PATIENCE: Duration = Duration::from_secs(1);

static DRIVERS: DriverThreads = DriverThreads::new(PATIENCE);

/// The result of work that was started, to be received.
pub(crate) type RunningStatement<T> = Receiver<Result<T, SqlError>>;

/// Runs `work` on a current-thread runtime of its own thread while `meanwhile` runs here; gives both results.
pub(crate) fn drive<T, U>(
    work: impl Future<Output = Result<T, SqlError>> + Send,
    meanwhile: impl FnOnce() -> U,
) -> Result<(T, U), SqlError>
where
    T: Send,
{
    std::thread::scope(|scope| {
        let driver = thread().spawn_scoped(scope, move || to_end(work));
        let driver = driver.map_err(SqlError::Thread)?;
        let here = meanwhile();
        let there = finish(driver)?;
        Ok((there, here))
    })
}

/// Runs `work` to its end.
pub(crate) fn block_on<T: Send>(
    work: impl Future<Output = Result<T, SqlError>> + Send,
) -> Result<T, SqlError> {
    drive(work, || ()).map(|(done, ())| done)
}

/// Starts `work` on a runtime and a thread of its own; [`join`] waits for its end.
pub(crate) fn start<T: Send + 'static>(
    work: impl Future<Output = Result<T, SqlError>> + Send + 'static,
) -> Result<RunningStatement<T>, SqlError> {
    DRIVERS.start(thread(), move || to_end(work)).map_err(SqlError::Thread)
}

/// Waits for work that was started, and gives its result.
pub(crate) fn join<T>(driver: RunningStatement<T>) -> Result<T, SqlError> {
    driver.recv().unwrap_or(Err(SqlError::Panicked))
}

fn thread() -> Builder {
    Builder::new().name("corpusdb-query".to_owned()).stack_size(STACK)
}

fn to_end<T>(work: impl Future<Output = Result<T, SqlError>>) -> Result<T, SqlError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.map_err(SqlError::Thread)?.block_on(work)
}

fn finish<T>(driver: ScopedJoinHandle<'_, Result<T, SqlError>>) -> Result<T, SqlError> {
    driver.join().unwrap_or(Err(SqlError::Panicked))
}
