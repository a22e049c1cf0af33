//! A cursor over the rows of an epoch in the order of its batches, from any batch on.

use super::batches::{BatchSampler, GlobalBatch};
use super::cursor::{RunCursor, RunPosition};
use super::index::{EpochIndex, PlacedCursor};
use super::open::OpenPlan;
use crate::epoch::error::EpochError;
use crate::epoch::rows::RowRef;
use std::collections::VecDeque;
use std::sync::Arc;

/// A row of an epoch as it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct BatchedRow {
    /// None: a row of pads.
    pub row: Option<RowRef>,
    /// Its batch; none where a recipe has no batches.
    pub batch: Option<u64>,
    /// To what length it is padded, where the rows of a batch are.
    pub width: Option<u32>,
}

/// The batches of an epoch, in order.
pub(in crate::epoch) struct BatchCursor {
    opened: Arc<OpenPlan>,
    sampler: BatchSampler,
    stream: RunCursor,
    /// The row of the run at which the epoch ends.
    until: u64,
    /// Batches of the window under way.
    window: VecDeque<GlobalBatch>,
    /// Number of the next batch.
    next: u64,
    /// Rows of a batch begun by [`BatchCursor::next_rows`].
    begun: VecDeque<BatchedRow>,
}

impl BatchCursor {
    /// Stands before batch `batch` of the epoch of `index`; a batch is a row where there are none.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn at(
        opened: &Arc<OpenPlan>,
        sampler: &BatchSampler,
        index: &EpochIndex,
        batch: u64,
    ) -> Result<Self, EpochError> {
        let place = index.cursor_before_batch(opened, batch)?;
        let mut ordered = Self::from(opened, sampler, place, index.last_run_row(sampler));
        ordered.skip_to(batch)?;
        Ok(ordered)
    }

    /// The batches of the rows from a place on, as far as row `until` of the run.
    fn from(
        opened: &Arc<OpenPlan>,
        sampler: &BatchSampler,
        place: PlacedCursor,
        until: u64,
    ) -> Self {
        Self {
            opened: Arc::clone(opened),
            sampler: sampler.clone(),
            stream: place.cursor,
            until,
            window: VecDeque::new(),
            next: place.batches,
            begun: VecDeque::new(),
        }
    }

    /// The batches of an epoch that begins at `start`, as far as row `until` of the run.
    pub(super) fn from_start(
        opened: &Arc<OpenPlan>,
        sampler: &BatchSampler,
        start: &RunPosition,
        until: u64,
    ) -> Result<Self, EpochError> {
        let place = PlacedCursor { cursor: RunCursor::at(opened, start)?, batches: 0 };
        Ok(Self::from(opened, sampler, place, until))
    }

    /// The passes of the next rows, by source, between two windows; none within one.
    pub(super) fn passes_between_windows(&mut self) -> Result<Option<Vec<u32>>, EpochError> {
        let is_between = self.window.is_empty() && self.begun.is_empty();
        is_between.then(|| self.stream.next_passes()).transpose()
    }

    /// Stands before row `row` of the epoch.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn at_row(
        opened: &Arc<OpenPlan>,
        sampler: &BatchSampler,
        index: &EpochIndex,
        row: u64,
    ) -> Result<Self, EpochError> {
        let place = index.cursor_before_row(opened, row)?;
        let mut at = place.cursor.row() - index.start.row;
        let mut ordered = Self::from(opened, sampler, place, index.last_run_row(sampler));
        while at + sampler.window <= row {
            match sampler.batch_rows() {
                Some(rows) => ordered.skip_to(ordered.next + sampler.window / rows.max(1))?,
                None => {
                    ordered.enter_window()?;
                    ordered.next += ordered.window.len() as u64;
                    ordered.window.clear();
                }
            }
            at += sampler.window;
        }
        ordered.skip_rows(row - at)?;
        Ok(ordered)
    }

    /// The rows that fill no batch of an epoch and are left out, in no order that says anything.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn left_out_rows(
        opened: &Arc<OpenPlan>,
        sampler: &BatchSampler,
        index: &EpochIndex,
    ) -> Result<Vec<RowRef>, EpochError> {
        if index.left_out == 0 {
            return Ok(Vec::new());
        }
        // The rows left are those of the last window without what its batches take.
        let all = index.end.row - index.start.row;
        let first = all - 1 - (all - 1) % sampler.window;
        let mut cursor = index.cursor_before_row(opened, first)?.cursor;
        cursor.skip_to(index.start.row + first)?;
        let mut rows = Vec::new();
        while cursor.row() < index.end.row {
            rows.push(cursor.next_row()?);
        }
        let mut taken = Vec::new();
        let mut batches = Self::at_row(opened, sampler, index, first)?;
        while let Some(batch) = batches.next_batch()? {
            taken.extend(batch.rows);
        }
        rows.sort_unstable();
        taken.sort_unstable();
        let mut taken = taken.into_iter().peekable();
        rows.retain(|row| taken.next_if_eq(row).is_none());
        Ok(rows)
    }

    /// Rows and real tokens of each source that fill no batch of an epoch and are left out.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn count_left_out(
        opened: &Arc<OpenPlan>,
        sampler: &BatchSampler,
        index: &EpochIndex,
    ) -> Result<Vec<(u64, u64)>, EpochError> {
        let mut counts = vec![(0_u64, 0_u64); opened.sources.len()];
        for row in Self::left_out_rows(opened, sampler, index)? {
            if let Some((rows, tokens)) = counts.get_mut(row.source) {
                *rows += 1;
                *tokens += u64::from(row.tokens);
            }
        }
        Ok(counts)
    }

    /// Number of the next row of the epoch, before a batch. Rows that fill no batch have none, though they are of the
    /// window under way.
    pub fn next_row_number(&self, index: &EpochIndex) -> u64 {
        match self.sampler.batch_rows() {
            Some(rows) => self.next * rows,
            None => {
                let ahead: u64 = self.window.iter().map(GlobalBatch::count).sum();
                self.stream.row() - index.start.row - ahead
            }
        }
    }

    fn skip_to(&mut self, batch: u64) -> Result<(), EpochError> {
        if let Some(rows) = self.sampler.batch_rows() {
            let batches = self.sampler.window / rows.max(1);
            while self.next + batches <= batch
                && self.stream.row() + self.sampler.window <= self.until
            {
                for _ in 0..self.sampler.window {
                    self.stream.next_row()?;
                }
                self.next += batches;
            }
        }
        while self.next < batch && self.next_batch()?.is_some() {}
        Ok(())
    }

    /// Number of the next batch.
    pub const fn next_number(&self) -> u64 {
        self.next
    }

    /// The next batch; none at the end of the epoch.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn next_batch(&mut self) -> Result<Option<GlobalBatch>, EpochError> {
        while self.window.is_empty() {
            if !self.enter_window()? {
                return Ok(None);
            }
        }
        self.next += 1;
        Ok(self.window.pop_front())
    }

    /// Arranges the next window; false at the end of the epoch.
    fn enter_window(&mut self) -> Result<bool, EpochError> {
        let first = self.stream.row();
        let rows = self.sampler.window.min(self.until.saturating_sub(first));
        let mut window = Vec::new();
        for _ in 0..rows {
            window.push(self.stream.next_row()?);
        }
        self.window = self.sampler.arrange(&self.opened, window, first)?.into();
        Ok(rows > 0)
    }

    /// The next row; none at the end of the epoch.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn next_row(&mut self) -> Result<Option<BatchedRow>, EpochError> {
        while self.begun.is_empty() {
            let number = self.next;
            let Some(batch) = self.next_batch()? else { return Ok(None) };
            let number = self.sampler.has_batches().then_some(number);
            let width = batch.width(&self.opened.plan);
            let pads = (0..batch.pads).map(|_| None);
            let rows = batch.rows.into_iter().map(Some).chain(pads);
            self.begun = rows.map(|row| BatchedRow { row, batch: number, width }).collect();
        }
        Ok(self.begun.pop_front())
    }

    /// Skips the next `rows` rows.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when there are not as many; [`EpochError::Store`].
    pub fn skip_rows(&mut self, rows: u64) -> Result<(), EpochError> {
        for _ in 0..rows {
            if self.next_row()?.is_none() {
                return Err(EpochError::bug("the epoch has fewer rows than were passed over"));
            }
        }
        Ok(())
    }

    /// Rows up to `rows`, or until they hold `tokens`; empty at the end of the epoch.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn next_rows(&mut self, rows: usize, tokens: u64) -> Result<Vec<BatchedRow>, EpochError> {
        let mut taken = Vec::new();
        let mut held = 0;
        while taken.len() < rows && held < tokens {
            let Some(row) = self.next_row()? else { break };
            held += row.row.as_ref().map_or(0, |row| u64::from(row.tokens));
            taken.push(row);
        }
        Ok(taken)
    }
}
