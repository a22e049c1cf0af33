//! A cursor over the rows of a run in the order of its mix: sources interleaved by what their rows count.
//!
//! The interleaving runs from the first row of the first epoch; epoch `e` is the rows before which the run had given at
//! least `e` budgets and less than `e + 1`. No source starts over with an epoch, so nothing is seen twice before its
//! pass has ended, and shares stay within a row over the whole run. The position of a run is a few numbers a source
//! ([`RunPosition`]), from which it continues at once.

use super::open::OpenPlan;
use crate::epoch::error::EpochError;
use crate::epoch::mix::Scheduler;
use crate::epoch::rows::{RowRef, SourceCursor, SourcePosition};
use std::sync::Arc;

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct RunPosition {
    /// Rows given since the run began.
    pub row: u64,
    /// What each source has given, in the mix's unit.
    pub emitted: Vec<u64>,
    /// Real tokens that each source has given.
    pub tokens: Vec<u64>,
    /// Rows that each source has given.
    pub rows: Vec<u64>,
    /// Where each source stands.
    pub sources: Vec<SourcePosition>,
}

impl RunPosition {
    /// The beginning of a run over `sources` sources.
    pub fn start(sources: usize) -> Self {
        Self {
            row: 0,
            emitted: vec![0; sources],
            tokens: vec![0; sources],
            rows: vec![0; sources],
            sources: vec![SourcePosition::default(); sources],
        }
    }

    /// What all sources have given, in the mix's unit.
    pub fn total(&self) -> u64 {
        self.emitted.iter().sum()
    }

    /// Whether another position is the same place: the end of a pass is the beginning of the next one.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn is_same_place(&self, other: &Self, opened: &OpenPlan) -> Result<bool, EpochError> {
        let totals = |of: &Self| (of.row, of.emitted.clone(), of.tokens.clone(), of.rows.clone());
        if totals(self) != totals(other) {
            return Ok(false);
        }
        let sources = opened.sources.iter().zip(self.sources.iter().zip(&other.sources));
        for (source, (one, other)) in sources.filter(|(_, (one, other))| one != other) {
            let (one, other) = (one.at_next_pass(source)?, other.at_next_pass(source)?);
            let is_start = one.is_at_start() && other.is_at_start();
            if one.pass != other.pass || !(is_start || one == other) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The totals without a row behind it.
    pub fn take_back(&mut self, row: &RowRef) {
        let totals = (
            self.emitted.get_mut(row.source),
            self.tokens.get_mut(row.source),
            self.rows.get_mut(row.source),
        );
        if let (Some(emitted), Some(tokens), Some(rows)) = totals {
            *emitted = emitted.saturating_sub(row.amount);
            *tokens = tokens.saturating_sub(row.tokens.into());
            *rows = rows.saturating_sub(1);
        }
    }
}

/// The rows of a run from some moment on.
pub(in crate::epoch) struct RunCursor {
    cursors: Vec<SourceCursor>,
    scheduler: Scheduler,
    tokens: Vec<u64>,
    rows: Vec<u64>,
    row: u64,
    /// Whether rows may count nothing.
    idle: bool,
    /// Whether its totals are those since the run began.
    is_counted: bool,
}

impl RunCursor {
    /// Stands where `state` says.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn at(opened: &OpenPlan, state: &RunPosition) -> Result<Self, EpochError> {
        let mut cursors = Vec::new();
        for (source, at) in opened.sources.iter().zip(&state.sources) {
            cursors.push(SourceCursor::at(Arc::clone(source), at)?);
        }
        let mut scheduler = Scheduler::new(Arc::clone(&opened.fluid));
        scheduler.restore(state.emitted.clone());
        let (tokens, rows) = (state.tokens.clone(), state.rows.clone());
        let idle = opened.plan.recipe.mix.unit.counts_parts();
        Ok(Self { cursors, scheduler, tokens, rows, row: state.row, idle, is_counted: true })
    }

