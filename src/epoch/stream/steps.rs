//! Steps of one rank, read by whoever asks for them: no thread, so the reader decides where the work is done.

use super::reading::Reading;
use super::{Epoch, EpochBatch};
use crate::epoch::error::EpochError;
use crate::epoch::run::Sharing;

/// What a rank has of the steps of an epoch, in order. Ends with the epoch or with an error.
pub struct EpochSteps {
    reading: Reading,
    next: (u64, u64),
    over: bool,
}

impl Epoch {
    /// As [`Epoch::stream`], without a thread that reads ahead.
    ///
    /// # Errors
    /// As [`Epoch::stream`].
    pub fn steps(&self, from: u64, rank: u64, world: u64) -> Result<EpochSteps, EpochError> {
        let reading = self.reading(from, rank, world)?;
        Ok(EpochSteps { reading, next: (self.marks.epoch, from), over: false })
    }

    /// Steps that `world` ranks have from batch `from` on: as many for each of them.
    #[must_use]
    pub fn steps_from(&self, from: u64, world: u64) -> u64 {
        let left = self.batches().saturating_sub(from);
        match self.arrangement.sharing() {
            Sharing::Divided(_) => left,
            Sharing::Dealt => left.div_ceil(world.max(1)),
        }
    }
}

impl EpochSteps {
    /// (epoch, next global batch), as [`EpochStream::state`](super::EpochStream::state).
    #[must_use]
    pub const fn state(&self) -> (u64, u64) {
        self.next
    }

    /// Passes over so many steps, or what is left of them, without reading ids.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn skip_steps(&mut self, steps: u64) -> Result<(), EpochError> {
        for _ in 0..steps {
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
}

impl Iterator for EpochSteps {
    type Item = Result<EpochBatch, EpochError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        match self.reading.next() {
            Ok(Some((batch, next))) => {
                self.next.1 = next;
                Some(Ok(batch))
            }
            Ok(None) => {
                self.over = true;
                None
            }
            Err(error) => {
                self.over = true;
                Some(Err(error))
            }
        }
    }
}
