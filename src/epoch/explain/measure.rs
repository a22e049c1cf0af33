//! Measures the mix along an epoch, source by source, and the share of padding in its batches.
//!
//! The mix is measured as what each source was due and had been given. Padding is compared with that of rows in batches
//! as they come: the difference is what grouping by length is for.

use crate::epoch::error::EpochError;
use crate::epoch::permutation::{Permutation, Purpose};
use crate::epoch::plan::{PlanHeader, narrow, ratio};
use crate::epoch::rows::RowRef;
use crate::epoch::run::{BatchSampler, EpochIndex, GlobalBatch, OpenPlan, RunCursor};
use model::Interrupt;
use serde::Serialize;

/// Stretches that an epoch is cut into.
const STRETCHES: u64 = 64;

/// A point of an epoch, between two rows of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MixPoint {
    /// Rows given before it.
    pub row: u64,
    /// What all sources had given since the beginning of the epoch, in the unit of the mix.
    pub given: u64,
    /// What each source had given of it, in the order of the sources.
    pub achieved: Vec<u64>,
    /// What each source was due by then: its share of the run up to here, less that up to the beginning of the epoch.
    pub asked: Vec<u64>,
}

/// Moments of the epoch of `index`, equally far from each other in rows. Of the rows between a checkpoint and a moment the
/// lengths are read: of some thousandths of an epoch each, or a thousand rows.
pub(super) fn points(
    opened: &OpenPlan,
    index: &EpochIndex,
    interrupt: &Interrupt,
) -> Result<Vec<MixPoint>, EpochError> {
    let rows = index.end.row - index.start.row;
    if opened.sources.len() < 2 || rows == 0 {
        return Ok(Vec::new());
    }
    let stretches = STRETCHES.min(rows);
    let mut points = Vec::new();
    for stretch in 0..=stretches {
        interrupt.check()?;
        let row = at(rows, stretch, stretches);
        let emitted = if row == rows {
            index.end.emitted.clone()
        } else {
            index.given_before(opened, row)?
        };
        points.push(point(opened, index, row, &emitted));
    }
    Ok(points)
}

/// The first row behind `stretch` of the stretches.
fn at(rows: u64, stretch: u64, stretches: u64) -> u64 {
    let row = u128::from(rows) * u128::from(stretch) / u128::from(stretches.max(1));
    u64::try_from(row).unwrap_or(rows)
}

fn point(opened: &OpenPlan, index: &EpochIndex, row: u64, emitted: &[u64]) -> MixPoint {
    let begun: u64 = index.start.total();
    let total: u64 = emitted.iter().sum();
    let achieved = emitted.iter().zip(&index.start.emitted);
    let due = |source: usize, total: u64| opened.fluid.share(source, total);
    MixPoint {
        row,
        given: total - begun,
        achieved: achieved.map(|(now, before)| now - before).collect(),
        asked: (0..opened.sources.len())
            .map(|source| due(source, total).saturating_sub(due(source, begun)))
            .collect(),
    }
}

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
pub(super) struct PaddingSum {
    rows: u64,
    real: u128,
    places: u128,
    /// The most places and the most real tokens that a batch has.
    pub most_places: u64,
    pub most_tokens: u64,
}

impl PaddingSum {
    /// Adds a batch of rows with these `tokens`, and of `pads` rows of pads: its places.
    pub fn add(&mut self, plan: &PlanHeader, tokens: impl Iterator<Item = u32>, pads: u64) -> u64 {
        let (mut rows, mut real, mut longest) = (0_u64, 0_u64, 0);
        for tokens in tokens {
            rows += 1;
            real += u64::from(tokens);
            longest = longest.max(tokens);
        }
        let places = u64::from(plan.slot(longest)).saturating_mul(rows + pads);
        self.rows += rows;
        self.real += u128::from(real);
        self.places += u128::from(places);
        self.most_places = self.most_places.max(places);
        self.most_tokens = self.most_tokens.max(real);
        places
    }

    fn add_batch(&mut self, plan: &PlanHeader, batch: &GlobalBatch) {
        self.add(plan, batch.rows.iter().map(|row| row.tokens), batch.pads);
    }

    pub fn percent(&self) -> f64 {
        ratio(self.places - self.real.min(self.places), self.places) * 100.0
    }
}

/// Measures the epoch of `marks` by walking the lengths of its rows, no ids; none where rows come in no
/// batches, or have one length.
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
    let mut shuffled: Vec<RowRef> = Vec::new();
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
                // Listed rows come grouped by another sampler's order: the rows to compare with are shuffled first.
                true => shuffled.extend(rows.iter().cloned()),
                false => {
                    let batches = plain.arrange(opened, rows.clone(), first)?;
                    batches.iter().for_each(|batch| before.add_batch(&opened.plan, batch));
                }
            }
        }
        let batches = sampler.arrange(opened, rows, first)?;
        batches.iter().for_each(|batch| after.add_batch(&opened.plan, batch));
    }
    if !shuffled.is_empty() {
        let n = shuffled.len() as u64;
        let order = Permutation::new(n, opened.plan.recipe.seed, "", 0, Purpose::Positions, 0);
        let places = (0..n).filter_map(|at| usize::try_from(order.at(at)).ok());
        let rows = places.filter_map(|at| shuffled.get(at).cloned()).collect();
        plain
            .arrange(opened, rows, 0)?
            .iter()
            .for_each(|batch| before.add_batch(&opened.plan, batch));
    }
    Ok(Some(Padding {
        rows: after.rows,
        positions: narrow(after.places),
        percent: after.percent(),
        ungrouped_percent: grouped.then(|| before.percent()),
    }))
}
