//! Statements that are evaluated now: what stops each, how long it may be planned, and who watches its memory.
//!
//! The engine's state is shared by the statements of a view, so what belongs to one is known to its thread: planning
//! runs there, and asks at each of its steps.

use crate::sql::error::SqlError;
use datafusion::execution::disk_manager::DiskManager;
use model::{Error, Interrupt};
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// How long a statement may be planned: those that [`crate::sql::syntax`] lets through take milliseconds, and some rules
/// of the engine are not linear.
const PLANNING: Duration = Duration::from_secs(20);

/// What callers keep of a byte that was handed to them, at most: vectors that grow, texts with their lengths.
const KEPT: u64 = 4;

/// Evaluations that their callers have left and that have not ended.
static LEFT: AtomicUsize = AtomicUsize::new(0);
static WATCH: OnceLock<EvaluationWatch> = OnceLock::new();

thread_local! {
    static CURRENT: RefCell<Option<Arc<Evaluation>>> = const { RefCell::new(None) };
}

/// Called as an evaluation begins, before it takes any memory. It ends when nobody holds it any more.
pub type EvaluationWatch = fn(&Arc<Evaluation>);

/// Sets who watches the evaluations of this process: for a program whose memory is that of its statements. The first
/// watch stays.
pub fn watch_evaluations(watch: EvaluationWatch) {
    let _ = WATCH.set(watch);
}

/// Whether a statement that its caller has left still reads: it ends with the call of a function that it is in.
#[must_use]
pub fn has_left_statements() -> bool {
    LEFT.load(Ordering::SeqCst) > 0
}

/// One statement that is evaluated, or what is planned of it.
#[derive(Debug)]
pub struct Evaluation {
    stop: StatementStop,
    begun: Instant,
    /// Bytes that the statement's caller may keep of what it was handed.
    handed: AtomicU64,
    spills: OnceLock<Weak<DiskManager>>,
    is_left: AtomicBool,
}

impl Evaluation {
    /// Begins one; `interrupt` stops it.
    pub(super) fn begin(interrupt: &Interrupt) -> Arc<Self> {
        let evaluation = Arc::new(Self {
            stop: StatementStop { interrupt: interrupt.of_part(), excess: Arc::default() },
            begun: Instant::now(),
            handed: AtomicU64::new(0),
            spills: OnceLock::new(),
            is_left: AtomicBool::new(false),
        });
        if let Some(watch) = WATCH.get() {
            watch(&evaluation);
        }
        evaluation
    }

    pub(super) const fn stop(&self) -> &StatementStop {
        &self.stop
    }

    /// Runs `work` as the current evaluation of this thread.
    pub(super) fn run<T>(self: Arc<Self>, work: impl FnOnce() -> T) -> T {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                CURRENT.set(None);
            }
        }
        CURRENT.set(Some(self));
        let _reset = Reset;
        work()
    }

    /// Notes that nobody waits for the statement any more.
    pub(super) fn leave(&self) {
        if !self.is_left.swap(true, Ordering::SeqCst) {
            LEFT.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Notes bytes that were handed to the caller, who may keep them.
    pub(super) fn hand_over(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(KEPT);
        self.handed.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes that the statement's caller may keep: they are not the statement's.
    #[must_use]
    pub fn handed_bytes(&self) -> u64 {
        self.handed.load(Ordering::Relaxed)
    }

    /// Stops the statement at its next step: it has taken so many bytes. A call of a function goes on to its end.
    pub fn stop_for_memory(&self, bytes: u64) {
        let _ = self.stop.excess.set(bytes);
    }

    /// The error of a statement that has taken so many bytes.
    #[must_use]
    pub fn memory_error(bytes: u64) -> Error {
        excess(bytes).into()
    }

    /// The directories of what the statement has spilled: a process that is ended must remove them.
    #[must_use]
    pub fn spill_directories(&self) -> Vec<PathBuf> {
        let spills = self.spills.get().and_then(Weak::upgrade);
        spills.map_or_else(Vec::new, |spills| spills.temp_dir_paths())
    }
}

impl Drop for Evaluation {
    fn drop(&mut self) {
        if self.is_left.load(Ordering::SeqCst) {
            LEFT.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Notes where the current evaluation spills; gives what stops it.
pub(in crate::sql) fn executing(spills: &Arc<DiskManager>) -> StatementStop {
    CURRENT.with_borrow(|current| {
        current.as_ref().map_or_else(StatementStop::default, |evaluation| {
            let _ = evaluation.spills.set(Arc::downgrade(spills));
            evaluation.stop.clone()
        })
    })
}

/// An error where the planning that runs on this thread is to end.
pub(in crate::sql) fn check_planning() -> Result<(), SqlError> {
    CURRENT.with_borrow(|current| {
        let Some(evaluation) = current else { return Ok(()) };
        evaluation.stop.check()?;
        if evaluation.begun.elapsed() > PLANNING {
            let seconds = PLANNING.as_secs();
            let why = format!(
                "planning takes longer than {seconds} s: write it with fewer tables and operators"
            );
            return Err(SqlError::Run { why });
        }
        Ok(())
    })
}

/// What stops a statement: its caller, who may have dropped its rows, or the watch of memory.
#[derive(Clone, Debug, Default)]
pub(in crate::sql) struct StatementStop {
    interrupt: Interrupt,
    excess: Arc<OnceLock<u64>>,
}

impl StatementStop {
    /// Stops this statement alone.
    pub(super) fn raise(&self) {
        self.interrupt.raise();
    }

    /// An error once a stop was requested.
    pub(in crate::sql) fn check(&self) -> Result<(), SqlError> {
        match self.excess.get() {
            Some(bytes) => Err(excess(*bytes)),
            None => Ok(self.interrupt.check()?),
        }
    }
}

fn excess(bytes: u64) -> SqlError {
    let why = format!(
        "it has taken {} MiB, more than `memory=` leaves to a statement; give more, or make fewer or shorter values at a time",
        bytes >> 20
    );
    SqlError::Run { why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planning_ends_when_it_is_stopped_or_takes_long() {
        let ending = |evaluation: Arc<Evaluation>| evaluation.run(check_planning).err();
        assert!(check_planning().is_ok(), "this thread evaluates nothing");
        let interrupt = Interrupt::default();
        assert!(ending(Evaluation::begin(&interrupt)).is_none());
        let mut late = Arc::into_inner(Evaluation::begin(&interrupt)).unwrap();
        late.begun = late.begun.checked_sub(PLANNING + Duration::from_secs(1)).unwrap();
        assert!(ending(Arc::new(late)).unwrap().to_string().contains("longer than 20 s"));
        let heavy = Evaluation::begin(&interrupt);
        heavy.stop_for_memory(300 << 20);
        let told = ending(heavy).unwrap().to_string();
        assert!(told.contains("300 MiB") && told.contains("`memory=`"), "{told}");
        interrupt.raise();
        let stopped = ending(Evaluation::begin(&interrupt)).unwrap();
        assert!(matches!(stopped, SqlError::Interrupted(_)), "{stopped}");
        assert!(check_planning().is_ok());
    }
}
