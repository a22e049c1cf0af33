//! The filter over the band index: which buckets surely have no member.
//!
//! It is a blocked Bloom filter (Putze, Sanders, Singler 2007): one cache line a question. It grows by layers, so it is
//! never built again.
//!
//! Between processes it is the file `bands.filter` beside the database, rebuildable. Little-endian: 8 bytes of name and
//! format, digest of the entries it holds u64, layers u64; of each layer capacity, count and blocks u64; then the
//! blocks of each; then xxh3-64 of all before. A file that is damaged or of other entries counts as missing.

use crate::error::StoreError;
use model::{GOLDEN, Generation, IoError, mix64};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// Bits an entry of a full layer: about one absent bucket in a hundred passes it.
const BITS: u64 = 10;
const BLOCK_BITS: u64 = 512;
/// Bits set an entry, all in one block.
const PROBES: u32 = 6;
/// Capacity of the first layer: 80 KiB.
const SMALLEST: u64 = 1 << 16;

/// Bytes of the filter over a band index with so many buckets.
#[must_use]
pub fn band_filter_bytes(buckets: u64) -> u64 {
    RunFilter::bytes_for(buckets)
}

/// Layers of growing size; an entry is in one of them.
#[derive(Debug, Default)]
pub(crate) struct RunFilter {
    pub(crate) layers: Vec<Arc<FilterLayer>>,
}

#[derive(Debug)]
pub(crate) struct FilterLayer {
    pub(crate) capacity: u64,
    pub(crate) count: AtomicU64,
    pub(crate) blocks: Vec<[AtomicU64; 8]>,
}

impl RunFilter {
    /// Bytes of a filter in one layer for `entries`.
    pub(crate) fn bytes_for(entries: u64) -> u64 {
        FilterLayer::blocks_for(entries.max(SMALLEST)) * (BLOCK_BITS / 8)
    }

    /// An empty filter that holds `entries` in one layer.
    pub(crate) fn with_capacity(entries: u64) -> Self {
        Self { layers: vec![Arc::new(FilterLayer::new(entries.max(SMALLEST)))] }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.blocks.len() as u64 * (BLOCK_BITS / 8)).sum()
    }

    pub(crate) fn entries(&self) -> u64 {
        self.layers.iter().map(|layer| layer.count.load(Ordering::Relaxed)).sum()
    }

    /// This filter with room for `entries` more: another layer as large as all before when the last
    /// one is full.
    pub(crate) fn grown(self: &Arc<Self>, entries: u64) -> Arc<Self> {
        let room = self
            .layers
            .last()
            .map_or(0, |last| last.capacity.saturating_sub(last.count.load(Ordering::Relaxed)));
        if room >= entries {
            return Arc::clone(self);
        }
        let mut layers = self.layers.clone();
        layers.push(Arc::new(FilterLayer::new(self.entries().max(entries).max(SMALLEST))));
        Arc::new(Self { layers })
    }

    /// Adds a bucket to the last layer.
    pub(crate) fn insert(&self, generation: Generation, bucket: u64) {
        if let Some(last) = self.layers.last() {
            last.insert(hash(generation, bucket));
        }
    }

    /// False: the bucket has no member.
    pub(crate) fn may_contain(&self, generation: Generation, bucket: u64) -> bool {
        let hash = hash(generation, bucket);
        // The last layer is the one that holds most.
        self.layers.iter().rev().any(|layer| layer.may_contain(hash))
    }
}

impl FilterLayer {
    fn blocks_for(entries: u64) -> u64 {
        entries.saturating_mul(BITS).div_ceil(BLOCK_BITS).max(1)
    }

