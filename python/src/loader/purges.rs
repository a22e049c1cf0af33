//! Notices that documents of a plan were purged while it is read.
//!
//! The view of a reader goes on showing purged documents, so the reader must ask.

use corpusdb::epoch::{EpochError, Plan};
use corpusdb::{Corpus, Error};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time between two looks for commits, at least.
const PAUSE: Duration = Duration::from_millis(10);

/// The pause after a look, as a multiple of the time that the look took. A writer beside a loader may commit all the
/// time, and the trainer waits for each look.
const LOOK_PAUSE: u32 = 20;

/// Memory for opening the corpus during a look.
const MEMORY: u64 = 8 << 20;

/// Looks for purges. Without new commits a look reads only the length of a file.
pub(super) struct PurgeWatch {
    /// The corpora of the plan, the first one first.
    corpora: Vec<PathBuf>,
    state: Mutex<WatchState>,
}

struct WatchState {
    /// The length of the journals at the last look without a purge.
    journals: Option<u64>,
    /// When to look again.
    next: Instant,
}

impl PurgeWatch {
    /// Must be made before the corpora are opened, which look for purges themselves: later ones are seen here.
    pub fn before_opening(corpora: Vec<PathBuf>) -> Self {
        let journals = Corpus::journal_bytes(&corpora).ok();
        Self { corpora, state: Mutex::new(WatchState { journals, next: Instant::now() + PAUSE }) }
    }

    /// Refuses a plan if any of its documents was purged since it was opened, as far as a look is due.
    ///
    /// # Errors
    /// As [`refuse_purged`](Self::refuse_purged).
    pub fn refuse_purged_if_due(&self, corpus: &Corpus, plan: &Plan) -> Result<(), Error> {
        let is_due = Instant::now() >= self.state().next;
        if is_due { self.refuse_purged(corpus, plan) } else { Ok(()) }
    }

    /// Refuses a plan if any of its documents was purged since it was opened.
    ///
    /// # Errors
    /// [`EpochError::Purged`], from then on at every look. A corpus that cannot be read now is looked at again later.
    pub fn refuse_purged(&self, corpus: &Corpus, plan: &Plan) -> Result<(), Error> {
        let mut state = self.state();
        let begun = Instant::now();
        state.next = begun + PAUSE;
        // Before the look, so that the next one sees commits that are made meanwhile.
        let Ok(journals) = Corpus::journal_bytes(&self.corpora) else { return Ok(()) };
        if state.journals == Some(journals) {
            return Ok(());
        }
        // If another folder stands at the path, it is another corpus.
        let looked = match corpus.is_in_place() {
            Ok(false) => Ok(()),
            _ => self.look(plan),
        };
        match looked {
            Err(error) if is_purge(&error) => {
                state.next = begun;
                return Err(error);
            }
            Err(_) => {}
            Ok(()) => state.journals = Some(journals),
        }
        let end = Instant::now();
        state.next = end + end.duration_since(begun) * LOOK_PAUSE;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, plan: &Plan) -> Result<(), Error> {
        let Some((first, shards)) = self.corpora.split_first() else { return Ok(()) };
        Corpus::options().memory(MEMORY).open_with(first, shards)?.refuse_purged(plan)
    }
}

fn is_purge(error: &Error) -> bool {
    matches!(error.origin::<EpochError>(), Some(EpochError::Purged { .. } | EpochError::Redacted))
}
