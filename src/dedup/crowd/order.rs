//! Shingles as keys of 32 bits that sort the rarest first.

use super::common::Commons;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Hashes what is a hash already. The order of iteration means nothing and is never used.
pub(super) type Mixed = BuildHasherDefault<MixedHasher>;

/// One multiplication, so that all bits of a key reach the top.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MixedHasher(u64);

impl Hasher for MixedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
}

/// Shares of shingles in a sample of sets. What is in none or one of them counts as rarest.
#[derive(Debug, Default)]
pub(super) struct Order {
    shares: HashMap<u64, Share, Mixed>,
    /// Shingles that have a bit.
    bits: u32,
    /// The class from which they have.
    common: u8,
}

/// How common a shingle is.
#[derive(Clone, Copy, Debug)]
struct Share {
    class: u8,
    /// Its place among the common ones.
    bit: u32,
}

impl Order {
    /// Classes above that of the rarest.
    const CLASSES: u64 = 62;
    /// Bits of a key that are the hash's.
    const HASH: u32 = 26;
    /// Common shingles there are at most, of as many as a set has.
    const COMMON: usize = 4;
    /// The bit of a shingle that is not common.
    const NONE: u32 = u32::MAX;

    /// The order by the shares in `sets`.
    pub(super) fn of<S: AsRef<[u64]>>(sets: &[S]) -> Self {
        let mut counts: HashMap<u64, u32, Mixed> = HashMap::default();
        for shingle in sets.iter().flat_map(|set| set.as_ref()) {
            *counts.entry(*shingle).or_default() += 1;
        }
        let all = u64::try_from(sets.len()).unwrap_or(u64::MAX).max(1);
        let class = |count: u32| 1 + u64::from(count).saturating_mul(Self::CLASSES) / all;
        let shared = counts.into_iter().filter(|(_, count)| *count > 1);
        let mut shares: HashMap<u64, Share, Mixed> = shared
            .map(|(shingle, count)| {
                let class = u8::try_from(class(count)).unwrap_or(u8::MAX).min(63);
                (shingle, Share { class, bit: Self::NONE })
            })
            .collect();
        let size = sets.iter().map(|set| set.as_ref().len()).sum::<usize>() / sets.len().max(1);
        let common = Self::common_class(shares.values(), Self::COMMON * size);
        let mut bits = 0;
        // Which bit a shingle has matters to nobody, as long as all ask one order.
        for share in shares.values_mut().filter(|share| share.class >= common) {
            share.bit = bits;
            bits += 1;
        }
        Self { shares, bits, common }
    }

    /// The least class of which, and above which, there are at most so many.
    fn common_class<'s>(shares: impl Iterator<Item = &'s Share>, most: usize) -> u8 {
        let mut of_class = [0_usize; 64];
        for share in shares {
            if let Some(count) = of_class.get_mut(usize::from(share.class)) {
                *count += 1;
            }
        }
        let (mut above, mut least) = (0, 64);
        for (class, count) in (0..64_u8).zip(of_class).skip(1).rev() {
            above += count;
            if above > most {
                break;
            }
            least = class;
        }
        least
    }

    /// Words of 64 bits that hold the common shingles of a set.
    pub(super) const fn words(&self) -> usize {
        self.bits.div_ceil(u64::BITS) as usize
    }

    /// Whether the shingles of a key are common: all of it are, or none, and rare ones come first.
    pub(super) fn is_common(&self, key: u32) -> bool {
        key >> Self::HASH >= u32::from(self.common)
    }

    /// Replaces `keys` by the `most` smallest keys of a set, ascending, and tells what of the set is common. Two
    /// shingles with one key make an overlap look larger, never smaller.
    pub(super) fn first_keys(&self, shingles: &[u64], most: usize, keys: &mut Vec<u32>) -> Commons {
        let mut commons = Commons { words: vec![0; self.words()], rare: 0 };
        keys.clear();
        keys.extend(shingles.iter().map(|shingle| {
            let share = self.shares.get(shingle);
            let bit = share.map_or(Self::NONE, |share| share.bit);
            match commons.words.get_mut((bit / u64::BITS) as usize) {
                Some(word) => *word |= 1 << (bit % u64::BITS),
                None => commons.rare += 1,
            }
            Self::key(*shingle, share.map_or(0, |share| share.class))
        }));
        if let Some(last) = most.checked_sub(1)
            && last < keys.len()
        {
            keys.select_nth_unstable(last);
        }
        keys.truncate(most);
        keys.sort_unstable();
        commons
    }

    fn key(shingle: u64, class: u8) -> u32 {
        let [_, _, _, _, low @ ..] = shingle.to_le_bytes();
        u32::from(class) << Self::HASH | u32::from_le_bytes(low) >> (u32::BITS - Self::HASH)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.shares.capacity() * 18
    }
}
