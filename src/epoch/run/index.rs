//! Where the epochs of a run begin and end, and how to get into them: what random access and resuming need and nothing
//! else. It follows from the plan; where it is stored (`index_store`), that is a cache.
//!
//! Two kinds of places lead into an epoch. A [`Checkpoint`] was walked to, and its totals are exact. A place that is
//! found by arithmetic has no totals, so that nobody can count by it. [`EpochIndex::next_start`] is the only rule for
//! where an epoch begins that cannot be told by arithmetic.

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;

use super::batches::BatchSampler;
use super::cursor::{RunCursor, RunPosition};
use super::open::OpenPlan;
use crate::epoch::error::{EmptyEpoch, EpochError};
use crate::epoch::plan::PlanHeader;
use crate::epoch::recipe::{BatchTail, MixUnit};
use crate::epoch::rows::{PassPosition, RowRef, SourcePosition};
use model::Interrupt;

/// Rows between two checkpoints at first, rounded to whole windows.
const STRIDE: u64 = 1 << 10;

/// Checkpoints of a walk, at most; with one more, every second is dropped. So an epoch is reached anywhere by replaying
/// a few thousandths of it, or a thousand rows, and its index takes a few megabytes.
const CHECKPOINTS: usize = 1 << 13;

/// Where an epoch begins and ends, and how to get into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct EpochIndex {
    /// Which epoch.
    pub epoch: u64,
    /// Where its first row is.
    pub start: RunPosition,
    /// Where its last row has been given.
    pub end: RunPosition,
    /// Rows given, without rows of pads.
    pub rows: u64,
    /// Rows of pads at the end.
    pub pads: u64,
    /// Batches; rows where there are none.
    pub batches: u64,
    /// Rows that fill no batch and are left out.
    pub left_out: u64,
    pub(super) checkpoints: Checkpoints,
}

/// How places within an epoch are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Checkpoints {
    /// By walking the epoch: ascending; the first is the start.
    Walked(Vec<Checkpoint>),
    /// By arithmetic: one source gives its rows pass after pass.
    ByNumber {
        /// Rows of a window, and of a batch.
        window: u64,
        batch: u64,
        /// Rows of the pass that the epoch begins with, and of each one after it.
        first: u64,
        later: u64,
    },
}

/// A place of an epoch between two windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct Checkpoint {
    pub position: RunPosition,
    /// Batches given before it in the epoch.
    pub batches: u64,
}

/// A cursor within an epoch, between two windows.
pub(super) struct PlacedCursor {
    pub cursor: RunCursor,
    /// Batches of the epoch before it.
    pub batches: u64,
}

impl EpochIndex {
    /// The index of `epoch`: at once where one source gives whole passes, or where it is stored with the plan; else as
    /// [`EpochIndex::walked`], from the nearest epoch before it whose index is stored.
    ///
    /// # Errors
    /// As [`EpochIndex::walked`]; [`EpochError::Store`] too when a stored index is damaged.
    pub fn of(
        opened: &OpenPlan,
        sampler: &BatchSampler,
        epoch: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        opened.plan.check_feasible(epoch)?;
        match Self::known(opened, sampler, epoch)? {
            Some(index) => Ok(index),
            None => Self::walked(opened, sampler, epoch, interrupt),
        }
    }

    /// The index of the first epoch with rows: where rows are carried, those of the epochs before it may be too few for a
    /// batch. It begins with the run.
    ///
    /// # Errors
    /// [`EpochError::NoRows`] of epoch 0 when there is none; those of [`EpochIndex::of`].
    pub fn first_with_rows(
        opened: &OpenPlan,
        sampler: &BatchSampler,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        let plan = &opened.plan;
        let mut index = Self::of(opened, sampler, 0, interrupt)?;
        let first = index.refuse_empty(plan);
        while sampler.carries() && index.emptiness(plan).is_some() {
            index = match index.next(opened, sampler, interrupt) {
                Err(EpochError::Infeasible { .. }) => break,
                next => next?,
            };
        }
        if index.emptiness(plan).is_some() { first.map(|()| index) } else { Ok(index) }
    }

