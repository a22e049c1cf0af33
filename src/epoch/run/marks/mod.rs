//! Checkpoints along an epoch, from which any of its rows is reached by replaying a few: what random access and
//! resuming need and nothing else. It follows from the plan; where it is stored, that is a cache.
//!
//! `computed` says what needs no walk, `stored` is the form in which marks that were walked are kept with the plan.

mod computed;
mod stored;
#[cfg(test)]
mod tests;

use super::batches::BatchSampler;
use super::cursor::{MixedRow, RunCursor, RunPosition};
use super::open::OpenPlan;
use crate::epoch::error::EpochError;
use crate::epoch::plan::PlanHeader;
use crate::epoch::recipe::BatchTail;
use crate::model::Interrupt;
use computed::start_by_number;

/// Rows between two marks at first, rounded to whole windows.
const STRIDE: u64 = 1 << 10;

/// Checkpoints of a walk, at most; with one more, every second is dropped. So an epoch is reached anywhere by
/// replaying a few thousandths of it, or a thousand rows, and its marks take a few megabytes.
const MARKS: usize = 1 << 13;

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
    marks: Checkpoints,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Checkpoints {
    /// Found by walking the epoch: ascending; the first is the start.
    Walked(Vec<Checkpoint>),
    /// Any state is known: one source gives its rows pass after pass.
    Computed {
        /// Rows of a window, and of a batch.
        window: u64,
        batch: u64,
        /// Rows of the pass that the epoch begins with, and of each one after it.
        first: u64,
        later: u64,
    },
}

/// A moment of an epoch between two windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct Checkpoint {
    pub state: RunPosition,
    /// Batches given before it in the epoch.
    pub batches: u64,
}

impl EpochIndex {
    /// The marks of `epoch`: at once where one source gives whole passes, or where they are stored with the plan;
    /// else as [`EpochIndex::walked`], from the nearest epoch before it whose marks are stored.
    ///
    /// # Errors
    /// As [`EpochIndex::walked`]; [`EpochError::Store`] too when stored marks are damaged.
    pub fn of(
        opened: &OpenPlan,
        sampler: &BatchSampler,
        epoch: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        opened.plan.check_feasible(epoch)?;
        match Self::known(opened, sampler, epoch)? {
            Some(marks) => Ok(marks),
            None => Self::walked(opened, sampler, epoch, interrupt),
        }
    }

    /// The marks of `epoch`, by walking the lengths of its rows, and of those before it where they tell
    /// where it begins.
    ///
    /// # Errors
    /// [`EpochError::Infeasible`] when `max_repeats` does not reach that far;
    /// [`EpochError::Interrupted`]; [`EpochError::Store`].
    pub fn walked(
        opened: &OpenPlan,
        sampler: &BatchSampler,
        epoch: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        opened.plan.check_feasible(epoch)?;
        let mut marks = match start_by_number(opened, sampler, epoch)? {
            Some(start) => Self::from(opened, sampler, epoch, start, interrupt)?,
            None => match Self::stored_before(opened, sampler, epoch)? {
                Some(marks) => marks,
                None => {
                    let start = RunPosition::start(opened.sources.len());
                    Self::from(opened, sampler, 0, start, interrupt)?
                }
            },
        };
        while marks.epoch < epoch {
            marks = marks.next(opened, sampler, interrupt)?;
        }
        Ok(marks)
    }

    /// The marks of the epoch after this one, without a walk over those before it.
    ///
    /// # Errors
    /// As [`EpochIndex::of`].
    pub fn next(
        &self,
        opened: &OpenPlan,
        sampler: &BatchSampler,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        let epoch = self.epoch + 1;
        opened.plan.check_feasible(epoch)?;
        if let Some(marks) = Self::known(opened, sampler, epoch)? {
            return Ok(marks);
        }
        let start = self.following(opened, sampler)?;
        Self::from(opened, sampler, epoch, start, interrupt)
    }

    /// The marks of `epoch`, where they need no walk.
    fn known(
        opened: &OpenPlan,
        sampler: &BatchSampler,
        epoch: u64,
    ) -> Result<Option<Self>, EpochError> {
        match Self::computed(opened, sampler, epoch)? {
            Some(marks) => Ok(Some(marks)),
            None => match opened.stored {
                Some(number) => Self::stored(opened, sampler, number, epoch),
                None => Ok(None),
            },
        }
    }

