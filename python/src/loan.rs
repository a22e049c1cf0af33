//! Lends values that still read the corpus, such as iterators, so that closing a writing handle can drop them.
//!
//! An unread table or iterator holds a view of the database, and with it the lock: an answer that a notebook still
//! shows would block other writers, so closing drops it even if the program still holds it. A table belongs to its
//! commit: reading it again runs its statement again, on a reader of the same commit if its corpus is closed, and
//! raises `Stale` if there are newer commits. Keeping all rows would cost memory; the newest commit would change the
//! answer silently.

use crate::error::named;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A value that reads the corpus. A user takes it, works with it, and puts it back.
pub(crate) struct Loan<T>(Arc<LoanSlot<T>>);

struct LoanSlot<T>(Mutex<LoanState<T>>);

enum LoanState<T> {
    Here(T),
    /// A user has taken the value.
    InUse,
    /// The value was read to its end.
    Ended,
    /// The handle of the value was closed.
    Revoked,
}

/// A value of any type that can be dropped by its handle.
pub(crate) trait Revocable: Send + Sync {
    /// Drops the value, or makes its present user drop it.
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
        // Dropped without holding the lock: a statement first finishes its present batch.
        drop(before);
    }
}

impl<T: Send + 'static> Loan<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(LoanSlot(Mutex::new(LoanState::Here(value)))))
    }

    /// The value as the handle drops it when it is closed.
    pub(crate) fn as_revocable(&self) -> Weak<dyn Revocable> {
        let slot: Arc<dyn Revocable> = Arc::clone(&self.0) as Arc<dyn Revocable>;
        Arc::downgrade(&slot)
    }

    /// Takes the value, which must be put back; `None` if it was read to its end.
    ///
    /// # Errors
    /// `corpusdb.Closed` if the handle was closed; `corpusdb.CorpusError` while another thread has taken it.
    pub(crate) fn take(&self, py: Python<'_>, what: &str) -> PyResult<Option<T>> {
        match self.try_take() {
            Ok(value) => Ok(value),
            Err(LoanUnavailable::Revoked) => {
                let why = format!(
                    "{what} were dropped when the corpus was closed or purged: ask again, and read them before that"
                );
                Err(named(py, "Closed", &why))
            }
            Err(LoanUnavailable::InUse) => {
                let why = format!("another thread is reading {what}");
                Err(named(py, "CorpusError", &why))
            }
        }
    }

    /// Like [`Loan::take`], for callers without the interpreter.
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

    /// Puts the value back, or `None` at its end. Drops it if the handle was closed meanwhile.
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

/// All values that a handle has lent.
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

    /// Drops all lent values.
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
