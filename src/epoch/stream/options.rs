//! Which part of an epoch a reader has, and how it is read.

use crate::epoch::error::EpochError;

/// Which batches of an epoch a stream gives: the first one, and the reader. By default all of them, from the first one
/// on, two of them read ahead.
///
/// ```
/// use corpusdb::epoch::StreamOptions;
///
/// let second_of_four = StreamOptions { from_batch: 100, ..StreamOptions::of_rank(1, 4) };
/// assert_eq!((second_of_four.prefetch, second_of_four.uneven), (2, false));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// The global batch to begin with, from 0: what [`EpochStream::state`](super::EpochStream::state) said of a run
    /// that continues.
    pub from_batch: u64,
    /// Which of the readers, from 0.
    pub rank: u64,
    /// How many readers the batches are divided among.
    pub world: u64,
    /// Steps that are read before they are asked for.
    pub prefetch: usize,
    /// Whether batches may be divided among readers that they do not divide among evenly: some readers then have a row
    /// less than others, or none, in turns. Else that is refused.
    pub uneven: bool,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self { from_batch: 0, rank: 0, world: 1, prefetch: 2, uneven: false }
    }
}

impl StreamOptions {
    /// The part of reader `rank` of `world`, from the first batch on.
    #[must_use]
    pub fn of_rank(rank: u64, world: u64) -> Self {
        Self { rank, world, ..Self::default() }
    }

    /// Refuses a rank that is out of range.
    pub(super) fn check_rank(&self) -> Result<(), EpochError> {
        if self.rank >= self.world {
            let (asked, there_are) = (self.rank, self.world);
            return Err(EpochError::OutOfRange { what: "rank", asked, there_are });
        }
        Ok(())
    }
}
