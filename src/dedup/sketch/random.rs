//! The generator that published permutations are drawn with: numpy's `RandomState`, whose stream is
//! frozen. A Mersenne Twister (MT19937, Matsumoto and Nishimura 1998) seeded as its authors' reference
//! code does, and bounded numbers by masked rejection.

const STATE: usize = 624;
const MIDDLE: usize = 397;

/// `numpy.random.RandomState(seed)`.
pub(super) struct RandomState {
    state: [u32; STATE],
    next: usize,
}

impl RandomState {
    pub(super) fn new(seed: u32) -> Self {
        let mut state = [0; STATE];
        let mut word = seed;
        for (entry, at) in state.iter_mut().zip(1_u32..) {
            *entry = word;
            word = 1_812_433_253_u32.wrapping_mul(word ^ (word >> 30)).wrapping_add(at);
        }
        Self { state, next: STATE }
    }

    /// `randint(low, high, dtype=numpy.uint64)` for ranges of more than 2^32 numbers; `high` excluded.
    pub(super) fn integer(&mut self, low: u64, high: u64) -> u64 {
        let largest = high.wrapping_sub(low).wrapping_sub(1);
        let mask = u64::MAX.checked_shr(largest.leading_zeros()).unwrap_or(0);
        loop {
            let high = u64::from(self.word());
            let drawn = ((high << 32) | u64::from(self.word())) & mask;
            if drawn <= largest {
                return low.wrapping_add(drawn);
            }
        }
    }

    #[expect(clippy::indexing_slicing, reason = "the cursor is below the length of the state")]
    fn word(&mut self) -> u32 {
        if self.next >= STATE {
            self.turn();
            self.next = 0;
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    #[expect(clippy::indexing_slicing, reason = "places are taken modulo the length of the state")]
    fn turn(&mut self) {
        for at in 0..STATE {
            let bits =
                (self.state[at] & 0x8000_0000) | (self.state[(at + 1) % STATE] & 0x7fff_ffff);
            let odd = if bits & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[at] = self.state[(at + MIDDLE) % STATE] ^ (bits >> 1) ^ odd;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_reference_code() {
        // Its documented check: word 10,000 of seed 5489.
        let mut random = RandomState::new(5489);
        assert_eq!(random.word(), 3_499_211_612);
        assert_eq!((1..10_000).map(|_| random.word()).last(), Some(4_123_659_995));
    }
}
