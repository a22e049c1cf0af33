//! Runs asynchronous plans to their end for synchronous callers, on threads that wait for the next; starts tokio.
//!
//! The runtime lives on a thread of its own, so the functions of this layer may be called from anywhere; called within
//! another async runtime, they block its thread while they run. A thread that has finished waits a moment for the next
//! statement: the pages of its stack are there already, and to get them costs more than many a statement takes.

use super::evaluation::{Evaluation, StatementStop};
use crate::sql::error::SqlError;
use model::Interrupt;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{Builder, ThreadId};
use std::time::Duration;

/// Planning recurses with the depth of the statement, which `size` bounds. Pages of the stack that it does not reach
/// take no memory.
const STACK: usize = 64 << 20;

/// How long a thread waits for the next statement.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a caller that waits looks whether a stop was requested.
const TICK: Duration = Duration::from_millis(10);

/// How long a caller that wants no more rows waits for the statement's end: most end within a batch.
const LEAVE: Duration = Duration::from_millis(20);

static DRIVERS: DriverThreads = DriverThreads::new(PATIENCE);

/// A statement that runs on a thread of its own.
pub(crate) struct RunningStatement<T> {
    outcome: Receiver<Result<T, SqlError>>,
    stop: StatementStop,
    evaluation: Weak<Evaluation>,
}

impl<T> RunningStatement<T> {
    /// The next thing that the statement sends; none when nothing more comes. A statement that is stopped is left: its
    /// thread goes on to the end of the call that it is in.
    pub(crate) fn next<S>(&self, from: &Receiver<S>) -> Result<Option<S>, SqlError> {
        loop {
            match from.recv_timeout(TICK) {
                Ok(sent) => return Ok(Some(sent)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => self.stop.check()?,
            }
        }
    }

    /// Waits for the end, as [`RunningStatement::next`] does, and gives the result.
    pub(crate) fn join(self) -> Result<T, SqlError> {
        self.next(&self.outcome)?.unwrap_or(Err(SqlError::Panicked))
    }

    /// Notes bytes that its rows take, which the caller may keep.
    pub(crate) fn hand_over(&self, bytes: usize) {
        if let Some(evaluation) = self.evaluation.upgrade() {
            evaluation.hand_over(bytes);
        }
    }

    /// Stops the statement. It has mostly ended then; what its thread still computes is dropped.
    pub(crate) fn leave(self) {
        self.stop.raise();
        let _ = self.outcome.recv_timeout(LEAVE);
    }
}

impl<T> Drop for RunningStatement<T> {
    fn drop(&mut self) {
        if let Some(evaluation) = self.evaluation.upgrade() {
            evaluation.leave();
        }
    }
}

/// Runs `work` to its end, on a current-thread runtime of its own thread.
pub(crate) fn block_on<T: Send>(
    work: impl Future<Output = Result<T, SqlError>> + Send,
) -> Result<T, SqlError> {
    let evaluation = Evaluation::begin(&Interrupt::default());
    std::thread::scope(|scope| {
        let driver = thread().spawn_scoped(scope, move || evaluation.run(|| to_end(work)));
        driver.map_err(SqlError::Thread)?.join().unwrap_or(Err(SqlError::Panicked))
    })
}

/// Starts `work` on a runtime and a thread of its own, until `interrupt` stops it.
pub(crate) fn start<T: Send + 'static>(
    interrupt: &Interrupt,
    work: impl Future<Output = Result<T, SqlError>> + Send + 'static,
) -> Result<RunningStatement<T>, SqlError> {
    let evaluation = Evaluation::begin(interrupt);
    let (stop, own) = (evaluation.stop().clone(), Arc::downgrade(&evaluation));
    let outcome = DRIVERS.start(thread(), move || evaluation.run(|| to_end(work)));
    Ok(RunningStatement { outcome: outcome.map_err(SqlError::Thread)?, stop, evaluation: own })
}

fn thread() -> Builder {
    Builder::new().name("corpusdb-query".to_owned()).stack_size(STACK)
}

fn to_end<T>(work: impl Future<Output = Result<T, SqlError>>) -> Result<T, SqlError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.map_err(SqlError::Thread)?.block_on(work)
}

/// Idle threads, at most. The stack of each is as large as the largest statement that it ran has made it.
const MOST: usize = 2;

/// Runs a statement, and returns a function that sends the outcome. By then the job has released everything else.
type DriverJob = Box<dyn FnOnce() -> DriverOutcome + Send>;
type DriverOutcome = Box<dyn FnOnce() + Send>;

struct DriverThreads {
    /// How long an idle thread waits.
    patience: Duration,
    /// The process that the threads belong to, set by the first start. A forked child has none of the threads, and
    /// perhaps a lock that nobody releases, so it starts threads of its own.
    process: AtomicU32,
    waiting: Mutex<Vec<IdleDriver>>,
}

struct IdleDriver {
    thread: ThreadId,
    jobs: Sender<DriverJob>,
}