    /// The index of `epoch`, by walking the lengths of its rows, and of those before it where they tell where it begins.
    ///
    /// # Errors
    /// [`EpochError::Infeasible`] when `max_repeats` does not reach that far; [`EpochError::Interrupted`];
    /// [`EpochError::Store`].
    pub fn walked(
        opened: &OpenPlan,
        sampler: &BatchSampler,
        epoch: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        opened.plan.check_feasible(epoch)?;
        let mut index = match start_by_number(opened, sampler, epoch)? {
            Some(start) => Self::from(opened, sampler, epoch, start, interrupt)?,
            None => match Self::stored_before(opened, sampler, epoch)? {
                Some(index) => index,
                None => {
                    let start = RunPosition::start(opened.sources.len());
                    Self::from(opened, sampler, 0, start, interrupt)?
                }
            },
        };
        while index.epoch < epoch {
            index = index.next(opened, sampler, interrupt)?;
        }
        Ok(index)
    }

    /// The index of the epoch after this one, without a walk over those before it.
    ///
    /// # Errors
    /// As [`EpochIndex::of`].
    pub fn next(
        &self,
        opened: &OpenPlan,
        sampler: &BatchSampler,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        interrupt.check()?;
        let epoch = self.epoch + 1;
        opened.plan.check_feasible(epoch)?;
        if let Some(index) = Self::known(opened, sampler, epoch)? {
            return Ok(index);
        }
        let start = self.next_start(opened, sampler)?;
        Self::from(opened, sampler, epoch, start, interrupt)
    }

    /// Epochs from this one on that have as many rows, pads and batches as it, each beginning as many rows of the run behind
    /// the one before it: as far as that is known by arithmetic, and an epoch comes behind them, at least this one.
    pub fn alike(&self, opened: &OpenPlan) -> u64 {
        let (Checkpoints::ByNumber { .. }, [source]) = (&self.checkpoints, &*opened.sources) else {
            return 1;
        };
        let pass = |at: &RunPosition| at.sources.first().map_or(0, |source| source.pass);
        let (first, end) = (pass(&self.start), pass(&self.end));
        // Passes of one run hold the same.
        let passes = source.by_run(first, source.rules().max_repeats);
        let passes = passes.first().map_or(0, |(_, passes)| *passes);
        let last = opened.plan.feasible_epochs().saturating_sub(1).saturating_sub(self.epoch);
        u64::from(passes / (end - first).max(1)).min(last).max(1)
    }

    /// The index of the epoch `epochs` behind this one, which are [`EpochIndex::alike`].
    ///
    /// # Errors
    /// As [`EpochIndex::of`].
    pub fn after(
        &self,
        epochs: u64,
        opened: &OpenPlan,
        sampler: &BatchSampler,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        match epochs {
            1 => self.next(opened, sampler, interrupt),
            _ => Self::of(opened, sampler, self.epoch.saturating_add(epochs), interrupt),
        }
    }

    /// The index of `epoch`, where it needs no walk.
    fn known(
        opened: &OpenPlan,
        sampler: &BatchSampler,
        epoch: u64,
    ) -> Result<Option<Self>, EpochError> {
        match Self::by_number(opened, sampler, epoch)? {
            Some(index) => Ok(Some(index)),
            None => match opened.stored {
                Some(number) => Self::stored(opened, sampler, number, epoch),
                None => Ok(None),
            },
        }
    }