    /// The rows of a run over one source from a place that is found by arithmetic: what was given before it is not
    /// known, which decides nothing where there is one source.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn uncounted(
        opened: &OpenPlan,
        row: u64,
        source: SourcePosition,
    ) -> Result<Self, EpochError> {
        let position = RunPosition { row, sources: vec![source], ..RunPosition::start(1) };
        Ok(Self { is_counted: false, ..Self::at(opened, &position)? })
    }

    /// Where it stands, with its totals; none where these are not known.
    pub fn position(&self) -> Option<RunPosition> {
        self.is_counted.then(|| RunPosition {
            row: self.row,
            emitted: self.scheduler.emitted().to_vec(),
            tokens: self.tokens.clone(),
            rows: self.rows.clone(),
            sources: self.sources(),
        })
    }

    /// Where it stands, with its totals.
    ///
    /// # Errors
    /// [`EpochError::Bug`] where these are not known.
    pub fn counted_position(&self) -> Result<RunPosition, EpochError> {
        self.position().ok_or_else(|| EpochError::bug("a place without totals was counted by"))
    }

    /// Where each source stands.
    pub fn sources(&self) -> Vec<SourcePosition> {
        self.cursors.iter().map(SourceCursor::state).collect()
    }

    /// The pass of each source whose row is next; of one whose passes are over, their number.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn next_passes(&mut self) -> Result<Vec<u32>, EpochError> {
        self.cursors.iter_mut().map(SourceCursor::next_pass).collect()
    }

    /// Goes on to row `row` of the run.
    ///
    /// # Errors
    /// As [`RunCursor::next_row`].
    pub fn skip_to(&mut self, row: u64) -> Result<(), EpochError> {
        while self.row < row {
            self.next_row()?;
        }
        Ok(())
    }

    /// Rows given since the run began.
    pub const fn row(&self) -> u64 {
        self.row
    }

    /// What has been given since the run began, in the mix's unit.
    pub fn total(&self) -> u64 {
        self.scheduler.total()
    }

    /// The source whose next row counts nothing and continues with a pass that is begun. Such a row follows the one
    /// before it at once, also beyond the budget of an epoch: nothing would ever ask for it, and the pass would end
    /// without it.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn uncounted_source(&mut self) -> Result<Option<usize>, EpochError> {
        if !self.idle {
            return Ok(None);
        }
        for (source, cursor) in self.cursors.iter_mut().enumerate() {
            cursor.peek()?;
            if cursor.head() == Some(0) && cursor.is_within_pass() {
                return Ok(Some(source));
            }
        }
        Ok(None)
    }

    /// The next row.
    ///
    /// # Errors
    /// [`EpochError::Store`]; [`EpochError::Bug`] past what a feasible budget reaches.
    pub fn next_row(&mut self) -> Result<RowRef, EpochError> {
        let follows = self.uncounted_source()?;
        if follows.is_none() {
            for cursor in &mut self.cursors {
                cursor.peek()?;
            }
        }
        let cursors = &self.cursors;
        let scheduler = &mut self.scheduler;
        let due = follows
            .or_else(|| scheduler.pick(|source| cursors.get(source).and_then(SourceCursor::head)));
        let source = due.ok_or_else(|| EpochError::bug("no source is due"))?;
        let cursor = self.cursors.get_mut(source);
        let row = cursor.map_or(Ok(None), SourceCursor::take)?;
        // A feasible budget never asks a source that has run out.
        let Some(row) = row else { return Err(self.ran_out(source)) };
        self.scheduler.record(source, row.amount);
        self.row += 1;
        #[cfg(test)]
        counted::row();
        if let (Some(tokens), Some(rows)) = (self.tokens.get_mut(source), self.rows.get_mut(source))
        {
            *tokens += u64::from(row.tokens);
            *rows += 1;
        }
        Ok(row)
    }

    /// The error of a source that has no row where its share asks for one.
    fn ran_out(&self, source: usize) -> EpochError {
        match self.cursors.get(source).map(SourceCursor::rules) {
            Some(rules) if rules.passes_differ() => EpochError::Plan(format!(
                "source `{}` has fewer rows than the plan expects: an earlier release assumed as many in every pass as in the first; plan the recipe again",
                rules.name
            )),
            _ => EpochError::bug("a source ran out within its budget"),
        }
    }
}

/// Rows of runs that this thread has gone through: what tests of cost count.
#[cfg(test)]
pub mod counted {
    use std::cell::Cell;

    thread_local! {
        static ROWS: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn row() {
        ROWS.set(ROWS.get() + 1);
    }

    /// Rows gone through while `work` was done.
    pub fn during<T>(work: impl FnOnce() -> T) -> (T, u64) {
        ROWS.set(0);
        let done = work();
        (done, ROWS.get())
    }
}
