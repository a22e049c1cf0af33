//! Draws uniform samples of a selection, reproducible from a seed.

use model::DocId;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// `n` documents of a selection, uniform without replacement, in the order they were drawn; all
/// of them, shuffled, when there are fewer. The same (selection, n, seed) gives the same documents,
/// and a smaller `n` a prefix of them. A Fisher-Yates shuffle stopped after `n` draws; only the places it touched are
/// held.
pub fn sample_of(selection: &RoaringTreemap, n: u64, seed: u64) -> Vec<DocId> {
    let len = selection.len();
    let mut random = SampleStream::new(seed);
    let mut moved: BTreeMap<u64, u64> = BTreeMap::new();
    let mut drawn = Vec::new();
    for place in 0..n.min(len) {
        let other = place + random.below(len - place);
        let rank = moved.get(&other).copied().unwrap_or(other);
        let displaced = moved.remove(&place).unwrap_or(place);
        if other != place {
            moved.insert(other, displaced);
        }
        drawn.extend(selection.select(rank).map(DocId));
    }
    drawn
}

/// A fixed stream of random integers: the output of blake3 over a name and the seed.
struct SampleStream(blake3::OutputReader);

impl SampleStream {
    fn new(seed: u64) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"corpusdb sample 1");
        hasher.update(&seed.to_le_bytes());
        Self(hasher.finalize_xof())
    }

    fn next(&mut self) -> u64 {
        let mut bytes = [0_u8; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Uniform in `0..bound`; 0 for a bound of 0.
    fn below(&mut self, bound: u64) -> u64 {
        if bound < 2 {
            return 0;
        }
        // Values beyond the last whole multiple of the bound would favour small remainders.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let value = self.next();
            if value < limit {
                return value % bound;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn draws_are_distinct_members_and_prefixes(ids in proptest::collection::btree_set(any::<u64>(), 0..60), n in 0_u64..80, seed: u64) {
            let selection: RoaringTreemap = ids.iter().copied().collect();
            let drawn = sample_of(&selection, n, seed);
            prop_assert_eq!(drawn.len() as u64, n.min(selection.len()));
            let distinct: BTreeSet<u64> = drawn.iter().map(|document| document.0).collect();
            prop_assert_eq!(distinct.len(), drawn.len());
            prop_assert!(distinct.is_subset(&ids));
            let longer = sample_of(&selection, n + 5, seed);
            prop_assert_eq!(&longer[..drawn.len()], &drawn[..]);
        }
    }

    #[test]
    fn every_ordered_pair_is_as_likely() {
        let selection: RoaringTreemap = (0..5).collect();
        let mut seen: BTreeMap<Vec<DocId>, u32> = BTreeMap::new();
        for seed in 0..20_000 {
            *seen.entry(sample_of(&selection, 2, seed)).or_default() += 1;
        }
        assert_eq!(seen.len(), 20);
        // 1000 each, standard deviation 31.
        assert!(seen.values().all(|count| (850..1150).contains(count)), "{seen:?}");
    }

    #[test]
    fn the_stream_is_fixed() {
        let selection: RoaringTreemap = (0..1000).map(|id| id * 3).collect();
        let drawn: Vec<u64> =
            sample_of(&selection, 5, 42).into_iter().map(|document| document.0).collect();
        assert_eq!(drawn, GOLDEN);
    }

    const GOLDEN: [u64; 5] = [726, 543, 2460, 2838, 1659];
}
