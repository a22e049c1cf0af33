//! Steps of one rank, read by whoever asks for them: no thread, so the reader decides where the work is done.

use super::reading::Reading;
use super::{Epoch, EpochBatch, StreamOptions};
use crate::epoch::error::EpochError;
use crate::epoch::run::RankSharing;
use std::vec::IntoIter;

/// What a rank has of the steps of an epoch, in order. Ends with the epoch or with an error.
///
/// Ids of several steps are read together, of the first one alone and then of ever more, within the memory of the
/// corpus; each step comes with the global batch after it.
pub struct EpochSteps {
    reading: Reading,
    /// Steps that are read.
    ready: IntoIter<(EpochBatch, u64)>,
    next: (u64, u64),
    over: bool,
}

impl Epoch {
    /// As [`Epoch::stream`], without a thread that reads ahead.
    ///
    /// # Errors
    /// As [`Epoch::stream`].
    pub fn steps(&self, options: &StreamOptions) -> Result<EpochSteps, EpochError> {
        self.steps_every(options, 0, 1)
    }

    /// Of [`Epoch::steps`] those of one reader among several that take turns: the first after `skip` of them, then
    /// every `stride`-th.
    ///
    /// # Errors
    /// As [`Epoch::stream`].
    pub fn steps_every(
        &self,
        options: &StreamOptions,
        skip: u64,
        stride: u64,
    ) -> Result<EpochSteps, EpochError> {
        let reading = self.reading(options)?;
        let next = (self.marks.epoch, options.from_batch);
        let mut steps = EpochSteps { reading, ready: Vec::new().into_iter(), next, over: false };
        steps.skip_steps(skip)?;
        steps.reading = steps.reading.every(stride);
        Ok(steps)
    }

    /// Steps that a reader with these options has, from its first batch on: as many as every other reader.
    #[must_use]
    pub fn steps_left(&self, options: &StreamOptions) -> u64 {
        let (world, left) = (options.world.max(1), self.left_from(options));
        let (steps, rows_of_last) = match self.sampler.sharing() {
            RankSharing::Divided(rows) => (left, rows.min(rows.saturating_sub(self.marks.pads))),
            RankSharing::Dealt => {
                let of_step = self.batches_of_step(options);
                let last = left % of_step;
                (left.div_ceil(of_step), if last == 0 { of_step } else { last })
            }
        };
        let is_short = options.full_steps && rows_of_last < world;
        steps.saturating_sub(u64::from(is_short))
    }

    /// Rows of the epoch that no reader with these options has, since its last step has too few of them to give one to
    /// every reader.
    #[must_use]
    pub fn rows_left_out(&self, options: &StreamOptions) -> u64 {
        let steps = self.steps_left(options);
        if steps == self.steps_left(&StreamOptions { full_steps: false, ..*options }) {
            return 0;
        }
        match self.sampler.sharing() {
            RankSharing::Divided(rows) => rows.saturating_sub(self.marks.pads),
            RankSharing::Dealt => self.left_from(options) % self.batches_of_step(options),
        }
    }

    fn left_from(&self, options: &StreamOptions) -> u64 {
        self.marks.batches.saturating_sub(options.from_batch)
    }

    /// Batches of a step: one where ranks divide it, else as many as all ranks take.
    pub(super) fn batches_of_step(&self, options: &StreamOptions) -> u64 {
        let rows = if self.sampler.has_batches() { 1 } else { options.rows.max(1) };
        match self.sampler.sharing() {
            RankSharing::Divided(_) => 1,
            RankSharing::Dealt => options.world.max(1).saturating_mul(rows),
        }
    }
}

impl EpochSteps {
    /// (epoch, next global batch), as [`EpochStream::state`](super::EpochStream::state).
    #[must_use]
    pub const fn state(&self) -> (u64, u64) {
        self.next
    }

    /// Whether ids come from files: then nothing is left to several threads.
    #[must_use]
    pub fn reads_files(&self) -> bool {
        self.reading.reads_files()
    }

    /// Skips so many steps, or what is left of them, without reading ids.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn skip_steps(&mut self, steps: u64) -> Result<(), EpochError> {
        for _ in 0..steps {
            if let Some((_, next)) = self.ready.next() {
                self.next.1 = next;
                continue;
            }
            if self.over {
                break;
            }
            match self.reading.skip() {
                Ok(Some(next)) => self.next.1 = next,
                Ok(None) => self.over = true,
                Err(error) => {
                    self.over = true;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The steps that are read together next, each with the global batch after it; none at the end. What a thread hands
    /// to another that makes something of it, so that both have work.
    ///
    /// # Errors
    /// As the iterator's.
    pub fn read_together(&mut self) -> Result<Vec<(EpochBatch, u64)>, EpochError> {
        let mut steps: Vec<_> = std::mem::take(&mut self.ready).collect();
        if steps.is_empty() && !self.over {
            steps = self.read()?;
        }
        if let Some((_, next)) = steps.last() {
            self.next.1 = *next;
        }
        Ok(steps)
    }

    /// The next step without the ids of its rows, unless they are read already: the documents that it has made. None at
    /// the end.
    ///
    /// # Errors
    /// As the iterator's.
    pub fn next_unread(&mut self) -> Result<Option<EpochBatch>, EpochError> {
        let next = match self.ready.next() {
            Some(read) => Some(read),
            None if self.over => None,
            None => self.reading.next_unread().inspect_err(|_| self.over = true)?,
        };
        let Some((batch, next)) = next else {
            self.over = true;
            return Ok(None);
        };
        self.next.1 = next;
        Ok(Some(batch))
    }

    fn read(&mut self) -> Result<Vec<(EpochBatch, u64)>, EpochError> {
        let read = self.reading.next();
        self.over = read.as_ref().map_or(true, Vec::is_empty);
        read
    }
}

impl Iterator for EpochSteps {
    type Item = Result<EpochBatch, EpochError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.len() == 0 && !self.over {
            match self.read() {
                Ok(steps) => self.ready = steps.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
        let (batch, next) = self.ready.next()?;
        self.next.1 = next;
        Some(Ok(batch))
    }
}
