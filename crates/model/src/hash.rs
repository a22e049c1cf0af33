//! Frozen bit mixers, hash maps for keys that are hashes already, and the random generator of numpy and torch.

use crate::invariant::at;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// 2^64 divided by the golden ratio: the step between streams that one value feeds.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64 bits in which every output bit depends on every input bit (SplitMix64's).
pub const fn mix64(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A bijection of 32 bits in which every output bit depends on every input bit (MurmurHash3's).
pub const fn mix32(value: u32) -> u32 {
    let value = (value ^ (value >> 16)).wrapping_mul(0x85eb_ca6b);
    let value = (value ^ (value >> 13)).wrapping_mul(0xc2b2_ae35);
    value ^ (value >> 16)
}

/// Bytes in hexadecimal, two digits each.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A bucket in which similar documents meet: the number of a band, and the hash that documents have of it.
pub type BucketKey = (u8, u64);

/// The buckets of a document, by the hash that it has of each band.
pub fn bucket_keys(bands: &[u64]) -> impl Iterator<Item = BucketKey> {
    (0..=u8::MAX).zip(bands.iter().copied())
}

/// A map by bucket. Its order of iteration means nothing and is never used.
pub type BucketMap<V> = HashMap<BucketKey, V, PremixedState>;

/// For maps of what is a hash already. Their order of iteration means nothing and is never used.
pub type PremixedState = BuildHasherDefault<PremixedHasher>;

/// Folds each number of a key by one multiplication, so that all its bits reach the top.
#[derive(Clone, Copy, Debug, Default)]
pub struct PremixedHasher(u64);

impl Hasher for PremixedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(GOLDEN);
        self.0 ^= self.0 >> 29;
    }
}

const STATE: usize = 624;
const MIDDLE: usize = 397;

/// The generator that numpy's `RandomState` and torch's `Generator` draw from: a 32-bit Mersenne Twister (MT19937,
/// Matsumoto and Nishimura 1998), seeded as its authors' reference code does, at some place of its stream, which is
/// frozen.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// A place of the stream: the 624 words of its state, and how many of them were drawn. None where there are not as
    /// many words.
    #[must_use]
    pub fn resumed(words: &[u32], drawn: usize) -> Option<Self> {
        let state = words.try_into().ok()?;
        (drawn <= STATE).then_some(Self { state, next: drawn })
    }

    /// The words of its state, and how many of them were drawn.
    #[must_use]
    pub const fn place(&self) -> (&[u32], usize) {
        (&self.state, self.next)
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.next >= STATE {
            self.twist();
            self.next = 0;
        }
        let mut word = *at(&self.state, self.next);
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
    fn bits_are_mixed_as_ever() {
        // The first numbers of SplitMix64 with seed 0, as its authors publish them.
        let drawn = [1, 2, 3].map(|step: u64| mix64(GOLDEN.wrapping_mul(step)));
        assert_eq!(drawn, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
        assert_eq!([0, 1, u32::MAX].map(mix32), [0, 0x514e_28b7, 0x81f1_6f39]);
    }

    #[test]
    fn words_are_those_of_the_reference_code() {
        // The documented check of the generator: word 10,000 of seed 5489.
        let mut random = MersenneTwister::new(5489);
        assert_eq!(random.next_u32(), 3_499_211_612);
        assert_eq!((1..10_000).map(|_| random.next_u32()).last(), Some(4_123_659_995));
        let (words, drawn) = random.place();
        let mut same = MersenneTwister::resumed(words, drawn).unwrap();
        assert!((0..1000).all(|_| same.next_u32() == random.next_u32()));
        assert_eq!(MersenneTwister::resumed(&[0; STATE], STATE + 1), None);
        assert_eq!(MersenneTwister::resumed(&[0; STATE - 1], 0), None);
    }
}
