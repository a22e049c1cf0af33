//! A map from band buckets: their keys are hashes already, so they are mixed once and no more.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by (band, hash). Its order of iteration means nothing and is never used.
pub type BucketMap<V> = HashMap<(u8, u64), V, BuildHasherDefault<BucketHasher>>;

/// Folds band and hash by one multiplication each.
#[derive(Clone, Copy, Debug, Default)]
pub struct BucketHasher(u64);

impl BucketHasher {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
}

impl Hasher for BucketHasher {
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

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(Self::ODD);
        self.0 ^= self.0 >> 29;
    }
}
