//! What a query may hold, and the pool that its operators ask: it always leaves room to merge what a sort holds.

use datafusion::common::resources_datafusion_err;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::View;

/// Rows of a batch that carries texts, at most.
const ROWS_WITH_TEXT: u64 = 256;

/// The engine's name for the buffer of a sort, before the number of its partition.
const SORT: &str = "ExternalSorter[";

/// Bytes for the parts of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryLimits {
    /// Bytes that sorts, joins and aggregates may hold together before they spill or fail.
    pub pool: usize,
    /// Bytes of text in a batch of a scan. Some eight batches are on their way between a scan and the caller.
    pub texts: usize,
    /// Bytes of a row of a file: no operator accounts for them.
    pub file_row: usize,
}

/// Limits of a batch whose rows carry whole texts or metadata.
pub(in crate::sql) struct BatchLimits {
    pub(in crate::sql) rows: usize,
    /// Bytes of all texts of the batch.
    pub(in crate::sql) texts: usize,
    /// Bytes of a row of a file.
    pub(in crate::sql) file_row: usize,
}

impl QueryLimits {
    pub(crate) fn of(view: &View) -> Self {
        let memory = view.query_memory();
        Self {
            pool: memory,
            texts: (memory / 64).clamp(256 << 10, 8 << 20),
            file_row: (memory / 4).max(16 << 20),
        }
    }

    /// Rows that the engine gathers into a batch when they carry texts.
    pub(crate) fn rows_with_text(self, view: &View) -> usize {
        let bytes: u64 = view.sources().map(|(_, source)| source.bytes).sum();
        let mean = bytes.checked_div(view.documents()).unwrap_or(0).max(1);
        let rows = u64::try_from(self.texts).unwrap_or(u64::MAX) / mean;
        usize::try_from(rows.clamp(1, ROWS_WITH_TEXT)).unwrap_or(1)
    }
}

/// Equal shares for all consumers, and a smaller one for sorts.
///
/// A sort that has filled its share merges what it holds before it spills. For that it copies rows and their keys, all
/// batches at once: about as much again, a third more when texts are of uneven lengths. The engine asks for these bytes
/// on top of the share, and fails where the share is all there is.
#[derive(Debug)]
pub(crate) struct SortSharePool {
    fair: FairSpillPool,
    bytes: usize,
    /// Sorts that run.
    sorts: AtomicUsize,
}

impl SortSharePool {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { fair: FairSpillPool::new(bytes), bytes, sorts: AtomicUsize::new(0) }
    }

    /// Bytes that each sort may gather.
    fn of_a_sort(&self) -> usize {
        let sorts = self.sorts.load(Ordering::Relaxed).max(1);
        (self.bytes / 8).saturating_mul(3) / sorts
    }
}

fn sorts(consumer: &MemoryConsumer) -> bool {
    consumer.can_spill() && consumer.name().starts_with(SORT)
}

impl MemoryPool for SortSharePool {
    fn name(&self) -> &str {
        self.fair.name()
    }

    fn register(&self, consumer: &MemoryConsumer) {
        if sorts(consumer) {
            self.sorts.fetch_add(1, Ordering::Relaxed);
        }
        self.fair.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        if sorts(consumer) {
            self.sorts.fetch_sub(1, Ordering::Relaxed);
        }
        self.fair.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.fair.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.fair.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let held = reservation.size();
        // A sort that holds nothing cannot spill: it may take one batch of any size.
        if held > 0
            && sorts(reservation.consumer())
            && held.saturating_add(additional) > self.of_a_sort()
        {
            return Err(resources_datafusion_err!(
                "a sort holds {held} bytes and asks for {additional} more of {}",
                self.of_a_sort()
            ));
        }
        self.fair.try_grow(reservation, additional)
    }

    fn reserved(&self) -> usize {
        self.fair.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.fair.memory_limit()
    }
}

impl fmt::Display for SortSharePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fair.fmt(f)
    }
}
