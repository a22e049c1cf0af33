//! Turns a set of shingles into a sketch that estimates its Jaccard similarity to another, in two forms.
//!
//! **Native**: 256 slots of 8 bits from shingle hashes. Every slot holds 8 bits of one member of the set, chosen so
//! that in the union of two sets each member is equally likely to be the choice: two sketches agree in a slot with
//! probability J, and by chance in 1/256 of the others. The choice, for slot s of a set of uniform 64-bit values x:
//!
//! 1. round 0: among the x whose low 8 bits are s, the smallest x; the slot is bits 8 to 15 of it;
//! 2. rounds 1 and 2, for slots still empty: the same with `mix64(x + round·G)` in the place of x;
//! 3. for slots still empty: the smallest `A[s]·(x >> 32) + B[s]` modulo 2^32 over all x; the slot is
//!    the high 8 bits of `mix32` of that.
//!
//! Rounds cost one step per member and not one per member and slot; a set of a few hundred members
//! fills all slots in them. A slot is empty after a round or not by the set alone, so the sketch is a
//! function of the set: order and repeats do not matter.
//!
//! **BigCode**: slots of 32 bits from the shingles themselves, byte for byte the function that the project publishes:
//! of every n-gram of tokens joined by one space the first four bytes of SHA-1 as a little-endian number h; of
//! `((h·a + b) mod 2^64 mod (2^61 - 1)) mod 2^32` the smallest over all n-grams, for each of the policy's permutations
//! (a, b). The product wraps before the prime is taken, there as here. The permutations are drawn in turn, a from 1 and
//! b from 0 to 2^61 - 2, by numpy's `RandomState` of seed 42.

use model::{GOLDEN, MersenneTwister, Policy, Signature, mix32, mix64};
use sha1::{Digest, Sha1};

/// What stands for a set of shingles: 256 slots of 8 bits, or slots of 32 bits, as the policy's
/// [`Signature`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch(Slots);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Slots {
    /// 8 bits each.
    Native(Box<[u8; Sketch::LEN]>),
    /// 32 bits each, little-endian: a multiple of four bytes.
    Full(Box<[u8]>),
}

impl Sketch {
    /// Slots, and bytes, of a native sketch.
    pub const LEN: usize = SLOTS;
    /// Bytes of a slot at full width.
    pub(super) const WIDTH: usize = 4;

    /// The native sketch of a set of shingle hashes, in any order; all zero if there are none.
    #[must_use]
    pub fn of(shingles: &[u64]) -> Self {
        Self(Slots::Native(Box::new(native_slots(shingles))))
    }

    /// A sketch of slots at full width.
    pub(super) fn full(slots: impl IntoIterator<Item = u32>) -> Self {
        Self(Slots::Full(slots.into_iter().flat_map(u32::to_le_bytes).collect()))
    }

    /// The slots as they are stored: 256 bytes, or four for each slot, little-endian.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Slots::Native(slots) => slots.as_slice(),
            Slots::Full(bytes) => bytes,
        }
    }

    /// A sketch of stored slots; none unless there are as many as the policy's sketches have.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], policy: &Policy) -> Option<Self> {
        match policy.signature {
            Signature::Native => Some(Self(Slots::Native(Box::new(bytes.try_into().ok()?)))),
            Signature::Bigcode => {
                let slots = usize::try_from(policy.hashes).ok()?;
                (slots > 0 && slots.checked_mul(Self::WIDTH) == Some(bytes.len()))
                    .then(|| Self(Slots::Full(bytes.into())))
            }
        }
    }

    /// Whether slots have 32 bits.
    pub(super) const fn is_full(&self) -> bool {
        matches!(self.0, Slots::Full(_))
    }

    /// Estimated Jaccard similarity in 0..=1. At full width the share of agreeing slots. Native ones are
    /// corrected for slots that agree by chance: `(m-1)/255` for m agreeing slots, 0 for none; unbiased but
    /// for that floor. Sketches of different forms or numbers of slots have similarity 0.
    #[must_use]
    pub fn estimate(&self, other: &Self) -> f64 {
        match (&self.0, &other.0) {
            (Slots::Native(a), Slots::Native(b)) => {
                // Counts side by side, one for each slot of a part: compiled to vectors.
                let mut equal = [0_u8; 32];
                for (a, b) in a.as_chunks::<32>().0.iter().zip(b.as_chunks::<32>().0) {
                    for ((equal, a), b) in equal.iter_mut().zip(a).zip(b) {
                        *equal += u8::from(a == b);
                    }
                }
                let equal: u16 = equal.iter().copied().map(u16::from).sum();
                f64::from(equal.saturating_sub(1)) / 255.0
            }
            (Slots::Full(a), Slots::Full(b)) if a.len() == b.len() && !a.is_empty() => {
                let (a, b) = (a.chunks_exact(Self::WIDTH), b.chunks_exact(Self::WIDTH));
                let (slots, equal) = a.zip(b).fold((0_u32, 0_u32), |(slots, equal), (a, b)| {
                    (slots + 1, equal + u32::from(a == b))
                });
                f64::from(equal) / f64::from(slots)
            }
            _ => 0.0,
        }
    }
}

