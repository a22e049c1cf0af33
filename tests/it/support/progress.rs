//! Progress that stops a call, and that records what it is told.

use corpusdb::{Context, Interrupt, Progress, ProgressTally};
use std::sync::atomic::{AtomicU64, Ordering};

/// When a [`StopAt`] asks for its stop.
#[derive(Clone, Copy)]
pub enum StopWhen {
    /// At a beginning, an advance or an end that so many were told before.
    Told(u64),
    /// At the advance of this number, from 1.
    Advance(u64),
    /// At an advance with which so much is done.
    Done(u64),
}

/// Progress that asks for a stop.
pub struct StopAt {
    pub when: StopWhen,
    pub told: AtomicU64,
    pub interrupt: Interrupt,
}

impl StopAt {
    pub fn new(when: StopWhen) -> Self {
        Self { when, told: AtomicU64::new(0), interrupt: Interrupt::default() }
    }

    /// That of a call which it watches and stops.
    pub fn context(&self) -> Context<'_> {
        Context::new().with_progress(self).with_interrupt(&self.interrupt)
    }

    pub fn is_raised(&self) -> bool {
        self.interrupt.is_raised()
    }

    pub fn step(&self, done: Option<u64>) {
        let is_now = match (self.when, done) {
            (StopWhen::Told(before), _) => self.told.fetch_add(1, Ordering::SeqCst) == before,
            (StopWhen::Advance(nth), Some(_)) => {
                self.told.fetch_add(1, Ordering::SeqCst) + 1 == nth
            }
            (StopWhen::Done(least), Some(done)) => done >= least,
            (_, None) => false,
        };
        if is_now {
            self.interrupt.raise();
        }
    }
}

impl Progress for StopAt {
    fn begin(&self, _: &str, _: Option<u64>) {
        self.step(None);
    }
    fn advance(&self, done: u64) {
        self.step(Some(done));
    }
    fn tally(&self, _: &ProgressTally) {}
    fn end(&self) {
        self.step(None);
    }
    fn note(&self, _: &str) {}
}
