//! Derives what a query may hold from the memory that the view was opened with.

use store::View;

/// Rows of a batch that carries texts, at most.
const ROWS_WITH_TEXT: u64 = 256;

/// Bytes for the parts of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryLimits {
    /// Bytes that sorts, joins and aggregates may hold together before they spill or fail.
    pub pool: usize,
    /// Bytes of text in a batch of a scan. Some eight batches are on their way between a scan and the caller.
    pub texts: usize,
    /// Bytes of text that one function may make of one batch: no operator accounts for them.
    pub value: usize,
}

/// Limits of a batch whose rows carry whole texts or metadata.
pub(in crate::sql) struct BatchLimits {
    pub(in crate::sql) rows: usize,
    /// Bytes of all texts of the batch.
    pub(in crate::sql) texts: usize,
    /// Bytes that one function may make of the batch.
    pub(in crate::sql) value: usize,
}

impl QueryLimits {
    pub(crate) fn of(view: &View) -> Self {
        let memory = view.query_memory();
        Self {
            pool: memory,
            texts: (memory / 64).clamp(256 << 10, 8 << 20),
            value: (memory / 4).max(16 << 20),
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
