//! The filter between processes: the file `bands.filter` beside the database, rebuildable.
//!
//! Little-endian: 8 bytes of name and format, digest of the entries it holds u64, layers u64; of each
//! layer capacity, count and blocks u64; then the blocks of each; then xxh3-64 of all before. One that
//! is missing, damaged or of other entries is as none.

use super::filter::{Filter, Layer};
use crate::store::error::StoreError;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// Changes with the layout and with the hash of the filter.
const NAME: u64 = u64::from_le_bytes(*b"cdbband1");

/// Writes the filter over the entries that `chain` is the digest of. Not synced: a torn file is as
/// none.
pub(super) fn write(path: &Path, filter: &Filter, chain: u64) -> Result<(), StoreError> {
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
    std::fs::write(&temporary, bytes).map_err(StoreError::io("writing", &temporary))?;
    std::fs::rename(&temporary, path).map_err(StoreError::io("renaming to", path))
}

/// The filter in the file, with the digest of the entries it holds; none when there is no whole one.
pub(super) fn read(path: &Path) -> Option<(Filter, u64)> {
    decode(&std::fs::read(path).ok()?)
}

fn decode(bytes: &[u8]) -> Option<(Filter, u64)> {
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
        layers.push(Arc::new(Layer { capacity, count: AtomicU64::new(count), blocks: held }));
    }
    words.next().is_none().then_some((Filter { layers }, chain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Generation;

    #[test]
    fn what_is_written_is_read_and_no_damage_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bands.filter");
        assert!(read(&path).is_none());
        let filter = Arc::new(Filter::with_capacity(1)).grown(70_000);
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
