//! What of an epoch is known without a walk: where it begins when all sources have just ended a pass, and all of it
//! when one source gives whole passes.

use super::{Checkpoint, Checkpoints, EpochIndex, left_out};
use crate::epoch::error::EpochError;
use crate::epoch::recipe::MixUnit;
use crate::epoch::rows::PassPosition;
use crate::epoch::run::{BatchSampler, OpenPlan, RunPosition};

impl EpochIndex {
    /// The marks of an epoch of whole passes over one source with one stratum whose rows are known by number: row `r` of a
    /// pass is its row `r`, so that nothing needs to be walked.
    pub(super) fn computed(
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
        let pass = start.sources.first().map_or(0, |state| state.pass);
        let lengths = source.pass_rows(pass).zip(source.pass_rows(pass + 1));
        let Some((first, later)) = lengths.filter(|(first, later)| *first > 0 && *later > 0) else {
            return Ok(None);
        };
        let all = end.row - start.row;
        let (rows, pads) = sampler.given(all);
        let left_out = left_out(&opened.plan, sampler, epoch, all - rows);
        let batches = (rows + pads) / batch;
        let marks = Checkpoints::Computed { window: sampler.window, batch, first, later };
        Ok(Some(Self { epoch, start, end, rows, pads, batches, left_out, marks }))
    }

    /// The mark before the window of row `row`. Where it stands is exact; what was given by then is not
    /// known and stands as at the start, which says nothing of one source alone.
    pub(super) fn compute(&self, row: u64) -> Option<Checkpoint> {
        let Checkpoints::Computed { window, batch, first, later } = self.marks else { return None };
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
        source.strata = vec![PassPosition::after(within)];
        Some(Checkpoint { state, batches: row / batch })
    }
}

/// The beginning of an epoch when it is known without a walk: at time `epoch` budgets every source has
/// just ended a pass. No source can have begun another before, since it is not eligible beyond its
/// share, so that all stand there exactly.
pub(super) fn start_by_number(
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
    let aligned = !sampler.carries()
        || sampler.batch_rows().is_some_and(|rows| start.row.is_multiple_of(rows));
    Ok((start.total() == total && aligned).then_some(start))
}