impl DriverThreads {
    const fn new(patience: Duration) -> Self {
        Self { patience, process: AtomicU32::new(0), waiting: Mutex::new(Vec::new()) }
    }

    /// Starts `work` on an idle thread, or else on a new one of `threads`. The receiver gets its result once the job
    /// has released what it held, and nothing when `work` panics.
    fn start<T: Send + 'static>(
        &'static self,
        threads: Builder,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Receiver<T>> {
        let (tell, told) = sync_channel(1);
        let job = move || -> DriverOutcome {
            let done = work();
            Box::new(move || {
                let _ = tell.send(done);
            })
        };
        if let Some(job) = self.hand_over(Box::new(job)) {
            threads.spawn(move || self.drive(job))?;
        }
        Ok(told)
    }

    /// Gives a job to an idle thread; returns it when no thread is idle.
    fn hand_over(&self, job: DriverJob) -> Option<DriverJob> {
        if !self.is_own() {
            return Some(job);
        }
        let mut waiting = self.waiting();
        let mut job = job;
        while let Some(thread) = waiting.pop() {
            match thread.jobs.send(job) {
                Ok(()) => return None,
                Err(back) => job = back.0,
            }
        }
        Some(job)
    }

    fn is_own(&self) -> bool {
        let own = std::process::id();
        let known = self.process.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed);
        known.map_or_else(|known| known == own, |_| true)
    }

    /// Only for the process that the threads belong to.
    fn waiting(&self) -> MutexGuard<'_, Vec<IdleDriver>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drive(&self, first: DriverJob) {
        let (sender, jobs) = channel();
        let mut next = Some(first);
        while let Some(job) = next {
            let tell = job();
            // Before the outcome is sent: its receiver may have the next job at once.
            let waits = self.wait(&sender);
            tell();
            next = if waits { self.next(&jobs) } else { None };
        }
    }

    /// Registers this thread as idle, if there is room.
    fn wait(&self, jobs: &Sender<DriverJob>) -> bool {
        if !self.is_own() {
            return false;
        }
        let mut waiting = self.waiting();
        let has_room = waiting.len() < MOST;
        if has_room {
            waiting.push(IdleDriver { thread: std::thread::current().id(), jobs: jobs.clone() });
        }
        has_room
    }

    /// The next job; none when no job came within `patience`.
    fn next(&self, jobs: &Receiver<DriverJob>) -> Option<DriverJob> {
        if let Ok(job) = jobs.recv_timeout(self.patience) {
            return Some(job);
        }
        let own = std::thread::current().id();
        let mut waiting = self.waiting();
        waiting.retain(|it| it.thread != own);
        // Another thread may have handed a job over since; it does so under the lock.
        jobs.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::time::Instant;

    /// Longer than any machine keeps a test waiting.
    const HOUR: Duration = Duration::from_secs(3600);

    fn own() -> ThreadId {
        std::thread::current().id()
    }

    fn waiting(drivers: &DriverThreads) -> usize {
        drivers.waiting().len()
    }

    #[test]
    fn concurrent_work_gets_a_thread_each() {
        static DRIVERS: DriverThreads = DriverThreads::new(HOUR);
        let start = || DRIVERS.start(Builder::new(), own).unwrap();
        let first = start().recv().unwrap();
        for _ in 0..50 {
            assert_eq!(start().recv().unwrap(), first);
        }
        let (go, wait) = channel();
        let blocked = DRIVERS.start(Builder::new(), move || (wait.recv().unwrap(), own()).1);
        let blocked = blocked.unwrap();
        let others: Vec<_> = (0..5).map(|_| start()).collect();
        let others: HashSet<ThreadId> = others.iter().map(|it| it.recv().unwrap()).collect();
        go.send(()).unwrap();
        assert!(!others.contains(&blocked.recv().unwrap()));
        assert!(waiting(&DRIVERS) <= MOST);
    }

    #[test]
    fn work_that_panics_tells_nothing_and_its_thread_does_not_wait() {
        static DRIVERS: DriverThreads = DriverThreads::new(HOUR);
        let failed = DRIVERS.start(Builder::new(), || panic!("on purpose")).unwrap();
        assert!(failed.recv().is_err());
        assert_eq!(waiting(&DRIVERS), 0);
        DRIVERS.start(Builder::new(), own).unwrap().recv().unwrap();
        assert_eq!(waiting(&DRIVERS), 1);
    }

    #[test]
    fn a_thread_leaves_after_its_patience() {
        static DRIVERS: DriverThreads = DriverThreads::new(Duration::from_millis(50));
        let first = DRIVERS.start(Builder::new(), own).unwrap().recv().unwrap();
        let started = Instant::now();
        while waiting(&DRIVERS) > 0 && started.elapsed() < HOUR / 60 {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(waiting(&DRIVERS), 0);
        assert_ne!(DRIVERS.start(Builder::new(), own).unwrap().recv().unwrap(), first);
    }
}