    /// The index of an epoch of whole passes over one source with one stratum whose rows are known by number: row `r` of
    /// a pass is its row `r`, so that nothing needs to be walked.
    fn by_number(
        opened: &OpenPlan,
        sampler: &BatchSampler,
        epoch: u64,
    ) -> Result<Option<Self>, EpochError> {
        let ([source], Some(batch)) = (opened.sources.as_slice(), sampler.batch_rows()) else {
            return Ok(None);
        };
        // Rows that count nothing could come after the moment at which an epoch ends.
        let counts = matches!(source.rules().unit, MixUnit::Tokens | MixUnit::Rows);
        if source.strata() != 1 || !counts || batch == 0 || !sampler.window.is_multiple_of(batch) {
            return Ok(None);
        }
        let bounds = (
            start_by_number(opened, sampler, epoch)?,
            start_by_number(opened, sampler, epoch + 1)?,
        );
        let (Some(start), Some(end)) = bounds else { return Ok(None) };
        let pass =
            |position: &RunPosition| position.sources.first().map_or(0, |source| source.pass);
        let (pass, end_pass) = (pass(&start), pass(&end));
        // What passes after the first one hold differs in an extension that has new documents.
        let (first, later) = (source.pass_rows(pass), source.pass_rows(pass + 1));
        let is_even = source.by_run(pass + 1, end_pass).len() < 2;
        let lengths = first.zip(later).filter(|(first, later)| *first > 0 && *later > 0);
        let Some((first, later)) = lengths.filter(|_| is_even) else { return Ok(None) };
        let all = end.row - start.row;
        let (rows, pads) = sampler.rows_given(all);
        let left_out = left_out(&opened.plan, sampler, epoch, all - rows);
        let batches = (rows + pads) / batch;
        let checkpoints = Checkpoints::ByNumber { window: sampler.window, batch, first, later };
        Ok(Some(Self { epoch, start, end, rows, pads, batches, left_out, checkpoints }))
    }

    fn from(
        opened: &OpenPlan,
        sampler: &BatchSampler,
        epoch: u64,
        start: RunPosition,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        // Feasible, so the product fits.
        let until = opened.plan.budget.saturating_mul(epoch + 1);
        let mut stride = sampler.window.saturating_mul((STRIDE / sampler.window).max(1));
        let mut ahead = stride;
        let mut cursor = RunCursor::at(opened, &start)?;
        let mut checkpoints = vec![Checkpoint { position: start.clone(), batches: 0 }];
        let mut batches = 0;
        let mut window: Vec<RowRef> = Vec::new();
        while cursor.total() < until || cursor.uncounted_source()?.is_some() {
            let row = cursor.next_row()?;
            if sampler.batch_rows().is_none() {
                window.push(row);
                if window.len() as u64 == sampler.window {
                    let first = cursor.row() - sampler.window;
                    let full = std::mem::take(&mut window);
                    batches += sampler.arrange(opened, full, first)?.len() as u64;
                }
            }
            ahead -= 1;
            if cursor.row().is_multiple_of(STRIDE) {
                interrupt.check()?;
            }
            if ahead == 0 {
                let given = cursor.row() - start.row;
                let before = sampler.batch_rows().map_or(batches, |rows| given / rows);
                let position = cursor.counted_position()?;
                checkpoints.push(Checkpoint { position, batches: before });
                // One more than an even number, with the start: the last one stays.
                if checkpoints.len() > CHECKPOINTS {
                    let mut even = [true, false].into_iter().cycle();
                    checkpoints.retain(|_| even.next().unwrap_or(true));
                    stride = stride.saturating_mul(2);
                }
                ahead = stride;
            }
        }
        let all = cursor.row() - start.row;
        let (rows, pads) = sampler.rows_given(all);
        let batches = match sampler.batch_rows() {
            Some(size) => (rows + pads) / size,
            None => {
                let first = cursor.row() - window.len() as u64;
                batches + sampler.arrange(opened, window, first)?.len() as u64
            }
        };
        let end = cursor.counted_position()?;
        let left_out = left_out(&opened.plan, sampler, epoch, all - rows);
        let checkpoints = Checkpoints::Walked(checkpoints);
        Ok(Self { epoch, start, end, rows, pads, batches, left_out, checkpoints })
    }

