//! The rows of a statement that no reader has taken yet.

use crate::blocking::run_detached;
use crate::corpus::CorpusMoment;
use corpusdb::arrow::array::RecordBatch;
use corpusdb::sql::SqlError;
use pyo3::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

/// The remaining rows: batches that were read ahead, then the rest.
pub(crate) struct RemainingRows {
    pub(crate) ahead: VecDeque<RecordBatch>,
    pub(crate) rows: Option<corpusdb::sql::SqlRows>,
    /// Keeps the database open until the rows are read or dropped. Dropped last.
    pub(crate) _corpus: Option<Arc<CorpusMoment>>,
}

impl RemainingRows {
    pub(crate) fn pull(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        if let Some(batch) = self.ahead.pop_front() {
            return Ok(Some(batch));
        }
        let Some(rows) = &mut self.rows else { return Ok(None) };
        let next = rows.next().transpose();
        if !matches!(next, Ok(Some(_))) {
            self.rows = None;
        }
        next
    }

    /// The next batch. Ctrl-C ends the wait for it.
    pub(crate) fn next(self, py: Python<'_>) -> PyResult<(Option<RecordBatch>, Self)> {
        let mut left = self;
        if let Some(batch) = left.ahead.pop_front() {
            return Ok((Some(batch), left));
        }
        if left.rows.is_none() {
            return Ok((None, left));
        }
        run_detached(py, None, move |_| Ok((left.pull()?, left)))
    }
}

/// Rows that are in memory already.
pub(crate) fn there(batch: RecordBatch) -> RemainingRows {
    RemainingRows { ahead: VecDeque::from([batch]), rows: None, _corpus: None }
}

/// The first `count` rows of batches.
pub(crate) fn first(
    batches: &[RecordBatch],
    count: usize,
) -> impl Iterator<Item = RecordBatch> + '_ {
    let mut left = count;
    batches.iter().map(move |batch| {
        let rows = batch.num_rows().min(left);
        left -= rows;
        batch.slice(0, rows)
    })
}
