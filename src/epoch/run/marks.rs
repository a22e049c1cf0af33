//! Known along an epoch, from which any of its rows is reached by replaying a few: what random access and
//! resuming need and nothing else. It follows from the plan; where it is stored, that is a cache.

use super::batches::Arrangement;
use super::mixed::{MixedCursor, MixedRow, RunState};
use super::open::Opened;
use crate::epoch::error::EpochError;
use crate::epoch::plan::Plan;
use crate::epoch::recipe::{Tail, Unit};
use crate::epoch::rows::PassState;
use crate::model::Interrupt;

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
    /// The marks of `epoch`; at once where one source gives whole passes, else as [`Marks::walked`].
    ///
    /// # Errors
    /// As [`Marks::walked`].
    pub fn of(
        opened: &Opened,
        arrangement: &Arrangement,
        epoch: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        opened.plan.check_feasible(epoch)?;
        match Self::computed(opened, arrangement, epoch)? {
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
            None => {
                let start = RunState::start(opened.sources.len());
                Self::from(opened, arrangement, 0, start, interrupt)?
            }
        };
        while marks.epoch < epoch {
            marks = marks.next(opened, arrangement, interrupt)?;
        }
        Ok(marks)
    }

    /// The marks of the epoch after this one, without a walk over those before it.
    ///
    /// # Errors
    /// As [`Marks::walked`].
    pub fn next(
        &self,
        opened: &Opened,
        arrangement: &Arrangement,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        let epoch = self.epoch + 1;
        opened.plan.check_feasible(epoch)?;
        if let Some(marks) = Self::computed(opened, arrangement, epoch)? {
            return Ok(marks);
        }
        let start = self.following(opened, arrangement)?;
        Self::from(opened, arrangement, epoch, start, interrupt)
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

    /// The marks of an epoch of whole passes over one source with one stratum whose rows are known by
    /// number: row `r` of a pass is its row `r`, so that nothing needs to be walked.
    fn computed(
        opened: &Opened,
        arrangement: &Arrangement,
        epoch: u64,
    ) -> Result<Option<Self>, EpochError> {
        let ([source], Some(batch)) = (opened.sources.as_slice(), arrangement.batch_rows()) else {
            return Ok(None);
        };
        // Rows that count nothing could come after the moment at which an epoch ends.
        let counts = matches!(source.rules().unit, Unit::Tokens | Unit::Rows);
        if source.strata() != 1
            || !counts
            || batch == 0
            || !arrangement.window.is_multiple_of(batch)
        {
            return Ok(None);
        }
        let bounds = (
            whole_passes(opened, arrangement, epoch)?,
            whole_passes(opened, arrangement, epoch + 1)?,
        );
        let (Some(start), Some(end)) = bounds else { return Ok(None) };
        let pass = start.sources.first().map_or(0, |state| state.pass);
        let lengths = source.pass_rows(pass).zip(source.pass_rows(pass + 1));
        let Some((first, later)) = lengths.filter(|(first, later)| *first > 0 && *later > 0) else {
            return Ok(None);
        };
        let all = end.row - start.row;
        let (rows, pads) = arrangement.given(all);
        let left_out = left_out(&opened.plan, arrangement, epoch, all - rows);
        let batches = (rows + pads) / batch;
        let marks = Known::Computed { window: arrangement.window, batch, first, later };
        Ok(Some(Self { epoch, start, end, rows, pads, batches, left_out, marks }))
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
                if interrupt.is_raised() {
                    return Err(EpochError::Interrupted);
                }
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
        let why = format!("its {all} rows fill no batch of batch.rows = {rows}, and {tail}");
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

    /// The mark before the window of row `row`. Where it stands is exact; what was given by then is not
    /// known and stands as at the start, which says nothing of one source alone.
    fn compute(&self, row: u64) -> Option<Mark> {
        let Known::Computed { window, batch, first, later } = self.marks else { return None };
        let row = row.min(self.end.row - self.start.row);
        let row = row - row % window;
        let mut state = self.start.clone();
        state.row += row;
        *state.rows.first_mut()? += row;
        let source = state.sources.first_mut()?;
        let mut within = row;
        if let Some(beyond) = row.checked_sub(first) {
            source.pass += 1 + u32::try_from(beyond / later).ok()?;
            within = beyond % later;
        }
        source.strata = vec![PassState::after(within)];
        Some(Mark { state, batches: row / batch })
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

/// The beginning of an epoch when it is known without a walk: at time `epoch` budgets every source has
/// just ended a pass. No source can have begun another before, since it is not eligible beyond its
/// share, so that all stand there exactly.
fn whole_passes(
    opened: &Opened,
    arrangement: &Arrangement,
    epoch: u64,
) -> Result<Option<RunState>, EpochError> {
    let mut start = RunState::start(opened.sources.len());
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
        for pass in 0..passes.min(2) {
            let Some(of_pass) = source.pass_rows(pass) else { return Ok(None) };
            // The first pass may have a pool of its own; all later ones are alike.
            let times = if pass == 0 { 1 } else { u64::from(passes) - 1 };
            rows += of_pass * times;
            tokens += source.pass_tokens(pass) * times;
        }
        start.row += rows;
        if let Some(state) = start.sources.get_mut(at) {
            state.pass = passes;
        }
        let numbers = (start.emitted.get_mut(at), start.tokens.get_mut(at), start.rows.get_mut(at));
        if let (Some(emitted), Some(given), Some(of)) = numbers {
            (*emitted, *given, *of) = (share, tokens, rows);
        }
    }
    let aligned = !arrangement.carries()
        || arrangement.batch_rows().is_some_and(|rows| start.row.is_multiple_of(rows));
    Ok((start.total() == total && aligned).then_some(start))
}

#[cfg(test)]
#[path = "marks_tests.rs"]
mod tests;