    pub(crate) fn new(capacity: u64) -> Self {
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

/// Changes with the layout and with the hash of the filter.
const NAME: u64 = u64::from_le_bytes(*b"cdbband1");

/// Writes the filter over the entries that `chain` is the digest of. Not synced: a torn file is as
/// none.
pub(crate) fn write(path: &Path, filter: &RunFilter, chain: u64) -> Result<(), StoreError> {
    let size = usize::try_from(filter.bytes()).unwrap_or(0);
    let mut bytes = Vec::with_capacity(size + 64 + 24 * filter.layers.len());
    let mut put = |word: u64| bytes.extend_from_slice(&word.to_le_bytes());
    put(NAME);
    put(chain);
    put(filter.layers.len() as u64);
    for layer in &filter.layers {
        put(layer.capacity);
        put(layer.count.load(Ordering::Relaxed));
        put(layer.blocks.len() as u64);
    }
    for word in filter.layers.iter().flat_map(|layer| &layer.blocks).flatten() {
        put(word.load(Ordering::Relaxed));
    }
    let sum = xxh3_64(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    let temporary = path.with_extension("tmp");
    std::fs::write(&temporary, bytes).map_err(IoError::of("writing", &temporary))?;
    Ok(std::fs::rename(&temporary, path).map_err(IoError::of("renaming to", path))?)
}

/// The filter in the file, with the digest of the entries it holds; none when there is no whole one.
pub(crate) fn read(path: &Path) -> Option<(RunFilter, u64)> {
    decode(&std::fs::read(path).ok()?)
}

fn decode(bytes: &[u8]) -> Option<(RunFilter, u64)> {
    let (body, sum) = bytes.split_last_chunk::<8>()?;
    if xxh3_64(body) != u64::from_le_bytes(*sum) {
        return None;
    }
    let (words, []) = body.as_chunks::<8>() else { return None };
    let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
    if words.next()? != NAME {
        return None;
    }
    let chain = words.next()?;
    let mut shapes = Vec::new();
    for _ in 0..words.next()? {
        shapes.push((words.next()?, words.next()?, words.next()?));
    }
    let mut layers = Vec::new();
    for (capacity, count, blocks) in shapes {
        if blocks == 0 || blocks > words.len() as u64 / 8 {
            return None;
        }
        let mut held = Vec::with_capacity(usize::try_from(blocks).ok()?);
        for _ in 0..blocks {
            let mut block: [AtomicU64; 8] = Default::default();
            for word in &mut block {
                *word = AtomicU64::new(words.next()?);
            }
            held.push(block);
        }
        layers.push(Arc::new(FilterLayer { capacity, count: AtomicU64::new(count), blocks: held }));
    }
    words.next().is_none().then_some((RunFilter { layers }, chain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_passes_and_few_others_do() {
        let mut filter = Arc::new(RunFilter::default());
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

#[cfg(test)]
mod file_tests {
    use super::*;
    use model::Generation;

    #[test]
    fn filters_round_trip_and_damage_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bands.filter");
        assert!(read(&path).is_none());
        let filter = Arc::new(RunFilter::with_capacity(1)).grown(70_000);
        for bucket in 0..1000 {
            filter.insert(Generation(1), bucket * 77);
        }
        write(&path, &filter, 42).unwrap();
        let (found, chain) = read(&path).unwrap();
        assert_eq!((chain, found.entries(), found.layers.len()), (42, 1000, 2));
        assert!((0..1000).all(|bucket| found.may_contain(Generation(1), bucket * 77)));
        let whole = std::fs::read(&path).unwrap();
        for at in [0, 8, 17, 25, 40, 500, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert!(decode(&bytes).is_none(), "byte {at}");
            assert!(decode(&whole[..at]).is_none(), "cut at {at}");
        }
    }

    #[test]
    fn a_false_size_with_a_true_checksum_is_no_filter() {
        for blocks in [0_u64, 1, u64::MAX / 8, u64::MAX] {
            let words = [NAME, 1, 1, 10, 10, blocks];
            let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            bytes.extend(xxh3_64(&bytes).to_le_bytes());
            assert!(decode(&bytes).is_none());
        }
    }
}
