//! The rows of an epoch in order: sources interleaved by real tokens.
//!
//! The interleaving runs from the first row of the first epoch; epoch `e` is the rows before which the
//! run had emitted at least `e` budgets and less than `e + 1`. No source starts over with an epoch, so
//! nothing is seen twice before its pass has ended, and shares stay within a row over the whole run.

use super::error::EpochError;
use super::mix::Scheduler;
use super::plan::Plan;
use super::rows::{Cursor, RowRef, SourceRows};

/// A row of the epoch.
#[derive(Clone, Debug)]
pub(super) struct StreamRow {
    /// Index of its source in the plan.
    pub source: usize,
    /// Where it is in the source.
    pub row: RowRef,
}

/// The rows of one epoch.
pub(super) struct Stream<'a> {
    cursors: Vec<Cursor<'a>>,
    heads: Vec<Option<RowRef>>,
    scheduler: Scheduler,
    end: u64,
    started: Scheduler,
}

impl<'a> Stream<'a> {
    /// Stands before the first row of `epoch`; earlier epochs are replayed by their lengths.
    ///
    /// # Errors
    /// [`EpochError::Infeasible`] when `max_repeats` does not reach that far; [`EpochError::Store`].
    pub fn open(
        plan: &Plan,
        sources: &'a [SourceRows<'a>],
        epoch: u64,
    ) -> Result<Self, EpochError> {
        plan.check_feasible(epoch)?;
        let mut cursors: Vec<Cursor<'a>> = sources.iter().map(SourceRows::cursor).collect();
        let heads = cursors.iter_mut().map(Cursor::next_row).collect::<Result<_, _>>()?;
        let scheduler = Scheduler::new(plan.sources.iter().map(|source| source.weight).collect());
        let mut stream = Self { cursors, heads, started: scheduler.clone(), scheduler, end: 0 };
        // Feasible, so these products fit.
        stream.end = plan.budget.saturating_mul(epoch);
        while stream.next_row()?.is_some() {}
        stream.started = stream.scheduler.clone();
        stream.end = stream.end.saturating_add(plan.budget);
        Ok(stream)
    }

    /// The next row; none at the end of the epoch.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn next_row(&mut self) -> Result<Option<StreamRow>, EpochError> {
        if self.scheduler.total() >= self.end {
            return Ok(None);
        }
        let heads = &self.heads;
        let source = self
            .scheduler
            .pick(|source| heads.get(source).and_then(Option::as_ref).map(|row| row.tokens))
            .ok_or_else(|| EpochError::bug("no source is due"))?;
        let (Some(head), Some(cursor)) = (self.heads.get_mut(source), self.cursors.get_mut(source))
        else {
            return Err(EpochError::bug("a source is due that does not exist"));
        };
        // A feasible budget never asks a source that has run out.
        let row =
            head.take().ok_or_else(|| EpochError::bug("a source ran out within its budget"))?;
        *head = cursor.next_row()?;
        self.scheduler.record(source, row.tokens);
        Ok(Some(StreamRow { source, row }))
    }

    /// Rows up to `rows`, or until they hold `tokens`; empty at the end of the epoch.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn next_rows(&mut self, rows: usize, tokens: u64) -> Result<Vec<StreamRow>, EpochError> {
        let mut taken = Vec::new();
        let mut held = 0;
        while taken.len() < rows && held < tokens {
            let Some(row) = self.next_row()? else { break };
            held += u64::from(row.row.tokens);
            taken.push(row);
        }
        Ok(taken)
    }

    /// Tokens of the run before the epoch and by now, by source.
    pub fn started(&self) -> &Scheduler {
        &self.started
    }

    /// Where the interleaving stands.
    pub const fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }
}
