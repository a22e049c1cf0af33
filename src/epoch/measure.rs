//! Single stages of planning and of giving rows, public for the benchmark `benches/planning.rs`.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::LengthReader;
use crate::epoch::pack::{LengthHistogram, RowPatterns};
use crate::epoch::plan::Plan;
use crate::epoch::rows::OpenPurpose;
use crate::epoch::run::{BatchCursor, BatchSampler, EpochIndex, OpenPlan};
use model::{Interrupt, TokenizerId};
use roaring::RoaringTreemap;
use std::sync::Arc;
use store::View;

/// Documents of a selection by their tokens: the scan of a plan.
///
/// # Errors
/// [`EpochError::NotEncoded`]; [`EpochError::Store`].
pub fn histogram(
    view: &View,
    tokenizer: TokenizerId,
    selection: &RoaringTreemap,
) -> Result<LengthHistogram, EpochError> {
    let lengths = LengthReader {
        corpora: Corpora::alone(view),
        tokenizer,
        tokenizer_name: "measured".into(),
        draws: Arc::default(),
        overhead: 0,
        known: None,
        sharing: 1,
        interrupt: Interrupt::default(),
    };
    let mut histogram = LengthHistogram::new();
    lengths.count(selection, &mut histogram)?;
    Ok(histogram)
}

/// What best-fit-decreasing by the bulk makes of items.
#[derive(Clone, Copy, Debug)]
pub struct Packed {
    /// Rows.
    pub rows: u64,
    /// Rows of different contents.
    pub patterns: usize,
}

/// Packs items given as (size, count), largest first, with `most` items a row at most.
#[must_use]
pub fn pack(
    items: impl Iterator<Item = (u32, u64)> + Clone,
    capacity: u32,
    most: Option<u32>,
) -> Packed {
    let packed = RowPatterns::pack(items, capacity, most);
    Packed { rows: packed.rows(), patterns: packed.patterns().len() }
}

/// A plan opened to give rows, without its index.
pub struct MeasuredPlan {
    opened: Arc<OpenPlan>,
    sampler: BatchSampler,
}

/// An index of an epoch.
pub struct Walked {
    marks: EpochIndex,
    /// Rows of the epoch, those of pads included.
    pub rows: u64,
    /// Its global batches.
    pub batches: u64,
}

impl MeasuredPlan {
    /// Opens a plan.
    ///
    /// # Errors
    /// As [`crate::epoch::Epoch::open`].
    pub fn open(view: &View, planned: &Plan) -> Result<Self, EpochError> {
        let opened = OpenPlan::open(
            &Corpora::alone(view),
            planned,
            OpenPurpose::Give,
            &Interrupt::default(),
        )?;
        Ok(Self { opened, sampler: BatchSampler::of(&planned.plan) })
    }

    /// The index of an epoch.
    ///
    /// # Errors
    /// As [`crate::epoch::Epoch::open`].
    pub fn index(&self, epoch: u64) -> Result<Walked, EpochError> {
        let marks = EpochIndex::of(&self.opened, &self.sampler, epoch, &Interrupt::default())?;
        let (rows, batches) = (marks.rows + marks.pads, marks.batches);
        Ok(Walked { marks, rows, batches })
    }

    /// Walks an epoch row by row, also where [`MeasuredPlan::index`] needs no walk.
    ///
    /// # Errors
    /// As [`crate::epoch::Epoch::open`].
    pub fn walk(&self, epoch: u64) -> Result<Walked, EpochError> {
        let marks = EpochIndex::walked(&self.opened, &self.sampler, epoch, &Interrupt::default())?;
        let (rows, batches) = (marks.rows + marks.pads, marks.batches);
        Ok(Walked { marks, rows, batches })
    }

    /// The segments of row `row` of an epoch: how many.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn row(&self, walked: &Walked, row: u64) -> Result<usize, EpochError> {
        let mut ordered = BatchCursor::at_row(&self.opened, &self.sampler, &walked.marks, row)?;
        let Some(row) = ordered.next_row()?.and_then(|given| given.row) else { return Ok(0) };
        Ok(self.opened.source(&row)?.segments(&row)?.len())
    }

    /// Stands before batch `batch` and gives at most `rows` rows from there with what is in them: how many
    /// rows, how many segments.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn rows_from(
        &self,
        walked: &Walked,
        batch: u64,
        rows: u64,
    ) -> Result<(u64, usize), EpochError> {
        let mut ordered = BatchCursor::at(&self.opened, &self.sampler, &walked.marks, batch)?;
        let (mut given, mut segments) = (0, 0);
        while given < rows {
            let Some(next) = ordered.next_row()? else { break };
            given += 1;
            let Some(row) = next.row else { continue };
            segments += self.opened.source(&row)?.segments(&row)?.len();
        }
        Ok((given, segments))
    }
}
