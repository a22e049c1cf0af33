//! Rows and batches of an epoch as its users have them, and where segments and pads lie in a row.

use crate::epoch::pack::Segment;
use crate::epoch::plan::PlanHeader;
use crate::epoch::recipe::{PadSide, PadView};
use crate::epoch::views::{RowShape, Span};
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
    pub const fn shape(&self) -> &RowShape {
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

/// Index of the source of a row of pads: no source has it.
pub(in crate::epoch) const NO_SOURCE: usize = usize::MAX;

/// A row with its token ids.
#[derive(Clone, Debug)]
pub(in crate::epoch) struct FilledRow {
    /// Index of its source in the plan; [`NO_SOURCE`] for a row of pads.
    pub source: usize,
    /// Its ids, pads included.
    pub ids: Vec<u32>,
    /// How many of them are not pads.
    pub real: usize,
    /// How many of these the row before has too; they stand at the beginning.
    pub repeated: usize,
    /// What the real ones are, in order.
    pub segments: Vec<Segment>,
    /// Where the segments lie.
    pub shape: RowShape,
    /// Positions that documents say are trained on, ascending; none: all of the segments.
    pub trained: Option<Vec<LossSpan>>,
    /// Its batch; none where a recipe has no batches.
    pub batch: Option<u64>,
}

impl FilledRow {
    /// How many of its ids are neither pads nor of the row before.
    pub const fn own(&self) -> usize {
        self.real - self.repeated
    }

    /// A row that is not there: of no source, without a token.
    pub fn none() -> Self {
        let shape = RowShape { width: 0, spans: Vec::new(), pads: PadView::Suffix };
        let (ids, segments) = (Vec::new(), Vec::new());
        Self {
            source: NO_SOURCE,
            ids,
            real: 0,
            repeated: 0,
            segments,
            shape,
            trained: None,
            batch: None,
        }
    }
}

/// Where the segments of a row of a plan lie, by the tokens of each: after one another, each in as many
/// places as `doc_multiple` gives it, at the side that the recipe says, in a row of `width`, where its batch
/// gives it one, else as long as the packing makes it.
pub(in crate::epoch) fn shape(
    plan: &PlanHeader,
    width: Option<u32>,
    lengths: impl Iterator<Item = u32> + Clone,
) -> RowShape {
    let options = &plan.recipe.pack.options;
    let used: u32 = lengths.clone().map(|length| plan.slot(length)).sum();
    let fixed = plan.pad().is_some() && plan.fixed_length();
    let width = width.unwrap_or(if fixed { plan.capacity } else { used });
    let spare = if fixed { plan.spare() } else { 0 };
    let left = options.pad_side == PadSide::Left;
    let mut at = if left { width.saturating_sub(used + spare) } else { 0 };
    let mut spans = Vec::new();
    for length in lengths {
        let slot = plan.slot(length);
        let start = if left { at + slot - length } else { at };
        spans.push(Span { start, length });
        at += slot;
    }
    RowShape { width, spans, pads: options.pad_view }
}
