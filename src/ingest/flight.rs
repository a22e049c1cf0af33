//! How much text is under way between the stages of the pipeline.

use std::sync::{Condvar, Mutex, PoisonError};

/// Chunks that the stages and the channels between them hold when all are busy.
const CHUNKS: u64 = 5;

/// Bytes that were read and are not committed yet. A chunk has one record at least, however long that is: so
/// many chunks of very long ones are not to be held at once.
pub(super) struct InFlightBudget {
    limit: u64,
    /// None when nobody takes chunks any more.
    bytes: Mutex<Option<u64>>,
    landed: Condvar,
}

/// The end of whoever takes chunks, however it comes: then none waits.
pub(super) struct BudgetGuard<'f>(&'f InFlightBudget);

impl Drop for BudgetGuard<'_> {
    fn drop(&mut self) {
        *self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.landed.notify_all();
    }
}

impl InFlightBudget {
    /// Chunks of `batch_bytes` never wait.
    pub(super) fn of(batch_bytes: u64) -> Self {
        let limit = batch_bytes.saturating_mul(CHUNKS);
        Self { limit, bytes: Mutex::new(Some(0)), landed: Condvar::new() }
    }

    /// Waits until there is room for a chunk, or nothing else is under way.
    pub(super) fn acquire(&self, chunk: u64) {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |bytes: &mut Option<u64>| {
            bytes.is_some_and(|bytes| bytes > 0 && bytes.saturating_add(chunk) > self.limit)
        };
        let waited = self.landed.wait_while(bytes, is_full);
        let mut bytes = waited.unwrap_or_else(PoisonError::into_inner);
        *bytes = bytes.map(|bytes| bytes.saturating_add(chunk));
    }

    /// A chunk is gone, committed or not.
    pub(super) fn release(&self, chunk: u64) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *bytes = bytes.map(|bytes| bytes.saturating_sub(chunk));
        self.landed.notify_all();
    }

    /// Whoever takes chunks holds this while it does.
    pub(super) const fn guard(&self) -> BudgetGuard<'_> {
        BudgetGuard(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Five chunks of 60 MB each were held at once, whatever --memory said.
    #[test]
    fn long_records_go_through_one_at_a_time_and_usual_chunks_do_not_wait() {
        for (chunk, most) in [(100, 5), (60_000, 1), (300, 1), (250, 2)] {
            let flight = InFlightBudget::of(100);
            let (inside, peak) = (AtomicU64::new(0), AtomicU64::new(0));
            std::thread::scope(|scope| {
                for _ in 0..16 {
                    scope.spawn(|| {
                        flight.acquire(chunk);
                        peak.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        flight.release(chunk);
                    });
                }
            });
            assert!(peak.into_inner() <= most, "chunks of {chunk}");
        }
        let flight = InFlightBudget::of(100);
        let taker = flight.guard();
        (0..5).for_each(|_| flight.acquire(100));
        drop(taker);
        (0..5).for_each(|_| flight.acquire(100));
    }
}
