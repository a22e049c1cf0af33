//! What a handle has handed out that still reads the corpus: given up when a handle that writes is closed, so that the
//! lock is free whatever is held.

use crate::error::named;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A value that reads the corpus. Whoever works with it takes it and puts it back.
pub(crate) struct Loan<T>(Arc<LoanSlot<T>>);

struct LoanSlot<T>(Mutex<LoanState<T>>);

enum LoanState<T> {
    Here(T),
    /// Somebody works with it.
    InUse,
    /// It was used up.
    Ended,
    /// Its handle was closed.
    Revoked,
}

/// What can be given up, of whatever type.
pub(crate) trait Revocable: Send + Sync {
    /// Drops the value, or has it dropped by who works with it.
    fn revoke(&self);
}

impl<T: Send> Revocable for LoanSlot<T> {
    fn revoke(&self) {
        let mut state = lock(&self.0);
        if matches!(*state, LoanState::Ended) {
            return;
        }
        let before = std::mem::replace(&mut *state, LoanState::Revoked);
        drop(state);
        // Not under its lock: a statement ends with the batch that it is at.
        drop(before);
    }
}

impl<T: Send + 'static> Loan<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(LoanSlot(Mutex::new(LoanState::Here(value)))))
    }

    /// What the handle gives up when it is closed.
    pub(crate) fn as_revocable(&self) -> Weak<dyn Revocable> {
        let slot: Arc<dyn Revocable> = Arc::clone(&self.0) as Arc<dyn Revocable>;
        Arc::downgrade(&slot)
    }

    /// The value, to be put back; none when it was used up.
    ///
    /// # Errors
    /// `corpusdb.Closed` when the handle was closed; `corpusdb.CorpusError` while another thread works with it.
    pub(crate) fn take(&self, py: Python<'_>, what: &str) -> PyResult<Option<T>> {
        match self.try_take() {
            Ok(value) => Ok(value),
            Err(LoanUnavailable::Revoked) => {
                let why = format!(
                    "{what} went when the corpus was closed, or purged: ask for them again, and read them before"
                );
                Err(named(py, "Closed", &why))
            }
            Err(LoanUnavailable::InUse) => {
                let why = format!("{what} are being read by another thread");
                Err(named(py, "CorpusError", &why))
            }
        }
    }

    /// As [`Loan::take`], for who has no interpreter.
    pub(crate) fn try_take(&self) -> Result<Option<T>, LoanUnavailable> {
        let mut state = lock(&self.0.0);
        match std::mem::replace(&mut *state, LoanState::InUse) {
            LoanState::Here(value) => Ok(Some(value)),
            LoanState::InUse => Err(LoanUnavailable::InUse),
            LoanState::Ended => {
                *state = LoanState::Ended;
                Ok(None)
            }
            LoanState::Revoked => {
                *state = LoanState::Revoked;
                Err(LoanUnavailable::Revoked)
            }
        }
    }

    /// Puts the value back, or what is left of it; drops it when the handle was closed meanwhile.
    pub(crate) fn put_back(&self, value: Option<T>) {
        let mut state = lock(&self.0.0);
        if matches!(*state, LoanState::Revoked) {
            drop(state);
            drop(value);
        } else {
            *state = value.map_or(LoanState::Ended, LoanState::Here);
        }
    }
}

/// Why a value cannot be taken.
pub(crate) enum LoanUnavailable {
    InUse,
    Revoked,
}

/// All that a handle has handed out.
#[derive(Default)]
pub(crate) struct Loans(Mutex<Vec<Weak<dyn Revocable>>>);

impl Loans {
    pub(crate) fn add<T: Send + 'static>(&self, loan: &Loan<T>) {
        let mut all = lock(&self.0);
        if all.len() == all.capacity() {
            all.retain(|one| one.strong_count() > 0);
        }
        all.push(loan.as_revocable());
    }

    /// Gives all of it up.
    pub(crate) fn revoke(&self) {
        let all = std::mem::take(&mut *lock(&self.0));
        for one in all.iter().filter_map(Weak::upgrade) {
            one.revoke();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
