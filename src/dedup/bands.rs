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
/// with the band's number, of its `rows` consecutive slots. Slots left over are ignored, and bands
/// beyond the slots do not exist. Computed from the stored bytes alone, so an index can be rebuilt
/// from sketches.
pub fn bands_into(sketch: &Sketch, policy: &Policy, hashes: &mut Vec<BandHash>) {
    let rows = usize::try_from(policy.rows).unwrap_or(usize::MAX).max(1);
    let slots = sketch.as_bytes().chunks_exact(rows);
    hashes.clear();
    hashes.extend(
        (0..u64::from(policy.bands))
            .zip(slots)
            .map(|(band, slots)| xxh3_64_with_seed(slots, band) >> 24),
    );
}