const ROUNDS: u64 = 3;
/// No value yet. A value equal to it counts as none, which costs nothing but its own loss.
const EMPTY: u64 = u64::MAX;

/// Slots, and bytes, of a native sketch.
pub(super) const SLOTS: usize = 256;

/// Multiplier (odd) and addend of every slot in the last step.
static AFFINE: [(u32, u32); SLOTS] = affine();

#[expect(clippy::indexing_slicing, reason = "the cursor is below the length")]
const fn affine() -> [(u32, u32); SLOTS] {
    let mut table = [(0, 0); SLOTS];
    let mut slot = 0;
    while slot < SLOTS {
        let bits = mix64(GOLDEN.wrapping_mul(slot as u64 + 1));
        table[slot] = ((bits >> 32) as u32 | 1, (bits & 0xffff_ffff) as u32);
        slot += 1;
    }
    table
}

/// The slots of a set of shingle hashes, in any order; all zero if there are none.
pub(super) fn native_slots(shingles: &[u64]) -> [u8; SLOTS] {
    if shingles.is_empty() {
        return [0; SLOTS];
    }
    let mut chosen = [EMPTY; SLOTS];
    choose(&mut chosen, shingles.iter().copied());
    for round in 1..ROUNDS {
        if !chosen.contains(&EMPTY) {
            break;
        }
        let step = GOLDEN.wrapping_mul(round);
        let mut other = [EMPTY; SLOTS];
        choose(&mut other, shingles.iter().map(|x| mix64(x.wrapping_add(step))));
        for (slot, other) in chosen.iter_mut().zip(other) {
            *slot = if *slot == EMPTY { other } else { *slot };
        }
    }
    let mut slots = chosen.map(|value| value.to_le_bytes()[1]);
    if chosen.contains(&EMPTY) {
        let halves: Vec<u32> = shingles.iter().map(|x| (x >> 32) as u32).collect();
        let empty = chosen.iter().zip(&mut slots).zip(&AFFINE).filter(|((x, _), _)| **x == EMPTY);
        for ((_, slot), (a, b)) in empty {
            *slot = (mix32(smallest_affine(&halves, *a, *b)) >> 24) as u8;
        }
    }
    slots
}

/// Lowers each slot to the smallest value whose low 8 bits name it.
#[expect(clippy::indexing_slicing, reason = "there is a slot for each value of a byte")]
fn choose(slots: &mut [u64; SLOTS], values: impl Iterator<Item = u64>) {
    for value in values {
        let slot = &mut slots[usize::from(value.to_le_bytes()[0])];
        *slot = value.min(*slot);
    }
}

/// In a form that compiles to vector instructions.
fn smallest_affine(values: &[u32], a: u32, b: u32) -> u32 {
    values.iter().fold(u32::MAX, |least, x| least.min(a.wrapping_mul(*x).wrapping_add(b)))
}

/// The seed of the permutations, that of the published code.
const SEED: u32 = 42;
const MERSENNE_PRIME: u64 = (1 << 61) - 1;

/// As many permutations as a sketch has slots, and room for hashes.
#[derive(Clone, Debug)]
pub(super) struct Permutations {
    pairs: Vec<(u64, u64)>,
    hashes: Vec<u32>,
}

impl Permutations {
    pub(super) fn new(slots: u32) -> Self {
        let mut random = NumpyRandom::new(SEED);
        let pair = |_| {
            let multiplier = random.integer(1, MERSENNE_PRIME);
            (multiplier, random.integer(0, MERSENNE_PRIME))
        };
        Self { pairs: (0..slots).map(pair).collect(), hashes: Vec::new() }
    }

    /// The sketch of the n-grams, in any order and with repeats; all slots 2^32 - 1 if there are none.
    pub(super) fn sketch<'t>(&mut self, ngrams: impl Iterator<Item = &'t [u8]>) -> Sketch {
        let Self { pairs, hashes } = self;
        hashes.clear();
        hashes.extend(ngrams.map(sha1_32));
        hashes.sort_unstable();
        hashes.dedup();
        Sketch::full(pairs.iter().map(|(a, b)| smallest_permuted(hashes, *a, *b)))
    }

    /// Gives memory beyond that for `ngrams` back.
    pub(super) fn shrink(&mut self, ngrams: usize) {
        self.hashes.clear();
        self.hashes.shrink_to(ngrams);
    }

    #[cfg(test)]
    pub(super) fn pairs(&self) -> &[(u64, u64)] {
        &self.pairs
    }
}

fn smallest_permuted(hashes: &[u32], a: u64, b: u64) -> u32 {
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

/// `numpy.random.RandomState(seed)`.
pub(super) struct NumpyRandom(MersenneTwister);

impl NumpyRandom {
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

/// The first four bytes of the SHA-1 digest (RFC 3174), as a little-endian number; not for security.
fn sha1_32(bytes: &[u8]) -> u32 {
    let [first, second, third, fourth, ..] = Sha1::digest(bytes).0;
    u32::from_le_bytes([first, second, third, fourth])
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

    #[test]
    fn hashes_of_shingles_are_little_endian() {
        assert_eq!(sha1_32(b"hello"), 499_578_026);
        assert_eq!(sha1_32(b""), 0xeea3_39da);
    }
}
