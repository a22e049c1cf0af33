//! The numbers that published permutations are drawn with: numpy's `RandomState`, bounded by masked rejection.

use crate::model::MersenneTwister;

/// `numpy.random.RandomState(seed)`.
pub(super) struct RandomState(MersenneTwister);

impl RandomState {
    pub(super) fn new(seed: u32) -> Self {
        Self(MersenneTwister::new(seed))
    }

    /// `randint(low, high, dtype=numpy.uint64)` for ranges of more than 2^32 numbers; `high` excluded.
    pub(super) fn integer(&mut self, low: u64, high: u64) -> u64 {
        let largest = high.wrapping_sub(low).wrapping_sub(1);
        let mask = u64::MAX.checked_shr(largest.leading_zeros()).unwrap_or(0);
        loop {
            let drawn = self.0.next_u64() & mask;
            if drawn <= largest {
                return low.wrapping_add(drawn);
            }
        }
    }
}
