//! How much of the batches of an epoch is padding when every row is padded to the longest of its batch,
//! and how much would be if rows came in batches as they come: what grouping by length is for.

use crate::epoch::error::EpochError;
use crate::epoch::permutation::{Permutation, Purpose};
use crate::epoch::plan::{narrow, ratio};
use crate::epoch::run::{BatchSampler, EpochIndex, GlobalBatch, MixedRow, OpenPlan, RunCursor};
use crate::model::Interrupt;
use serde::Serialize;

/// Rows that are examined, at most, from the beginning of the epoch on; a window more where windows are larger.
const LOOKED_AT: u64 = 1 << 22;

/// Padding of batches whose rows are padded to the longest of each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Padding {
    /// Rows it was measured on: the first of the epoch, those in batches.
    pub rows: u64,
    /// Their positions, pads included.
    pub positions: u64,
    /// Share of the positions that is padding, in percent.
    pub percent: f64,
    /// The same with rows in batches as they come, where an order groups them by length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ungrouped_percent: Option<f64>,
}

/// Real tokens and positions of batches.
#[derive(Clone, Copy, Debug, Default)]
struct PaddingSum {
    rows: u64,
    real: u128,
    places: u128,
}

impl PaddingSum {
    fn add(&mut self, opened: &OpenPlan, batch: &GlobalBatch) {
        let plan = &opened.plan;
        let longest = batch.rows.iter().map(|row| plan.slot(row.row.tokens)).max().unwrap_or(0);
        self.rows += batch.rows.len() as u64;
        self.real += batch.rows.iter().map(|row| u128::from(row.row.tokens)).sum::<u128>();
        self.places += u128::from(longest) * u128::from(batch.count());
    }

    fn percent(&self) -> f64 {
        ratio(self.places - self.real.min(self.places), self.places) * 100.0
    }
}

/// Measures the epoch of `marks` by walking the lengths of its rows, no ids; none where rows come in no
/// batches, or have one length.
///
/// # Errors
/// [`EpochError::Interrupted`]; [`EpochError::Store`].
pub(in crate::epoch) fn measure(
    opened: &OpenPlan,
    sampler: &BatchSampler,
    marks: &EpochIndex,
    interrupt: &Interrupt,
) -> Result<Option<Padding>, EpochError> {
    if opened.plan.fixed_length() || !sampler.has_batches() {
        return Ok(None);
    }
    let plain = sampler.ungrouped();
    let grouped = sampler.is_grouped(&opened.plan);
    let (mut after, mut before) = (PaddingSum::default(), PaddingSum::default());
    let mut shuffled: Vec<MixedRow> = Vec::new();
    let mut stream = RunCursor::at(opened, &marks.start)?;
    let until = marks.last_run_row(sampler);
    while stream.row() < until && after.rows < LOOKED_AT {
        interrupt.check()?;
        let first = stream.row();
        let mut rows = Vec::new();
        while stream.row() < until && stream.row() - first < sampler.window {
            rows.push(stream.next_row()?);
        }
        if grouped && sampler.window > 1 {
            match opened.is_listed() {
                // They come grouped by another's order.
                true => shuffled.extend(rows.iter().cloned()),
                false => {
                    let batches = plain.arrange(opened, rows.clone(), first)?;
                    batches.iter().for_each(|batch| before.add(opened, batch));
                }
            }
        }
        let batches = sampler.arrange(opened, rows, first)?;
        batches.iter().for_each(|batch| after.add(opened, batch));
    }
    if !shuffled.is_empty() {
        let n = shuffled.len() as u64;
        let order = Permutation::new(n, opened.plan.recipe.seed, "", 0, Purpose::Positions, 0);
        let places = (0..n).filter_map(|at| usize::try_from(order.at(at)).ok());
        let rows = places.filter_map(|at| shuffled.get(at).cloned()).collect();
        plain.arrange(opened, rows, 0)?.iter().for_each(|batch| before.add(opened, batch));
    }
    Ok(Some(Padding {
        rows: after.rows,
        positions: narrow(after.places),
        percent: after.percent(),
        ungrouped_percent: grouped.then(|| before.percent()),
    }))
}
