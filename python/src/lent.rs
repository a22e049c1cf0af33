//! What a handle has handed out that still reads the corpus: given up when a handle that writes is closed, so that the
//! lock is free whatever is held.

use crate::error::named;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A value that reads the corpus. Whoever works with it takes it and puts it back.
pub(crate) struct Lent<T>(Arc<LentSlot<T>>);

struct LentSlot<T>(Mutex<LentState<T>>);

enum LentState<T> {
    Here(T),
    /// Somebody works with it.
    Taken,
    /// It was used up.
    Ended,
    /// Its handle was closed.
    GivenUp,
}

/// What can be given up, of whatever type.
pub(crate) trait GiveUp: Send + Sync {
    /// Drops the value, or has it dropped by who works with it.
    fn give_up(&self);
}

impl<T: Send> GiveUp for LentSlot<T> {
    fn give_up(&self) {
        let mut state = lock(&self.0);
        if matches!(*state, LentState::Ended) {
            return;
        }
        let before = std::mem::replace(&mut *state, LentState::GivenUp);
        drop(state);
        // Not under its lock: a statement ends with the batch that it is at.
        drop(before);
    }
}

impl<T: Send + 'static> Lent<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(LentSlot(Mutex::new(LentState::Here(value)))))
    }

    /// What the handle gives up when it is closed.
    pub(crate) fn revocable(&self) -> Weak<dyn GiveUp> {
        let slot: Arc<dyn GiveUp> = Arc::clone(&self.0) as Arc<dyn GiveUp>;
        Arc::downgrade(&slot)
    }

    /// The value, to be put back; none when it was used up.
    ///
    /// # Errors
    /// `corpusdb.Closed` when the handle was closed; `corpusdb.CorpusError` while another thread works with it.
    pub(crate) fn take(&self, py: Python<'_>, what: &str) -> PyResult<Option<T>> {
        match self.try_take() {
            Ok(value) => Ok(value),
            Err(NotHere::GivenUp) => {
                let why = format!(
                    "{what} were left when the corpus was closed: read them before, or open it again"
                );
                Err(named(py, "Closed", &why))
            }
            Err(NotHere::Taken) => {
                let why = format!("{what} are being read by another thread");
                Err(named(py, "CorpusError", &why))
            }
        }
    }

    /// As [`Lent::take`], for who has no interpreter.
    pub(crate) fn try_take(&self) -> Result<Option<T>, NotHere> {
        let mut state = lock(&self.0.0);
        match std::mem::replace(&mut *state, LentState::Taken) {
            LentState::Here(value) => Ok(Some(value)),
            LentState::Taken => Err(NotHere::Taken),
            LentState::Ended => {
                *state = LentState::Ended;
                Ok(None)
            }
            LentState::GivenUp => {
                *state = LentState::GivenUp;
                Err(NotHere::GivenUp)
            }
        }
    }

    /// Puts the value back, or what is left of it; drops it when the handle was closed meanwhile.
    pub(crate) fn put_back(&self, value: Option<T>) {
        let mut state = lock(&self.0.0);
        if matches!(*state, LentState::GivenUp) {
            drop(state);
            drop(value);
        } else {
            *state = value.map_or(LentState::Ended, LentState::Here);
        }
    }
}

/// Why a value cannot be taken.
pub(crate) enum NotHere {
    Taken,
    GivenUp,
}

/// All that a handle has handed out.
#[derive(Default)]
pub(crate) struct LentValues(Mutex<Vec<Weak<dyn GiveUp>>>);

impl LentValues {
    pub(crate) fn add<T: Send + 'static>(&self, lent: &Lent<T>) {
        let mut all = lock(&self.0);
        if all.len() == all.capacity() {
            all.retain(|one| one.strong_count() > 0);
        }
        all.push(lent.revocable());
    }

    /// Gives all of it up.
    pub(crate) fn give_up(&self) {
        let all = std::mem::take(&mut *lock(&self.0));
        for one in all.iter().filter_map(Weak::upgrade) {
            one.give_up();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
