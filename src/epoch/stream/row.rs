//! Rows and batches of an epoch as its users have them, with the places of segments and pads in a row.

use crate::epoch::pack::Segment;
use crate::epoch::recipe::PadView;
use crate::epoch::views::{PlacedRow, RowShape};
use model::LossSpan;
use std::sync::Arc;

/// A row with its ids.
#[derive(Clone, Debug)]
pub struct EpochRow {
    /// Its number in the epoch, once it is given to a user.
    pub(in crate::epoch) number: u64,
    /// Index of its source in the plan; [`NO_SOURCE`] for a row of pads.
    pub(in crate::epoch) source: usize,
    /// The name of its source, once it is given to a user.
    pub(in crate::epoch) source_name: Option<Arc<str>>,
    /// Its ids, pads included.
    pub(in crate::epoch) ids: Vec<u32>,
    /// How many ids are not pads.
    pub(in crate::epoch) real: usize,
    /// How many ids at the beginning the row before has too.
    pub(in crate::epoch) repeated: usize,
    /// What the real ones are, in order.
    pub(in crate::epoch) segments: Vec<Segment>,
    /// Where the segments lie.
    pub(in crate::epoch) shape: RowShape,
    /// Positions that documents say are trained on, ascending; none: all of the segments.
    pub(in crate::epoch) trained: Option<Vec<LossSpan>>,
    /// Its batch; none where a recipe has no batches.
    pub(in crate::epoch) batch: Option<u64>,
    /// Its pass over its source; none for a row of pads, and where rows are drawn with replacement.
    pub(in crate::epoch) pass: Option<u32>,
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
        self.batch
    }

    /// Its source; none for a row of pads.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source_name.as_deref()
    }

    /// The pass over its source that it belongs to, counted from 0 within the run of the plan; none for a row of pads,
    /// and where rows are drawn with replacement.
    #[must_use]
    pub const fn pass(&self) -> Option<u32> {
        self.pass
    }

    /// Its ids, pads included; none where they were not read ([`EpochSteps::next_without_ids`](super::EpochSteps::next_without_ids)).
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Where its segments lie: all views follow from it.
    #[must_use]
    pub const fn shape(&self) -> &RowShape {
        &self.shape
    }

    /// What its segments are, in order.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// How many tokens at its beginning the row before has too (`pack.options.overlap`): 0 or 1.
    #[must_use]
    pub const fn repeated(&self) -> usize {
        self.repeated
    }

    /// Trained positions; none: all of the segments, also where the recipe ignores what documents say.
    #[must_use]
    pub fn trained(&self) -> Option<&[LossSpan]> {
        self.trained.as_deref()
    }

    /// How many of its ids are neither pads nor of the row before.
    pub(in crate::epoch) const fn own(&self) -> usize {
        self.real - self.repeated
    }

    /// The row's shape, its ids, and the spans that are trained on.
    pub(in crate::epoch) fn as_parts(&self) -> (&RowShape, &[u32], Option<&[LossSpan]>) {
        (&self.shape, &self.ids, self.trained())
    }

    /// A row of no source that was made of others.
    pub(in crate::epoch) fn placed(row: PlacedRow<u32>) -> Self {
        let PlacedRow { shape, ids, trained } = row;
        Self { shape, ids, trained, ..Self::none() }
    }

    /// A row that is not there: of no source, without a token.
    pub(in crate::epoch) const fn none() -> Self {
        Self {
            number: 0,
            source: NO_SOURCE,
            source_name: None,
            ids: Vec::new(),
            real: 0,
            repeated: 0,
            segments: Vec::new(),
            shape: RowShape { width: 0, spans: Vec::new(), pads: PadView::Suffix },
            trained: None,
            batch: None,
            pass: None,
        }
    }
}

/// Index of the source of a row of pads: no source has it.
pub(in crate::epoch) const NO_SOURCE: usize = usize::MAX;