    /// Where the next epoch begins: at the end, or where the rows begin that are carried to it.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn next_start(
        &self,
        opened: &OpenPlan,
        sampler: &BatchSampler,
    ) -> Result<RunPosition, EpochError> {
        let carried = self.end.row - self.start.row - self.rows;
        if !sampler.carries() || carried == 0 {
            return Ok(self.end.clone());
        }
        let mut cursor = self.cursor_before_row(opened, self.rows)?.cursor;
        cursor.skip_to(self.start.row + self.rows)?;
        if let Some(position) = cursor.position() {
            return Ok(position);
        }
        // Its totals are those of the end without the rows between.
        let (row, sources) = (cursor.row(), cursor.sources());
        let mut position = RunPosition { row, sources, ..self.end.clone() };
        while cursor.row() < self.end.row {
            let row = cursor.next_row()?;
            position.take_back(&row);
        }
        Ok(position)
    }

    /// The same epoch that ends where the rows begin which it carries to the next one: what is counted between its start
    /// and its end is then what it gives, and what it leaves out.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn without_carried(
        self,
        opened: &OpenPlan,
        sampler: &BatchSampler,
    ) -> Result<Self, EpochError> {
        // Behind the last epoch nothing is carried: its rows are left out.
        let end =
            if self.left_out > 0 { self.end.clone() } else { self.next_start(opened, sampler)? };
        Ok(Self { end, ..self })
    }

    /// Whether the next epoch begins where this one ends, where its beginning is known without a walk: then no row is
    /// between them.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn ends_where_next_begins(
        &self,
        opened: &OpenPlan,
        sampler: &BatchSampler,
    ) -> Result<bool, EpochError> {
        let Some(next) = start_by_number(opened, sampler, self.epoch + 1)? else {
            return Ok(true);
        };
        self.next_start(opened, sampler)?.is_same_place(&next, opened)
    }

    /// The row of the run before which its rows come: those carried come with the next epoch. Of those left out the
    /// batches decide, which may be any of the last window.
    pub fn last_run_row(&self, sampler: &BatchSampler) -> u64 {
        if sampler.carries() { self.start.row + self.rows } else { self.end.row }
    }

    /// Why nobody gets a row of it; none where there are rows.
    pub fn emptiness(&self, plan: &PlanHeader) -> Option<EmptyEpoch> {
        if self.rows + self.pads > 0 {
            return None;
        }
        let rows = self.end.row - self.start.row;
        let batch = plan.recipe.batch.as_ref();
        let batch_rows = batch.and_then(|batch| batch.rows).unwrap_or_default();
        Some(match batch.map(|batch| batch.tail) {
            _ if rows == 0 => EmptyEpoch::BudgetWithinRow {
                budget: plan.budget,
                unit: plan.recipe.mix.unit.name(),
            },
            Some(BatchTail::Carry) => EmptyEpoch::AllCarried { rows, batch_rows },
            _ => EmptyEpoch::FillsNoBatch { rows, batch_rows },
        })
    }

    /// Refuses an epoch without rows.
    ///
    /// # Errors
    /// [`EpochError::NoRows`] saying why there are none.
    pub fn refuse_empty(&self, plan: &PlanHeader) -> Result<(), EpochError> {
        match self.emptiness(plan) {
            None => Ok(()),
            Some(why) => Err(EpochError::NoRows { epoch: self.epoch, why }),
        }
    }

    /// Real tokens between start and end.
    pub fn tokens(&self) -> u64 {
        self.tokens_of().sum()
    }

    /// Real tokens of each source between start and end.
    pub fn tokens_of(&self) -> impl Iterator<Item = u64> {
        self.end.tokens.iter().zip(&self.start.tokens).map(|(end, start)| end - start)
    }

    /// Rows of each source between start and end.
    pub fn rows_of(&self) -> impl Iterator<Item = u64> {
        self.end.rows.iter().zip(&self.start.rows).map(|(end, start)| end - start)
    }

    /// What each source had given before row `row` of the epoch since the run began, in the mix's unit.
    ///
    /// # Errors
    /// [`EpochError::Store`]; [`EpochError::Bug`] where rows are found by number.
    pub fn given_before(&self, opened: &OpenPlan, row: u64) -> Result<Vec<u64>, EpochError> {
        let mut cursor = self.cursor_before_row(opened, row)?.cursor;
        cursor.skip_to(self.start.row + row)?;
        Ok(cursor.counted_position()?.emitted)
    }

    /// The rows of the run from a place at or before row `row` of the epoch.
    pub(super) fn cursor_before_row(
        &self,
        opened: &OpenPlan,
        row: u64,
    ) -> Result<PlacedCursor, EpochError> {
        let at = self.start.row.saturating_add(row);
        match &self.checkpoints {
            Checkpoints::Walked(all) => from_last(opened, all, |place| place.position.row <= at),
            Checkpoints::ByNumber { .. } => self.cursor_by_number(opened, row),
        }
    }

    /// The rows of the run from a place at or before batch `batch` of the epoch.
    pub(super) fn cursor_before_batch(
        &self,
        opened: &OpenPlan,
        batch: u64,
    ) -> Result<PlacedCursor, EpochError> {
        match &self.checkpoints {
            Checkpoints::Walked(all) => from_last(opened, all, |place| place.batches <= batch),
            Checkpoints::ByNumber { batch: rows, .. } => {
                self.cursor_by_number(opened, batch.saturating_mul(*rows))
            }
        }
    }

    /// The rows of the run from the window of row `row` of the epoch on.
    fn cursor_by_number(&self, opened: &OpenPlan, row: u64) -> Result<PlacedCursor, EpochError> {
        let Checkpoints::ByNumber { window, batch, first, later } = self.checkpoints else {
            return Err(EpochError::bug("an epoch whose places are not found by number"));
        };
        let row = row.min(self.end.row - self.start.row);
        let row = row - row % window;
        let (passes, within) = match row.checked_sub(first) {
            Some(beyond) => (1 + beyond / later, beyond % later),
            None => (0, row),
        };
        let pass = self.start.sources.first().map_or(0, |source| source.pass);
        let source = SourcePosition {
            pass: u32::try_from(u64::from(pass) + passes).unwrap_or(u32::MAX),
            strata: vec![PassPosition::after(within)],
            ..SourcePosition::default()
        };
        let cursor = RunCursor::uncounted(opened, self.start.row + row, source)?;
        Ok(PlacedCursor { cursor, batches: row / batch })
    }
}

