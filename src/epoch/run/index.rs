//! Where each epoch of a run begins and ends, and points from which any row of it is reached quickly.
//!
//! An index follows from the plan; what `index_store` keeps of it is a cache. An epoch that was walked has checkpoints,
//! whose totals are exact. Whole passes of one source need no walk: their points are found by arithmetic and have no
//! totals, so that nobody can count by them. Where arithmetic does not know the start of an epoch,
//! [`EpochIndex::next_start`] of the epoch before it is the only rule.

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

/// With more checkpoints than this, every second is dropped. So any row of an epoch is reached by replaying a few
/// thousandths of it, or a thousand rows, and its index takes a few megabytes.
const MOST_CHECKPOINTS: usize = 1 << 13;

/// Where an epoch begins and ends, and how to reach its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct EpochIndex {
    /// Its number, from 0.
    pub epoch: u64,
    /// Before its first row.
    pub start: RunPosition,
    /// Behind its last row, and behind the rows that it carries to the next epoch or leaves out.
    pub end: RunPosition,
    /// Rows given, without rows of pads.
    pub rows: u64,
    /// Rows of pads at the end.
    pub pads: u64,
    /// Batches; rows where the plan has no batches.
    pub batches: u64,
    /// Rows that fill no batch and that no epoch gives.
    pub left_out: u64,
    pub(super) checkpoints: Checkpoints,
}

/// The points between two windows of an epoch from which its rows can be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Checkpoints {
    /// Noted on a walk over the epoch: ascending; the first is the start.
    Walked(Vec<Checkpoint>),
    /// Any window, by arithmetic: one source gives its rows pass after pass.
    ByNumber {
        /// Rows of a window, and of a batch.
        window: u64,
        batch: u64,
        /// Rows of the pass that the epoch begins with, and of each one after it.
        first: u64,
        later: u64,
    },
}

/// A point between two windows of an epoch, with the exact totals of the run so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct Checkpoint {
    pub position: RunPosition,
    /// Batches of the epoch before it.
    pub batches: u64,
}

/// A cursor within an epoch, between two windows.
pub(super) struct PlacedCursor {
    pub cursor: RunCursor,
    /// Batches of the epoch before it.
    pub batches: u64,
}

impl EpochIndex {
    /// The index of `epoch`: by arithmetic or as it is stored with the plan; else by a walk from the nearest epoch
    /// before it whose index is stored.
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

    /// The index of the first epoch that gives rows: where rows are carried, the first epochs may have too few for a
    /// batch. It begins where the run begins.
    ///
    /// # Errors
    /// [`EpochError::NoRows`] of epoch 0 when no epoch gives any; the errors of [`EpochIndex::of`].
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

    /// The index of `epoch`, by walking the lengths of its rows, and of earlier epochs where its start depends on them.
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
            Some(start) => Self::walk(opened, sampler, epoch, start, interrupt)?,
            None => match Self::stored_before(opened, sampler, epoch)? {
                Some(index) => index,
                None => {
                    let start = RunPosition::start(opened.sources.len());
                    Self::walk(opened, sampler, 0, start, interrupt)?
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
        Self::walk(opened, sampler, epoch, start, interrupt)
    }

    /// How many epochs from this one on are alike, as far as arithmetic shows: equal in rows, pads and batches, and
    /// beginning at equal distances. At least 1; the last epoch of the plan is not counted.
    pub fn alike(&self, opened: &OpenPlan) -> u64 {
        let (Checkpoints::ByNumber { .. }, [source]) = (&self.checkpoints, &*opened.sources) else {
            return 1;
        };
        let pass = |at: &RunPosition| at.sources.first().map_or(0, |source| source.pass);
        let (first, end) = (pass(&self.start), pass(&self.end));
        // Passes of one run of passes hold equal rows.
        let passes = source.by_run(first, source.rules().max_repeats);
        let passes = passes.first().map_or(0, |(_, passes)| *passes);
        let last = opened.plan.feasible_epochs().saturating_sub(1).saturating_sub(self.epoch);
        u64::from(passes / (end - first).max(1)).min(last).max(1)
    }

    /// The index of the epoch that comes `epochs` after this one, where these are [`EpochIndex::alike`].
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

    /// The index of `epoch` where it is known without a walk: by arithmetic, or stored.
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
        // In other units rows may count nothing, and come after the row that ends the epoch.
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

    /// Walks the rows of `epoch` from its start.
    fn walk(
        opened: &OpenPlan,
        sampler: &BatchSampler,
        epoch: u64,
        start: RunPosition,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        // The plan is feasible so far, so the product fits.
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
                // The number of checkpoints is odd, so that both the start and the last one stay.
                if checkpoints.len() > MOST_CHECKPOINTS {
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

    /// Where the next epoch begins: before the rows that this one carries to it, else at the end.
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
        // The totals at that point are those of the end without the rows between the two.
        let (row, sources) = (cursor.row(), cursor.sources());
        let mut position = RunPosition { row, sources, ..self.end.clone() };
        while cursor.row() < self.end.row {
            let row = cursor.next_row()?;
            position.take_back(&row);
        }
        Ok(position)
    }

    /// This index with its end before the rows that are carried to the next epoch. Counts between `start` and `end` are
    /// then those of the rows that the epoch gives or leaves out.
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

    /// Whether [`EpochIndex::next_start`] agrees with arithmetic, so that no row is lost between two epochs; true where
    /// arithmetic does not know the next start.
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

    /// The row of the run at which a cursor over this epoch stops: before rows that are carried to the next one, and
    /// behind rows that are left out, since any rows of the last window may be those.
    pub fn last_run_row(&self, sampler: &BatchSampler) -> u64 {
        if sampler.carries() { self.start.row + self.rows } else { self.end.row }
    }

    /// Why the epoch gives no rows; none where it gives some.
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

    /// A cursor at the last point that is not behind row `row` of the epoch.
    pub(super) fn cursor_before_row(
        &self,
        opened: &OpenPlan,
        row: u64,
    ) -> Result<PlacedCursor, EpochError> {
        let at = self.start.row.saturating_add(row);
        match &self.checkpoints {
            Checkpoints::Walked(all) => from_last(opened, all, |point| point.position.row <= at),
            Checkpoints::ByNumber { .. } => self.cursor_by_number(opened, row),
        }
    }

    /// A cursor at the last point that is not behind batch `batch` of the epoch.
    pub(super) fn cursor_before_batch(
        &self,
        opened: &OpenPlan,
        batch: u64,
    ) -> Result<PlacedCursor, EpochError> {
        match &self.checkpoints {
            Checkpoints::Walked(all) => from_last(opened, all, |point| point.batches <= batch),
            Checkpoints::ByNumber { batch: rows, .. } => {
                self.cursor_by_number(opened, batch.saturating_mul(*rows))
            }
        }
    }

    /// A cursor at the beginning of the window that row `row` of the epoch is in.
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

/// How many of the `rows` that fill no batch are left out: none where they are carried and there is a next epoch.
pub(super) fn left_out(plan: &PlanHeader, sampler: &BatchSampler, epoch: u64, rows: u64) -> u64 {
    let carried = sampler.carries() && plan.check_feasible(epoch.saturating_add(1)).is_ok();
    if carried { 0 } else { rows }
}

/// A cursor at the last of the checkpoints that are `before` a row or batch.
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

/// Where an epoch begins, if every source has just ended a pass when `epoch` budgets are given. No source has begun
/// another pass by then, since it gives no row beyond its share: so the position is exact without a walk. Else none.
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
