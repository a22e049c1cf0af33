//! Reads batches of bare ids straight from files that hold them end to end, without looking up a row.

use super::{Epoch, StreamOptions};
use crate::epoch::error::EpochError;
use crate::epoch::run::RankSharing;
use crate::epoch::stream::{EpochFiles, IdFileReader, PIECE_BYTES, consecutive_runs};
use crate::epoch::views::TensorElement;
use model::invariant::part;
use std::ops::Range;
use std::sync::Arc;

/// What a rank has of the steps of an epoch whose ids come from files: numbers of rows and their ids, nothing else. Ends
/// with the epoch or with an error.
///
/// Files have rows in the order of the steps, so the rows of a batch follow from its number.
pub struct IdSteps {
    epoch: Epoch,
    files: Arc<EpochFiles>,
    reader: IdFileReader,
    /// Rows of every batch.
    batch: u64,
    rank: u64,
    world: u64,
    /// Every `stride`-th of the steps to come is read; the others belong to other readers.
    stride: u64,
    /// Number of the next batch, and of the one that none is read from on.
    next: u64,
    end: u64,
    /// Steps to be read together: one first, for which the caller waits, then ever more.
    together: u64,
    /// How many these are at most.
    most: u64,
}

/// The rows that a rank has of a step: their numbers and ids.
#[derive(Clone, Debug)]
pub struct IdBatch {
    number: u64,
    rows: Vec<u64>,
    /// The bytes of all batches that were read together.
    read: Arc<Vec<u8>>,
    place: Range<usize>,
    files: Arc<EpochFiles>,
}

impl Epoch {
    /// Steps of ids alone, in the order of [`Epoch::steps_every`]; none unless they come from files and every batch
    /// has as many rows.
    ///
    /// # Errors
    /// As [`Epoch::stream`].
    pub fn id_steps_every(
        &self,
        options: &StreamOptions,
        skip: u64,
        stride: u64,
    ) -> Result<Option<IdSteps>, EpochError> {
        self.check_share(options)?;
        let StreamOptions { from_batch: from, rank, world, .. } = *options;
        let (Some(files), RankSharing::Divided(batch)) = (&self.files, self.sampler.sharing())
        else {
            return Ok(None);
        };
        if self.opened.plan.pads_batches() || self.batches().checked_mul(batch) != Some(self.rows())
        {
            return Ok(None);
        }
        let share = batch.div_ceil(world).saturating_mul(files.row_bytes() as u64);
        Ok(Some(IdSteps {
            epoch: self.clone(),
            files: Arc::clone(files),
            reader: IdFileReader::new(Arc::clone(files)),
            batch,
            rank,
            world,
            stride: stride.max(1),
            next: from.saturating_add(skip),
            end: from.saturating_add(self.steps_left(options)),
            together: 1,
            most: (PIECE_BYTES as u64 / share.max(1)).max(1),
        }))
    }
}

impl IdSteps {
    /// The steps that are read together next; none at the end.
    ///
    /// # Errors
    /// [`EpochError::Io`] when a file cannot be read; [`EpochError::Files`] for ids that the tokenizer does not have. What
    /// stands before is given first.
    pub fn read_together(&mut self) -> Result<Vec<IdBatch>, EpochError> {
        let left = self.end.saturating_sub(self.next).div_ceil(self.stride);
        let steps = self.together.min(left);
        let read = match self.read(steps) {
            Err(_) if steps > 1 => {
                (self.together, self.most) = (1, 1);
                self.read(1)
            }
            read => read,
        };
        match &read {
            Ok(batches) => self.pass(batches.len() as u64),
            Err(_) => self.next = self.end,
        }
        self.together = self.together.saturating_mul(2).min(self.most);
        read
    }

    fn pass(&mut self, steps: u64) {
        self.next = self.next.saturating_add(steps.saturating_mul(self.stride));
    }

    fn read(&mut self, steps: u64) -> Result<Vec<IdBatch>, EpochError> {
        let mut numbers = Vec::new();
        let mut ends = Vec::new();
        for step in 0..steps {
            let number = self.next + step * self.stride;
            let real = self.epoch.marks.rows.saturating_sub(number * self.batch).min(self.batch);
            let count = (real, self.batch - real);
            let places = self.epoch.sampler.places(number, count, self.rank, self.world);
            numbers.extend(places.into_iter().map(|place| number * self.batch + place));
            ends.push((number, numbers.len()));
        }
        let row_bytes = self.files.row_bytes();
        let mut bytes = vec![0; numbers.len() * row_bytes];
        let mut left = bytes.as_mut_slice();
        for run in consecutive_runs(&numbers) {
            let (here, behind) = left.split_at_mut(run.len() * row_bytes);
            self.reader.read(run.first().copied().unwrap_or_default(), here)?;
            left = behind;
        }
        let read = Arc::new(bytes);
        let mut start = 0;
        let batches = ends.into_iter().map(|(number, end)| {
            let rows = part(&numbers, start..end).to_vec();
            let place = start * row_bytes..end * row_bytes;
            start = end;
            IdBatch { number, rows, read: Arc::clone(&read), place, files: Arc::clone(&self.files) }
        });
        Ok(batches.collect())
    }
}

impl IdBatch {
    /// Number of the batch in the epoch.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The global batch after its step.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.number + 1
    }

    /// Numbers of its rows in the epoch.
    #[must_use]
    pub fn rows(&self) -> &[u64] {
        &self.rows
    }

    /// Ids of a row, pads included.
    #[must_use]
    pub fn width(&self) -> usize {
        self.files.row_tokens
    }

    /// The ids of all rows, row after row.
    pub(in crate::epoch) fn ids<T: TensorElement>(&self) -> Vec<T> {
        let mut ids = Vec::with_capacity(self.rows.len() * self.width());
        let bytes = self.read.get(self.place.clone());
        self.files.append(bytes.unwrap_or_default(), T::id, &mut ids);
        ids
    }
}
