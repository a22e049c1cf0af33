//! The BigCode signature, byte for byte the function its deduplication publishes: of every n-gram of
//! tokens joined by one space the first four bytes of SHA-1 as a little-endian number h; of
//! `((h·a + b) mod 2^64 mod (2^61 - 1)) mod 2^32` the smallest over all n-grams, for each of the
//! policy's permutations (a, b). The product wraps before the prime is taken, there as here.
//!
//! The permutations are drawn in turn, a from 1 and b from 0 to 2^61 - 2, by a `RandomState` of seed 42.

use super::random::RandomState;
use super::sha1::sha1_32;
use super::slots::Sketch;

/// Of the permutations; the seed of the published code.
const SEED: u32 = 42;
const MERSENNE_PRIME: u64 = (1 << 61) - 1;

/// As many permutations as a sketch has slots, and room for hashes.
#[derive(Clone, Debug)]
pub(in crate::dedup) struct Permutations {
    pairs: Vec<(u64, u64)>,
    hashes: Vec<u32>,
}

impl Permutations {
    pub(in crate::dedup) fn new(slots: u32) -> Self {
        let mut random = RandomState::new(SEED);
        let pair = |_| {
            let multiplier = random.integer(1, MERSENNE_PRIME);
            (multiplier, random.integer(0, MERSENNE_PRIME))
        };
        Self { pairs: (0..slots).map(pair).collect(), hashes: Vec::new() }
    }

    /// The sketch of the n-grams, in any order and with repeats; all slots 2^32 - 1 if there are none.
    pub(in crate::dedup) fn sketch<'t>(
        &mut self,
        ngrams: impl Iterator<Item = &'t [u8]>,
    ) -> Sketch {
        let Self { pairs, hashes } = self;
        hashes.clear();
        hashes.extend(ngrams.map(sha1_32));
        hashes.sort_unstable();
        hashes.dedup();
        Sketch::full(pairs.iter().map(|(a, b)| smallest(hashes, *a, *b)))
    }

    /// Gives memory beyond that for `ngrams` back.
    pub(in crate::dedup) fn shrink(&mut self, ngrams: usize) {
        self.hashes.clear();
        self.hashes.shrink_to(ngrams);
    }

    #[cfg(test)]
    pub(super) fn pairs(&self) -> &[(u64, u64)] {
        &self.pairs
    }
}

fn smallest(hashes: &[u32], a: u64, b: u64) -> u32 {
    hashes.iter().fold(u32::MAX, |least, hash| {
        least.min(permuted(a.wrapping_mul(u64::from(*hash)).wrapping_add(b)))
    })
}

/// The low 32 bits of the remainder by the prime, without a division: 2^61 is 1 modulo 2^61 - 1.
#[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are what is published")]
const fn permuted(value: u64) -> u32 {
    let folded = (value & MERSENNE_PRIME) + (value >> 61);
    let remainder = if folded >= MERSENNE_PRIME { folded - MERSENNE_PRIME } else { folded };
    remainder as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn remainders_are_right(value in any::<u64>(), near in 0..20_u64, times in 1..9_u64) {
            for value in [value, (MERSENNE_PRIME.wrapping_mul(times)).wrapping_add(near).wrapping_sub(10)] {
                prop_assert_eq!(u64::from(permuted(value)), (value % MERSENNE_PRIME) & 0xffff_ffff);
            }
        }
    }
}