/// How many of the rows that fill no batch nobody gets: those carried open the next epoch, if there is one.
pub(super) fn left_out(plan: &PlanHeader, sampler: &BatchSampler, epoch: u64, rows: u64) -> u64 {
    let carried = sampler.carries() && plan.check_feasible(epoch.saturating_add(1)).is_ok();
    if carried { 0 } else { rows }
}

/// From the last of the checkpoints that are `before`.
fn from_last(
    opened: &OpenPlan,
    all: &[Checkpoint],
    before: impl Fn(&Checkpoint) -> bool,
) -> Result<PlacedCursor, EpochError> {
    let last = all.partition_point(before).checked_sub(1).and_then(|last| all.get(last));
    let Checkpoint { position, batches } =
        last.ok_or_else(|| EpochError::bug("an epoch without checkpoints"))?;
    Ok(PlacedCursor { cursor: RunCursor::at(opened, position)?, batches: *batches })
}

/// The beginning of an epoch when it is known without a walk: at time `epoch` budgets every source has just ended a
/// pass. No source can have begun another before, since it is not eligible beyond its share, so that all stand there
/// exactly.
fn start_by_number(
    opened: &OpenPlan,
    sampler: &BatchSampler,
    epoch: u64,
) -> Result<Option<RunPosition>, EpochError> {
    let mut start = RunPosition::start(opened.sources.len());
    if epoch == 0 {
        return Ok(Some(start));
    }
    // What is drawn with replacement ends a pass with other tokens than the pass holds.
    if opened.sources.iter().any(|source| source.rules().replace) {
        return Ok(None);
    }
    let total = opened.plan.budget.saturating_mul(epoch);
    let all = opened.plan.sources.iter().zip(&opened.sources).enumerate();
    for (at, (planned, source)) in all {
        let share = opened.fluid.share(at, total);
        let Some(passes) = planned.passes_of(share) else { return Ok(None) };
        let (mut rows, mut tokens) = (0, 0);
        for (pass, times) in source.by_run(0, passes) {
            let Some(of_pass) = source.pass_rows(pass) else { return Ok(None) };
            rows += of_pass * u64::from(times);
            tokens += source.pass_tokens(pass) * u64::from(times);
        }
        start.row += rows;
        if let Some(source) = start.sources.get_mut(at) {
            source.pass = passes;
        }
        let numbers = (start.emitted.get_mut(at), start.tokens.get_mut(at), start.rows.get_mut(at));
        if let (Some(emitted), Some(given), Some(of)) = numbers {
            (*emitted, *given, *of) = (share, tokens, rows);
        }
    }
    let aligned = !sampler.carries()
        || sampler.batch_rows().is_some_and(|rows| start.row.is_multiple_of(rows));
    Ok((start.total() == total && aligned).then_some(start))
}
