//! Which rows of a run are given after so many of them: the windows before the open one are, whole, and of
//! the open one those that came first in the order of its batches.

use crate::epoch::error::EpochError;
use crate::epoch::rows::{RowPlace, SourcePosition};
use crate::epoch::run::{
    BatchCursor, BatchSampler, EpochIndex, MixedRow, OpenPlan, RunCursor, RunPosition,
};
use crate::model::Interrupt;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is given of a source.
pub(super) struct Given {
    /// Where the open window begins, at the beginning of a pass when the one before is over.
    pub state: SourcePosition,
    /// Rows of that pass before it that no batch took.
    pub never: BTreeMap<RowPlace, u64>,
    /// Rows of the open window that are given, by pass.
    pub rows: BTreeMap<u32, Vec<RowPlace>>,
}

/// What is given of each source after `next_row` rows of the run. Each epoch is walked once.
///
/// # Errors
/// [`EpochError::Recipe`] when the run is not that long, or the row is one that fills no batch;
/// [`EpochError::Interrupted`]; [`EpochError::Store`].
pub(super) fn at(
    opened: &Arc<OpenPlan>,
    next_row: u64,
    interrupt: &Interrupt,
) -> Result<Vec<Given>, EpochError> {
    let sampler = BatchSampler::of(&opened.plan);
    let ended = |error| match error {
        EpochError::Infeasible { .. } => EpochError::Recipe(format!(
            "the run of the plan ends before row {next_row}, which cannot have been consumed"
        )),
        other => other,
    };
    let mut marks = EpochIndex::of(opened, &sampler, 0, interrupt).map_err(ended)?;
    let mut never = Vec::new();
    loop {
        let given_to = marks.start.row + marks.rows;
        let is_end = next_row == given_to + marks.left_out;
        if next_row <= given_to || (is_end && opened.plan.check_feasible(marks.epoch + 1).is_err())
        {
            break;
        }
        if next_row < given_to + marks.left_out {
            return Err(EpochError::Recipe(format!(
                "row {next_row} of the run was never given: epoch {} ends at row {given_to}, and the {} rows after it do not fill a batch; the next epoch begins at row {}",
                marks.epoch,
                marks.left_out,
                given_to + marks.left_out
            )));
        }
        never.extend(left_out(opened, &sampler, &marks)?);
        marks = marks.next(opened, &sampler, interrupt).map_err(ended)?;
    }
    let row = (next_row - marks.start.row).min(marks.rows);
    let (state, rows) = open_window(opened, &sampler, &marks, row)?;
    let mut given = Vec::new();
    for (source, at) in opened.sources.iter().zip(&state.sources) {
        let state = at.settled(source)?;
        given.push(Given { state, never: BTreeMap::new(), rows: BTreeMap::new() });
    }
    for row in rows {
        if let Some(of) = given.get_mut(row.source) {
            of.rows.entry(row.row.pass).or_default().push(row.row);
        }
    }
    for ((source, row), times) in never {
        if let Some(of) = given.get_mut(source)
            && of.state.pass == row.pass
        {
            *of.never.entry(row).or_default() += times;
        }
    }
    Ok(given)
}

/// Where the window that holds row `row` of an epoch begins, and the rows of it that came before that row.
fn open_window(
    opened: &Arc<OpenPlan>,
    sampler: &BatchSampler,
    marks: &EpochIndex,
    row: u64,
) -> Result<(RunPosition, Vec<MixedRow>), EpochError> {
    let first = row - row % sampler.window;
    let state = state_before(opened, marks, first)?;
    let mut ordered = BatchCursor::at_row(opened, sampler, marks, first)?;
    let mut rows = Vec::new();
    for _ in first..row {
        let next = ordered.next_row()?;
        let next = next.ok_or_else(|| EpochError::bug("an epoch with fewer rows than it says"))?;
        rows.extend(next.row);
    }
    Ok((state, rows))
}

/// The rows of the last window of an epoch that no batch took.
fn left_out(
    opened: &Arc<OpenPlan>,
    sampler: &BatchSampler,
    marks: &EpochIndex,
) -> Result<BTreeMap<(usize, RowPlace), u64>, EpochError> {
    if marks.left_out == 0 {
        return Ok(BTreeMap::new());
    }
    let all = marks.end.row - marks.start.row;
    let first = all - 1 - (all - 1) % sampler.window;
    let mut stream = RunCursor::at(opened, &state_before(opened, marks, first)?)?;
    let mut rows: BTreeMap<(usize, RowPlace), u64> = BTreeMap::new();
    while stream.row() < marks.end.row {
        let row = stream.next_row()?;
        *rows.entry((row.source, row.row)).or_default() += 1;
    }
    let mut ordered = BatchCursor::at_row(opened, sampler, marks, first)?;
    while let Some(given) = ordered.next_row()? {
        let given = given.row.map(|row| (row.source, row.row));
        if let Some(times) = given.and_then(|given| rows.get_mut(&given)) {
            *times = times.saturating_sub(1);
        }
    }
    Ok(rows)
}

/// Where the run stands before row `row` of an epoch, in the order of the mix.
fn state_before(
    opened: &Arc<OpenPlan>,
    marks: &EpochIndex,
    row: u64,
) -> Result<RunPosition, EpochError> {
    let mark = marks.before_row(row).ok_or_else(|| EpochError::bug("no mark"))?;
    let mut stream = RunCursor::at(opened, &mark.state)?;
    while stream.row() < marks.start.row + row {
        stream.next_row()?;
    }
    Ok(stream.state())
}
