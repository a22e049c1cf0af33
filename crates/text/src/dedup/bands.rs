//! The LSH band hashes of a sketch, under which similar documents share a bucket, and the keys made of them.
//!
//! Keys are made for a policy and its scope, and for removals.

use super::sketch::Sketch;
use model::{DedupScope, Policy, SourceId};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Hash of one band: 40 bits, the others zero.
pub type BandHash = u64;

/// Hash of every band of the sketch, in order; see [`bands_into`].
#[must_use]
pub fn bands(sketch: &Sketch, policy: &Policy) -> Vec<BandHash> {
    let mut hashes = Vec::new();
    bands_into(sketch, policy, &mut hashes);
    hashes
}

/// Replaces `hashes` by the hash of each of the policy's bands: the high 40 bits of xxh3-64, seeded
/// with the band's number, of its `rows` consecutive slots: the bytes of a native sketch, and at full width
/// the bytes that the published code looks bands up by. Slots left over are ignored, and bands beyond the
/// slots do not exist. Computed from the stored bytes alone, so an index can be rebuilt
/// from sketches.
pub fn bands_into(sketch: &Sketch, policy: &Policy, hashes: &mut Vec<BandHash>) {
    let rows = usize::try_from(policy.rows).unwrap_or(usize::MAX).max(1);
    let numbers = 0..u64::from(policy.bands);
    hashes.clear();
    if sketch.is_full() {
        let slots = sketch.as_bytes().chunks_exact(rows.saturating_mul(Sketch::WIDTH));
        let bands = numbers.zip(slots);
        hashes.extend(bands.map(|(band, slots)| hash(&published(slots), band)));
    } else {
        let bands = numbers.zip(sketch.as_bytes().chunks_exact(rows));
        hashes.extend(bands.map(|(band, slots)| hash(slots, band)));
    }
}

fn hash(bytes: &[u8], band: u64) -> BandHash {
    xxh3_64_with_seed(bytes, band) >> 24
}

/// The band that published code looks up: each slot as a big-endian number of 64 bits.
fn published(slots: &[u8]) -> Vec<u8> {
    let (slots, _) = slots.as_chunks::<{ Sketch::WIDTH }>();
    slots.iter().flat_map(|[a, b, c, d]| [0, 0, 0, 0, *d, *c, *b, *a]).collect()
}

/// Hash of every band, in order, of a document of `source`. In scope per source the 40 bits are mixed
/// with the source, so that documents of two sources meet in no bucket but by chance.
#[must_use]
pub fn band_keys(sketch: &Sketch, policy: &Policy, source: SourceId) -> Vec<BandHash> {
    let mut hashes = Vec::new();
    bands_into(sketch, policy, &mut hashes);
    if policy.scope == DedupScope::PerSource {
        let mix = xxh3_64(&source.0.to_le_bytes()) >> 24;
        for hash in &mut hashes {
            *hash ^= mix;
        }
    }
    hashes
}

/// Slots of a band of removals. A pair of similarity 0.5 shares one of 64 bands of four slots with a probability of
/// 0.98, one of
/// 0.8 in all but 10^-15 of cases.
const BLOCK_ROWS: usize = 4;

/// The hashes under which a removed text and one that is similar to it meet, one for each four slots of the sketch: 16
/// bytes, independent of the policy, since the blocks of a removal outlive a change of the threshold.
#[must_use]
pub fn block_keys(sketch: &Sketch) -> Vec<[u8; 16]> {
    let width = if sketch.is_full() { BLOCK_ROWS * Sketch::WIDTH } else { BLOCK_ROWS };
    let key = |(band, slots): (u64, &[u8])| {
        let mut key = [0; 16];
        let halves =
            [band, band | 1 << 32].map(|seed| xxh3_64_with_seed(slots, seed).to_le_bytes());
        for (to, from) in key.iter_mut().zip(halves.into_iter().flatten()) {
            *to = from;
        }
        key
    };
    (0..).zip(sketch.as_bytes().chunks_exact(width)).map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_sets_share_a_key_and_others_do_not() {
        let keys = |from: u64, to: u64| {
            let shingles: Vec<u64> =
                (from..to).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            block_keys(&Sketch::of(&shingles))
        };
        let shared =
            |a: &[[u8; 16]], b: &[[u8; 16]]| a.iter().filter(|key| b.contains(key)).count();
        let own = keys(0, 1000);
        assert_eq!(own.len(), 64);
        assert_eq!(shared(&own, &keys(0, 1000)), 64);
        assert!(shared(&own, &keys(60, 1000)) > 30, "similarity 0.94");
        assert!(shared(&own, &keys(200, 1200)) > 0, "similarity 0.67");
        assert_eq!(shared(&own, &keys(5000, 6000)), 0);
    }
}
