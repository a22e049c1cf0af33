//! The generator that numpy's `RandomState` and torch's `Generator` draw from: a 32-bit Mersenne Twister (MT19937,
//! Matsumoto and Nishimura 1998), seeded as its authors' reference code does. Its stream is frozen.

const STATE: usize = 624;
const MIDDLE: usize = 397;

/// The twister at some place of its stream.
#[derive(Clone, Debug)]
pub struct MersenneTwister {
    state: [u32; STATE],
    next: usize,
}

impl MersenneTwister {
    /// The beginning of the stream of a seed.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        let mut state = [0; STATE];
        let mut word = seed;
        for (entry, at) in state.iter_mut().zip(1_u32..) {
            *entry = word;
            word = 1_812_433_253_u32.wrapping_mul(word ^ (word >> 30)).wrapping_add(at);
        }
        Self { state, next: STATE }
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.next >= STATE {
            self.twist();
            self.next = 0;
        }
        let mut word = self.state.get(self.next).copied().unwrap_or_default();
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// The next 64 bits: the first draw is the high half.
    pub fn next_u64(&mut self) -> u64 {
        let high = u64::from(self.next_u32());
        high << 32 | u64::from(self.next_u32())
    }

    #[expect(clippy::indexing_slicing, reason = "every index is taken modulo the length")]
    fn twist(&mut self) {
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
        let mut random = MersenneTwister::new(5489);
        assert_eq!(random.next_u32(), 3_499_211_612);
        assert_eq!((1..10_000).map(|_| random.next_u32()).last(), Some(4_123_659_995));
    }
}
