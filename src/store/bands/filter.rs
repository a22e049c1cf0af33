//! The filter in memory: which buckets surely have no member. A blocked Bloom filter (Putze, Sanders,
//! Singler 2007): one cache line a question. It grows by layers, so it is never built again.

use crate::model::{GOLDEN, Generation, mix64};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits an entry of a full layer: about one absent bucket in a hundred passes it.
const BITS: u64 = 10;
const BLOCK_BITS: u64 = 512;
/// Bits set an entry, all in one block.
const PROBES: u32 = 6;
/// Capacity of the first layer: 80 KiB.
const SMALLEST: u64 = 1 << 16;

/// Layers of growing size; an entry is in one of them.
#[derive(Debug, Default)]
pub(super) struct Filter {
    pub(super) layers: Vec<Arc<Layer>>,
}

#[derive(Debug)]
pub(super) struct Layer {
    pub(super) capacity: u64,
    pub(super) count: AtomicU64,
    pub(super) blocks: Vec<[AtomicU64; 8]>,
}

impl Filter {
    /// Bytes of a filter in one layer for `entries`.
    pub(super) fn bytes_for(entries: u64) -> u64 {
        Layer::blocks_for(entries.max(SMALLEST)) * (BLOCK_BITS / 8)
    }

    /// An empty filter that holds `entries` in one layer.
    pub(super) fn with_capacity(entries: u64) -> Self {
        Self { layers: vec![Arc::new(Layer::new(entries.max(SMALLEST)))] }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.blocks.len() as u64 * (BLOCK_BITS / 8)).sum()
    }

    pub(super) fn entries(&self) -> u64 {
        self.layers.iter().map(|layer| layer.count.load(Ordering::Relaxed)).sum()
    }

    /// This filter with room for `entries` more: another layer as large as all before when the last
    /// one is full.
    pub(super) fn grown(self: &Arc<Self>, entries: u64) -> Arc<Self> {
        let room = self
            .layers
            .last()
            .map_or(0, |last| last.capacity.saturating_sub(last.count.load(Ordering::Relaxed)));
        if room >= entries {
            return Arc::clone(self);
        }
        let mut layers = self.layers.clone();
        layers.push(Arc::new(Layer::new(self.entries().max(entries).max(SMALLEST))));
        Arc::new(Self { layers })
    }

    /// Adds a bucket to the last layer.
    pub(super) fn insert(&self, generation: Generation, bucket: u64) {
        if let Some(last) = self.layers.last() {
            last.insert(hash(generation, bucket));
        }
    }

    /// False: the bucket has no member.
    pub(super) fn may_contain(&self, generation: Generation, bucket: u64) -> bool {
        let hash = hash(generation, bucket);
        // The last layer is the one that holds most.
        self.layers.iter().rev().any(|layer| layer.may_contain(hash))
    }
}

impl Layer {
    fn blocks_for(entries: u64) -> u64 {
        (entries * BITS).div_ceil(BLOCK_BITS).max(1)
    }

    pub(super) fn new(capacity: u64) -> Self {
        let blocks = (0..Self::blocks_for(capacity)).map(|_| Default::default()).collect();
        Self { capacity, count: AtomicU64::new(0), blocks }
    }

    fn block(&self, hash: u64) -> Option<&[AtomicU64; 8]> {
        let at = (u128::from(hash) * self.blocks.len() as u128) >> 64;
        self.blocks.get(usize::try_from(at).unwrap_or(0))
    }

    #[expect(clippy::indexing_slicing, reason = "three bits index eight words")]
    fn insert(&self, hash: u64) {
        if let Some(block) = self.block(hash) {
            for (word, bit) in places(hash) {
                block[word].fetch_or(bit, Ordering::Relaxed);
            }
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[expect(clippy::indexing_slicing, reason = "three bits index eight words")]
    fn may_contain(&self, hash: u64) -> bool {
        self.block(hash).is_some_and(|block| {
            places(hash).all(|(word, bit)| block[word].load(Ordering::Relaxed) & bit != 0)
        })
    }
}

/// Word and bit of each probe: nine bits of a second hash each.
fn places(hash: u64) -> impl Iterator<Item = (usize, u64)> {
    let second = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (0..PROBES).map(move |probe| {
        let nine = second >> (10 + 9 * probe);
        ((nine & 7) as usize, 1 << (nine >> 3 & 63))
    })
}

/// Mixes generation and bucket; the filter's files depend on it.
const fn hash(generation: Generation, bucket: u64) -> u64 {
    mix64(bucket ^ (generation.0 as u64).wrapping_mul(GOLDEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_passes_and_few_others_do() {
        let mut filter = Arc::new(Filter::default());
        let mut random = 1_u64;
        let mut next = || {
            random = hash(Generation(7), random);
            random >> 20
        };
        let present: Vec<u64> = (0..400_000).map(|_| next()).collect();
        for chunk in present.chunks(30_000) {
            filter = filter.grown(chunk.len() as u64);
            for bucket in chunk {
                filter.insert(Generation(3), *bucket);
            }
        }
        assert!(filter.layers.len() <= 5, "{} layers", filter.layers.len());
        assert!(present.iter().all(|bucket| filter.may_contain(Generation(3), *bucket)));
        let passed = |generation| {
            (0..100_000).filter(|bucket| filter.may_contain(generation, *bucket)).count()
        };
        // Each layer lets about one in a hundred pass.
        assert!(passed(Generation(3)) < 5_000, "{} of 100,000", passed(Generation(3)));
        assert!(passed(Generation(4)) < 5_000);
        assert_eq!(filter.entries(), 400_000);
        assert!(filter.bytes() < 400_000 * 10 / 8 * 3);
    }
}
