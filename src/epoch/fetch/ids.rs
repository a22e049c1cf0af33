//! Rows with their token ids, and where segments and pads lie.

use crate::epoch::pack::Segment;
use crate::epoch::plan::Plan;
use crate::epoch::recipe::{PadSide, PadView};
use crate::epoch::views::{Shape, Span};
use crate::model::LossSpan;

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
    pub shape: Shape,
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
        let shape = Shape { width: 0, spans: Vec::new(), pads: PadView::Suffix };
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
    plan: &Plan,
    width: Option<u32>,
    lengths: impl Iterator<Item = u32> + Clone,
) -> Shape {
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
    Shape { width, spans, pads: options.pad_view }
}
