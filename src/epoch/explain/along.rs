//! The mix along an epoch: what each source was due and had been given, at moments of it.

use crate::epoch::error::EpochError;
use crate::epoch::run::{EpochIndex, OpenPlan};
use crate::model::Interrupt;
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
///
/// # Errors
/// [`EpochError::Interrupted`]; [`EpochError::Store`].
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

/// The row behind so many of the stretches.
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
