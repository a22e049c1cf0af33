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

    /// Steps that `world` ranks have from batch `from` on: as many for each of them.
    #[must_use]
    pub fn steps_from(&self, from: u64, world: u64) -> u64 {
        let left = self.batches().saturating_sub(from);
        match self.sampler.sharing() {
            RankSharing::Divided(_) => left,
            RankSharing::Dealt => left.div_ceil(world.max(1)),
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
