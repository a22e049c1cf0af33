//! Records of a Python iterator: the calling thread pulls them, a thread of the ingest takes them.
//!
//! Iterators may belong to the thread that made them (connections of sqlite3 do), so only that thread calls them.
//! Records are handed over in lots, so that the threads do not wait for each other at each record.

use crate::blocking::TICK;
use crate::value;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A lot is handed over after this many records, bytes of text, or this much time.
const RECORDS: usize = 1024;
const BYTES: usize = 4 << 20;
const TIME: Duration = Duration::from_millis(20);
/// The most lots that wait to be taken.
const WAITING: usize = 2;

/// A record as JSON, or why it cannot be stored; or the exception that the iterator raised.
type Given = Result<Result<String, String>, PyErr>;

#[derive(Default)]
struct FeedState {
    lots: VecDeque<Vec<Given>>,
    /// The iterator has ended.
    is_over: bool,
    /// The ingest has ended.
    is_left: bool,
}

#[derive(Default)]
struct FeedQueue {
    state: Mutex<FeedState>,
    changed: Condvar,
}

impl FeedQueue {
    fn state(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The iterator's side, on the calling thread.
pub(crate) struct RecordFeeder<'py> {
    records: Bound<'py, PyIterator>,
    queue: Arc<FeedQueue>,
    given: u64,
    is_over: bool,
}

/// The ingest's side, on a thread of the library.
pub(crate) struct FedRecords {
    queue: Arc<FeedQueue>,
    lot: std::vec::IntoIter<Given>,
}

/// Both sides of a feed.
pub(crate) fn feed(records: Bound<'_, PyIterator>) -> (RecordFeeder<'_>, FedRecords) {
    let queue = Arc::new(FeedQueue::default());
    let fed = FedRecords { queue: Arc::clone(&queue), lot: Vec::new().into_iter() };
    (RecordFeeder { records, queue, given: 0, is_over: false }, fed)
}

impl RecordFeeder<'_> {
    /// Pulls one lot, or waits a tick for room. Returns whether there is more to do at once.
    pub(crate) fn step(&mut self, py: Python<'_>, is_stopped: bool) -> bool {
        if self.is_over {
            return false;
        }
        if is_stopped {
            self.end(Vec::new());
            return false;
        }
        let queue = &self.queue;
        let (has_room, is_left) = py.detach(|| {
            let full = |state: &mut FeedState| state.lots.len() >= WAITING && !state.is_left;
            let waited = queue.changed.wait_timeout_while(queue.state(), TICK, full);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            (state.lots.len() < WAITING, state.is_left)
        });
        if is_left {
            self.end(Vec::new());
            return false;
        }
        if has_room {
            self.pull();
        }
        true
    }

    fn pull(&mut self) {
        let (begun, mut lot, mut bytes) = (Instant::now(), Vec::new(), 0);
        while lot.len() < RECORDS && bytes < BYTES && begun.elapsed() < TIME {
            let next = self.records.next().map(|item| {
                let made = item.and_then(|item| value::object(&item, self.given));
                self.given += 1;
                made
            });
            match next {
                Some(Ok(record)) => {
                    bytes += record.as_ref().map_or(0, String::len);
                    lot.push(Ok(record));
                }
                Some(Err(raised)) => {
                    lot.push(Err(raised));
                    return self.end(lot);
                }
                None => return self.end(lot),
            }
        }
        self.queue.state().lots.push_back(lot);
        self.queue.changed.notify_all();
    }

    fn end(&mut self, last: Vec<Given>) {
        self.is_over = true;
        let mut state = self.queue.state();
        state.lots.push_back(last);
        state.is_over = true;
        drop(state);
        self.queue.changed.notify_all();
    }
}

impl Iterator for FedRecords {
    type Item = Given;

    fn next(&mut self) -> Option<Given> {
        loop {
            if let Some(given) = self.lot.next() {
                return Some(given);
            }
            let empty = |state: &mut FeedState| state.lots.is_empty() && !state.is_over;
            let waited = self.queue.changed.wait_while(self.queue.state(), empty);
            let mut state = waited.unwrap_or_else(PoisonError::into_inner);
            self.lot = state.lots.pop_front()?.into_iter();
            drop(state);
            self.queue.changed.notify_all();
        }
    }
}

impl Drop for FedRecords {
    fn drop(&mut self) {
        self.queue.state().is_left = true;
        self.queue.changed.notify_all();
    }
}
