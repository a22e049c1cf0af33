//! The hashes under which a removed text and one that is similar to it meet, whatever the policy in force: what a
//! removal blocks outlives a change of the threshold.

use super::sketch::Sketch;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Slots of a band. A pair of similarity 0.5 shares one of 64 bands of four slots with a probability of 0.98, one of
/// 0.8 in all but 10^-15 of cases.
const ROWS: usize = 4;

/// A hash for each four slots of the sketch: 16 bytes, of which the policy decides nothing.
#[must_use]
pub fn block_keys(sketch: &Sketch) -> Vec<[u8; 16]> {
    let width = if sketch.is_full() { ROWS * Sketch::WIDTH } else { ROWS };
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
