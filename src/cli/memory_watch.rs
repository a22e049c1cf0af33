//! Watches the memory of the process while SQL is evaluated: ends statements that take too much of it.
//!
//! The engine's pool knows what sorts, joins and groups hold, and nothing of what one call of a function makes. Memory
//! of the whole process counts from the moment that a statement begins, less what its caller may keep of the answer, so
//! that neither what a verb holds already nor what it gathers from a statement is taken for the statement's. Conditions
//! on records that come in are watched while they are planned: ingest itself takes memory while they are asked.

use super::{causes, output};
use corpusdb::sql::{Evaluation, watch_evaluations};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// Time between two looks.
const TICK: Duration = Duration::from_millis(10);

/// Least bytes of a share.
const LEAST: u64 = 32 << 20;

/// Shares that a statement may take before it is stopped: the engine's pool and the store's cache have one each, and
/// batches on their way and what windows hold the third.
const STOP: u64 = 3;

/// Shares that a statement may take before the process is ended.
const END: u64 = 4;

/// How long the watch leaves the command to print an error.
const LAST_WORDS: Duration = Duration::from_secs(1);

static WATCH: OnceLock<MemoryWatch> = OnceLock::new();

/// Whether somebody prints the error that ends the command.
static ENDING: AtomicBool = AtomicBool::new(false);

struct MemoryWatch {
    share: u64,
    statements: Mutex<Vec<WatchedStatement>>,
    begun: Condvar,
    thread: OnceLock<()>,
}

/// A statement, and the memory of the process when it began.
struct WatchedStatement {
    evaluation: Weak<Evaluation>,
    start: u64,
}

/// Watches every statement of this process from now on, within shares of `memory`. Where the system does not tell the
/// memory of a process, nothing is watched.
pub(super) fn watch(memory: u64) {
    ENDING.store(false, Ordering::SeqCst);
    let share = (memory / 4).max(LEAST);
    let (statements, begun) = (Mutex::default(), Condvar::new());
    let watch = MemoryWatch { share, statements, begun, thread: OnceLock::new() };
    if anonymous().is_some() && WATCH.set(watch).is_ok() {
        watch_evaluations(note);
    }
}

fn note(evaluation: &Arc<Evaluation>) {
    let (Some(watch), Some(start)) = (WATCH.get(), anonymous()) else { return };
    watch.statements().push(WatchedStatement { evaluation: Arc::downgrade(evaluation), start });
    watch.begun.notify_one();
    watch.thread.get_or_init(|| {
        // Without a thread, statements are run unwatched, as in a program.
        let _ =
            std::thread::Builder::new().name("memory-watch".to_owned()).spawn(move || watch.run());
    });
}

impl MemoryWatch {
    fn statements(&self) -> MutexGuard<'_, Vec<WatchedStatement>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            let statements = self.statements();
            let waited = self.begun.wait_while(statements, |statements| statements.is_empty());
            let mut statements = waited.unwrap_or_else(PoisonError::into_inner);
            let (now, mut most) = (anonymous().unwrap_or(0), 0);
            statements.retain(|statement| {
                let taken = self.taken(statement, now);
                most = most.max(taken.unwrap_or(0));
                taken.is_some()
            });
            drop(statements);
            if most > self.share * END {
                end(most);
            }
            std::thread::sleep(TICK);
        }
    }

    /// Bytes that a statement has taken; none once it has ended. One that takes too many is stopped.
    fn taken(&self, statement: &WatchedStatement, now: u64) -> Option<u64> {
        let evaluation = statement.evaluation.upgrade()?;
        let taken = now.saturating_sub(statement.start).saturating_sub(evaluation.handed_bytes());
        if taken > self.share * STOP {
            evaluation.stop_for_memory(taken);
        }
        Some(taken)
    }
}

/// Ends the process: a call of a function that goes on cannot be ended otherwise.
fn end(taken: u64) -> ! {
    if ENDING.swap(true, Ordering::SeqCst) {
        // The command prints the error of the stop.
        std::thread::sleep(LAST_WORDS);
    } else {
        output::error(&causes(&anyhow::Error::new(Evaluation::memory_error(taken))), 2);
    }
    leave(2)
}

/// From now on the command prints its error, and the watch none; where the watch was first, it ends the process.
pub(super) fn claim_end() {
    while ENDING.swap(true, Ordering::SeqCst) {
        std::thread::park();
    }
}

/// Ends the process while threads of statements may run, which use what the C library would free at an ordinary exit.
/// What they spilled is removed.
pub(super) fn leave(code: u8) -> ! {
    for statement in WATCH.get().map(|watch| watch.statements()).iter().flat_map(|all| all.iter()) {
        let evaluation = statement.evaluation.upgrade();
        for directory in evaluation.iter().flat_map(|evaluation| evaluation.spill_directories()) {
            let _ = std::fs::remove_dir_all(directory);
        }
    }
    signal_hook::low_level::exit(code.into())
}

/// Bytes of memory that the process holds and that no file backs; none where the system does not tell.
fn anonymous() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}
