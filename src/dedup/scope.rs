//! The bucket keys of a document within the scope of its policy.

use super::bands::{BandHash, bands_into};
use super::sketch::Sketch;
use crate::model::{Policy, Scope, SourceId};
use xxhash_rust::xxh3::xxh3_64;

/// Hash of every band, in order, of a document of `source`. In scope per source the 40 bits are mixed
/// with the source, so that documents of two sources meet in no bucket but by chance.
#[must_use]
pub fn band_keys(sketch: &Sketch, policy: &Policy, source: SourceId) -> Vec<BandHash> {
    let mut hashes = Vec::new();
    bands_into(sketch, policy, &mut hashes);
    if policy.scope == Scope::PerSource {
        let mix = xxh3_64(&source.0.to_le_bytes()) >> 24;
        for hash in &mut hashes {
            *hash ^= mix;
        }
    }
    hashes
}
