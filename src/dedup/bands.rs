//! The keys under which similar sketches meet.

use super::sketch::Sketch;
use crate::model::Policy;
use xxhash_rust::xxh3::xxh3_64_with_seed;

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
