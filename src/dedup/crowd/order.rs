//! Shingles as keys of 32 bits that sort the rarest first.

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
pub(super) struct Order(HashMap<u64, u8, Mixed>);

impl Order {
    /// Classes above that of the rarest.
    const CLASSES: u64 = 62;
    /// Bits of a key that are the hash's.
    const HASH: u32 = 26;

    /// The order by the shares in `sets`.
    pub(super) fn of<S: AsRef<[u64]>>(sets: &[S]) -> Self {
        let mut counts: HashMap<u64, u32, Mixed> = HashMap::default();
        for shingle in sets.iter().flat_map(|set| set.as_ref()) {
            *counts.entry(*shingle).or_default() += 1;
        }
        let all = u64::try_from(sets.len()).unwrap_or(u64::MAX).max(1);
        let class = |count: u32| 1 + u64::from(count).saturating_mul(Self::CLASSES) / all;
        let shares = counts.into_iter().filter(|(_, count)| *count > 1);
        Self(shares.map(|(s, count)| (s, u8::try_from(class(count)).unwrap_or(u8::MAX))).collect())
    }

    /// Replaces `keys` by the `most` smallest keys of a set, ascending. Two shingles with one key make an
    /// overlap look larger, never smaller.
    pub(super) fn first_keys(&self, shingles: &[u64], most: usize, keys: &mut Vec<u32>) {
        keys.clear();
        keys.extend(shingles.iter().map(|shingle| self.key(*shingle)));
        if let Some(last) = most.checked_sub(1)
            && last < keys.len()
        {
            keys.select_nth_unstable(last);
        }
        keys.truncate(most);
        keys.sort_unstable();
    }

    fn key(&self, shingle: u64) -> u32 {
        let class = u32::from(self.0.get(&shingle).copied().unwrap_or(0)).min(63);
        let [_, _, _, _, low @ ..] = shingle.to_le_bytes();
        class << Self::HASH | u32::from_le_bytes(low) >> (u32::BITS - Self::HASH)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * 18
    }
}