    /// Whether the next epoch begins where this one ends, where its beginning is known without a walk: then
    /// no row is between them.
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
        let end = self.following(opened, sampler)?;
        let mut meets = (end.row, &end.tokens, &end.rows) == (next.row, &next.tokens, &next.rows);
        for (source, (end, next)) in
            opened.sources.iter().zip(end.sources.iter().zip(&next.sources))
        {
            let end = end.settled(source)?;
            meets &= end.pass == next.pass && end.is_at_start();
        }
        Ok(meets)
    }

    /// Where the next epoch begins: at the end, or where rows carried over begin.
    fn following(
        &self,
        opened: &OpenPlan,
        sampler: &BatchSampler,
    ) -> Result<RunPosition, EpochError> {
        if !sampler.carries() {
            return Ok(self.end.clone());
        }
        let mark = self.before_row(self.rows);
        let mark = mark.ok_or_else(|| EpochError::bug("an epoch without marks"))?;
        let mut stream = RunCursor::at(opened, &mark.state)?;
        while stream.row() < self.start.row + self.rows {
            stream.next_row()?;
        }
        Ok(stream.state())
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
        let mut to_mark = stride;
        let mut stream = RunCursor::at(opened, &start)?;
        let mut marks = vec![Checkpoint { state: start.clone(), batches: 0 }];
        let mut batches = 0;
        let mut window: Vec<MixedRow> = Vec::new();
        while stream.total() < until || stream.follows()?.is_some() {
            let row = stream.next_row()?;
            if sampler.batch_rows().is_none() {
                window.push(row);
                if window.len() as u64 == sampler.window {
                    let first = stream.row() - sampler.window;
                    let full = std::mem::take(&mut window);
                    batches += sampler.arrange(opened, full, first)?.len() as u64;
                }
            }
            to_mark -= 1;
            if to_mark == 0 {
                interrupt.check()?;
                let given = stream.row() - start.row;
                let before = sampler.batch_rows().map_or(batches, |rows| given / rows);
                marks.push(Checkpoint { state: stream.state(), batches: before });
                // One more than an even number, with the start: the last one stays.
                if marks.len() > MARKS {
                    let mut even = [true, false].into_iter().cycle();
                    marks.retain(|_| even.next().unwrap_or(true));
                    stride = stride.saturating_mul(2);
                }
                to_mark = stride;
            }
        }
        let all = stream.row() - start.row;
        let (rows, pads) = sampler.given(all);
        let batches = match sampler.batch_rows() {
            Some(size) => (rows + pads) / size,
            None => {
                let first = stream.row() - window.len() as u64;
                batches + sampler.arrange(opened, window, first)?.len() as u64
            }
        };
        let end = stream.state();
        let left_out = left_out(&opened.plan, sampler, epoch, all - rows);
        let marks = Checkpoints::Walked(marks);
        Ok(Self { epoch, start, end, rows, pads, batches, left_out, marks })
    }

    /// The row of the run before which its rows come: those carried come with the next epoch. Of those left
    /// out the batches decide, which may be any of the last window.
    pub fn until(&self, sampler: &BatchSampler) -> u64 {
        if sampler.carries() { self.start.row + self.rows } else { self.end.row }
    }

    /// Refuses an epoch without rows.
    ///
    /// # Errors
    /// [`EpochError::NoRows`] saying why there are none.
    pub fn refuse_empty(&self, plan: &PlanHeader) -> Result<(), EpochError> {
        if self.rows + self.pads > 0 {
            return Ok(());
        }
        let all = self.end.row - self.start.row;
        let batch = plan.recipe.batch.as_ref();
        let rows = batch.and_then(|batch| batch.rows).unwrap_or_default();
        let tail = match batch.map(|batch| batch.tail) {
            Some(BatchTail::Carry) => "they are all carried to the next epoch; lower batch.rows",
            _ => {
                "they are all left out; lower batch.rows, or use batch.tail = \"pad\" or \"carry\""
            }
        };
        let why = format!("its {all} rows do not fill a batch of batch.rows = {rows}, and {tail}");
        Err(EpochError::NoRows { epoch: self.epoch, why })
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

    /// The last mark at or before row `row` of the epoch.
    pub fn before_row(&self, row: u64) -> Option<Checkpoint> {
        let at = self.start.row + row;
        match &self.marks {
            Checkpoints::Walked(marks) => last(marks, |mark| mark.state.row <= at),
            Checkpoints::Computed { .. } => self.compute(row),
        }
    }

    /// The last mark at or before batch `batch` of the epoch.
    pub fn before_batch(&self, batch: u64) -> Option<Checkpoint> {
        match &self.marks {
            Checkpoints::Walked(marks) => last(marks, |mark| mark.batches <= batch),
            Checkpoints::Computed { batch: rows, .. } => self.compute(batch.saturating_mul(*rows)),
        }
    }
}

/// How many of the rows that fill no batch nobody gets: those carried open the next epoch, if there is one.
fn left_out(plan: &PlanHeader, sampler: &BatchSampler, epoch: u64, rows: u64) -> u64 {
    let carried = sampler.carries() && plan.check_feasible(epoch.saturating_add(1)).is_ok();
    if carried { 0 } else { rows }
}

fn last(marks: &[Checkpoint], until: impl Fn(&Checkpoint) -> bool) -> Option<Checkpoint> {
    let at = marks.partition_point(until);
    marks.get(at.checked_sub(1)?).cloned()
}
