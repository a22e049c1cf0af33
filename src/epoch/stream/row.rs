//! Rows and batches of an epoch as its users have them.

use crate::epoch::fetch::FilledRow;
use crate::epoch::pack::Segment;
use crate::epoch::views::Shape;
use crate::model::LossSpan;
use std::sync::Arc;

/// A row with its ids.
#[derive(Clone, Debug)]
pub struct EpochRow {
    pub(super) number: u64,
    pub(super) source: Option<Arc<str>>,
    pub(super) row: FilledRow,
}

/// The rows that a rank has of a step.
#[derive(Clone, Debug)]
pub struct EpochBatch {
    /// Number of the batch in the epoch; past the last for a rank that the last step has no batch for.
    pub number: u64,
    /// The rows of the rank; none where the last step has no batch for it.
    pub rows: Vec<EpochRow>,
}

impl EpochRow {
    /// Number of the row in the epoch.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The global batch it is in; none where the recipe has no batches.
    #[must_use]
    pub const fn batch(&self) -> Option<u64> {
        self.row.batch
    }

    /// Its source; none for a row of pads.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Its ids, pads included; none where they were not read ([`EpochSteps::next_unread`](super::EpochSteps::next_unread)).
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.row.ids
    }

    /// Where its segments lie: all views follow from it.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.row.shape
    }

    /// What its segments are, in order.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.row.segments
    }

    /// How many tokens at its beginning the row before has too (`pack.options.overlap`): 0 or 1.
    #[must_use]
    pub const fn repeated(&self) -> usize {
        self.row.repeated
    }

    /// Trained positions; none: all of the segments, also where the recipe ignores what documents say.
    #[must_use]
    pub fn trained(&self) -> Option<&[LossSpan]> {
        self.row.trained.as_deref()
    }

    /// A row that no epoch gave.
    #[cfg(test)]
    pub(in crate::epoch) const fn made(row: FilledRow) -> Self {
        Self { number: 0, source: None, row }
    }

    pub(in crate::epoch) const fn inner(&self) -> &FilledRow {
        &self.row
    }
}
