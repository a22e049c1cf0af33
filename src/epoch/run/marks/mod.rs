//! Known along an epoch, from which any of its rows is reached by replaying a few: what random access and
//! resuming need and nothing else. It follows from the plan; where it is stored, that is a cache.
//!
//! `computed` says what needs no walk, `stored` is the form in which marks that were walked are kept with the plan.

mod computed;
mod stored;
#[cfg(test)]
mod tests;

use super::batches::Arrangement;
use super::mixed::{MixedCursor, MixedRow, RunState};
use super::open::Opened;
use crate::epoch::error::EpochError;
use crate::epoch::plan::Plan;
use crate::epoch::recipe::Tail;
use crate::model::Interrupt;
use computed::whole_passes;

/// Rows between two marks at first, rounded to whole windows.
const STRIDE: u64 = 1 << 10;

/// Known of a walk, at most; with one more, every second is dropped. So an epoch is reached anywhere by
/// replaying a few thousandths of it, or a thousand rows, and its marks take a few megabytes.
const MARKS: usize = 1 << 13;

/// Where an epoch begins and ends, and how to get into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct Marks {
    /// Which epoch.
    pub epoch: u64,
    /// Where its first row is.
    pub start: RunState,
    /// Where its last row has been given.
    pub end: RunState,
    /// Rows given, without rows of pads.
    pub rows: u64,
    /// Rows of pads at the end.
    pub pads: u64,
    /// Batches; rows where there are none.
    pub batches: u64,
    /// Rows that fill no batch and are left out.
    pub left_out: u64,
    marks: Known,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Known {
    /// Found by walking the epoch: ascending; the first is the start.
    Walked(Vec<Mark>),
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
pub(in crate::epoch) struct Mark {
    pub state: RunState,
    /// Batches given before it in the epoch.
    pub batches: u64,
}

impl Marks {
    /// The marks of `epoch`: at once where one source gives whole passes, or where they are stored with the plan;
    /// else as [`Marks::walked`], from the nearest epoch before it whose marks are stored.
    ///
    /// # Errors
    /// As [`Marks::walked`]; [`EpochError::Store`] too when stored marks are damaged.
    pub fn of(
        opened: &Opened,
        arrangement: &Arrangement,
        epoch: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        opened.plan.check_feasible(epoch)?;
        match Self::known(opened, arrangement, epoch)? {
            Some(marks) => Ok(marks),
            None => Self::walked(opened, arrangement, epoch, interrupt),
        }
    }

    /// The marks of `epoch`, by walking the lengths of its rows, and of those before it where they tell
    /// where it begins.
    ///
    /// # Errors
    /// [`EpochError::Infeasible`] when `max_repeats` does not reach that far;
    /// [`EpochError::Interrupted`]; [`EpochError::Store`].
    pub fn walked(
        opened: &Opened,
        arrangement: &Arrangement,
        epoch: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        opened.plan.check_feasible(epoch)?;
        let mut marks = match whole_passes(opened, arrangement, epoch)? {
            Some(start) => Self::from(opened, arrangement, epoch, start, interrupt)?,
            None => match Self::stored_before(opened, arrangement, epoch)? {
                Some(marks) => marks,
                None => {
                    let start = RunState::start(opened.sources.len());
                    Self::from(opened, arrangement, 0, start, interrupt)?
                }
            },
        };
        while marks.epoch < epoch {
            marks = marks.next(opened, arrangement, interrupt)?;
        }
        Ok(marks)
    }

    /// The marks of the epoch after this one, without a walk over those before it.
    ///
    /// # Errors
    /// As [`Marks::of`].
    pub fn next(
        &self,
        opened: &Opened,
        arrangement: &Arrangement,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        let epoch = self.epoch + 1;
        opened.plan.check_feasible(epoch)?;
        if let Some(marks) = Self::known(opened, arrangement, epoch)? {
            return Ok(marks);
        }
        let start = self.following(opened, arrangement)?;
        Self::from(opened, arrangement, epoch, start, interrupt)
    }

    /// The marks of `epoch`, where they need no walk.
    fn known(
        opened: &Opened,
        arrangement: &Arrangement,
        epoch: u64,
    ) -> Result<Option<Self>, EpochError> {
        match Self::computed(opened, arrangement, epoch)? {
            Some(marks) => Ok(Some(marks)),
            None => match opened.stored {
                Some(number) => Self::stored(opened, arrangement, number, epoch),
                None => Ok(None),
            },
        }
    }

    /// Whether the next epoch begins where this one ends, where its beginning is known without a walk: then
    /// no row is between them.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn meets_next(
        &self,
        opened: &Opened,
        arrangement: &Arrangement,
    ) -> Result<bool, EpochError> {
        let Some(next) = whole_passes(opened, arrangement, self.epoch + 1)? else {
            return Ok(true);
        };
        let end = self.following(opened, arrangement)?;
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
        opened: &Opened,
        arrangement: &Arrangement,
    ) -> Result<RunState, EpochError> {
        if !arrangement.carries() {
            return Ok(self.end.clone());
        }
        let mark = self.before_row(self.rows);
        let mark = mark.ok_or_else(|| EpochError::bug("an epoch without marks"))?;
        let mut stream = MixedCursor::at(opened, &mark.state)?;
        while stream.row() < self.start.row + self.rows {
            stream.next_row()?;
        }
        Ok(stream.state())
    }

    fn from(
        opened: &Opened,
        arrangement: &Arrangement,
        epoch: u64,
        start: RunState,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        // Feasible, so the product fits.
        let until = opened.plan.budget.saturating_mul(epoch + 1);
        let mut stride = arrangement.window.saturating_mul((STRIDE / arrangement.window).max(1));
        let mut to_mark = stride;
        let mut stream = MixedCursor::at(opened, &start)?;
        let mut marks = vec![Mark { state: start.clone(), batches: 0 }];
        let mut batches = 0;
        let mut window: Vec<MixedRow> = Vec::new();
        while stream.total() < until || stream.follows()?.is_some() {
            let row = stream.next_row()?;
            if arrangement.batch_rows().is_none() {
                window.push(row);
                if window.len() as u64 == arrangement.window {
                    let first = stream.row() - arrangement.window;
                    let full = std::mem::take(&mut window);
                    batches += arrangement.arrange(opened, full, first)?.len() as u64;
                }
            }
            to_mark -= 1;
            if to_mark == 0 {
                interrupt.check()?;
                let given = stream.row() - start.row;
                let before = arrangement.batch_rows().map_or(batches, |rows| given / rows);
                marks.push(Mark { state: stream.state(), batches: before });
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
        let (rows, pads) = arrangement.given(all);
        let batches = match arrangement.batch_rows() {
            Some(size) => (rows + pads) / size,
            None => {
                let first = stream.row() - window.len() as u64;
                batches + arrangement.arrange(opened, window, first)?.len() as u64
            }
        };
        let end = stream.state();
        let left_out = left_out(&opened.plan, arrangement, epoch, all - rows);
        let marks = Known::Walked(marks);
        Ok(Self { epoch, start, end, rows, pads, batches, left_out, marks })
    }

    /// The row of the run before which its rows come: those carried come with the next epoch. Of those left
    /// out the batches decide, which may be any of the last window.
    pub fn until(&self, arrangement: &Arrangement) -> u64 {
        if arrangement.carries() { self.start.row + self.rows } else { self.end.row }
    }

    /// Refuses an epoch without rows.
    ///
    /// # Errors
    /// [`EpochError::NoRows`] saying why there are none.
    pub fn refuse_empty(&self, plan: &Plan) -> Result<(), EpochError> {
        if self.rows + self.pads > 0 {
            return Ok(());
        }
        let all = self.end.row - self.start.row;
        let batch = plan.recipe.batch.as_ref();
        let rows = batch.and_then(|batch| batch.rows).unwrap_or_default();
        let tail = match batch.map(|batch| batch.tail) {
            Some(Tail::Carry) => "they are all carried to the next epoch; lower batch.rows",
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
    pub fn before_row(&self, row: u64) -> Option<Mark> {
        let at = self.start.row + row;
        match &self.marks {
            Known::Walked(marks) => last(marks, |mark| mark.state.row <= at),
            Known::Computed { .. } => self.compute(row),
        }
    }

    /// The last mark at or before batch `batch` of the epoch.
    pub fn before_batch(&self, batch: u64) -> Option<Mark> {
        match &self.marks {
            Known::Walked(marks) => last(marks, |mark| mark.batches <= batch),
            Known::Computed { batch: rows, .. } => self.compute(batch.saturating_mul(*rows)),
        }
    }
}

/// How many of the rows that fill no batch nobody gets: those carried open the next epoch, if there is one.
fn left_out(plan: &Plan, arrangement: &Arrangement, epoch: u64, rows: u64) -> u64 {
    let carried = arrangement.carries() && plan.check_feasible(epoch.saturating_add(1)).is_ok();
    if carried { 0 } else { rows }
}

fn last(marks: &[Mark], until: impl Fn(&Mark) -> bool) -> Option<Mark> {
    let at = marks.partition_point(until);
    marks.get(at.checked_sub(1)?).cloned()
}
