//! Turns token hashes into the sorted set of shingle hashes.
//!
//! The hash of a shingle of tokens t1..tk is `mix64(k·G + t1·M^(k-1) + ... + tk)` modulo 2^64, with
//! `G` the golden step and `M` an odd constant. It is a rolling hash, and being mixed at the end its
//! bits serve as the uniform values that sketch and sort rely on.

use model::{GOLDEN, mix64};

const MULTIPLIER: u64 = 0xd6e8_feb8_6659_fd93;

/// Replaces `hashes` by the hash of every run of `length` tokens, in order and with repeats; of all
/// tokens together when there are fewer, and by nothing when there are none.
pub(super) fn shingle(tokens: &[u64], length: usize, hashes: &mut Vec<u64>) {
    hashes.clear();
    let length = length.clamp(1, tokens.len().max(1));
    let Some((first, _)) = tokens.split_at_checked(length).filter(|_| !tokens.is_empty()) else {
        return;
    };
    let salt = GOLDEN.wrapping_mul(u64::try_from(length).unwrap_or(u64::MAX));
    let mut leaving = 1_u64;
    let mut sum = 0_u64;
    for token in first {
        leaving = leaving.wrapping_mul(MULTIPLIER);
        sum = sum.wrapping_mul(MULTIPLIER).wrapping_add(*token);
    }
    hashes.reserve(tokens.len() - length + 1);
    hashes.push(mix64(sum.wrapping_add(salt)));
    hashes.extend(tokens.iter().zip(tokens.iter().skip(length)).map(|(old, new)| {
        sum =
            sum.wrapping_mul(MULTIPLIER).wrapping_add(*new).wrapping_sub(old.wrapping_mul(leaving));
        mix64(sum.wrapping_add(salt))
    }));
}

/// The distinct values of `hashes`, ascending. Fast for uniform values, correct for any.
pub(super) fn sorted_distinct(hashes: &[u64]) -> Vec<u64> {
    let mut sorted = if hashes.len() < 64 {
        let mut sorted = hashes.to_vec();
        sorted.sort_unstable();
        sorted
    } else {
        // Most pages have fewer shingles than this: a small table is emptied sooner.
        const PAGE: u32 = 10;
        const MOST: u32 = 12;
        if hashes.len() < 1 << PAGE {
            bucket_sort::<{ 1 << PAGE }>(hashes)
        } else {
            bucket_sort::<{ 1 << MOST }>(hashes)
        }
    };
    sorted.dedup();
    sorted
}

/// One pass by the leading bits, which leaves about one uniform value per bucket, then each bucket.
#[expect(
    clippy::indexing_slicing,
    reason = "a bucket is a value's leading bits, below the number of buckets; \
    a place is below the number of values, being a prefix sum of their counts"
)]
fn bucket_sort<const BUCKETS: usize>(hashes: &[u64]) -> Vec<u64> {
    const SMALL: usize = 24;
    let bits = (hashes.len().ilog2()).clamp(1, BUCKETS.ilog2());
    let bucket = |hash: u64| (hash >> (u64::BITS - bits)) as usize;
    let mut ends = [0_usize; BUCKETS];
    let ends = &mut ends[..1 << bits];
    for hash in hashes {
        ends[bucket(*hash)] += 1;
    }
    let mut sum = 0;
    let mut fullest = 0;
    for end in ends.iter_mut() {
        fullest = fullest.max(*end);
        sum += std::mem::replace(end, sum);
    }
    // Each entry is its bucket's first place now, and its end after the values are placed.
    let mut sorted = vec![0; hashes.len()];
    for hash in hashes {
        let place = &mut ends[bucket(*hash)];
        sorted[*place] = *hash;
        *place += 1;
    }
    if fullest <= SMALL {
        insertion_sort(&mut sorted);
    } else {
        let mut start = 0;
        for end in ends.iter() {
            sorted[start..*end].sort_unstable();
            start = *end;
        }
    }
    sorted
}

/// For values that are each less than one bucket away from their place.
#[expect(clippy::indexing_slicing, reason = "both cursors stay between 0 and the length")]
fn insertion_sort(values: &mut [u64]) {
    for right in 1..values.len() {
        let value = values[right];
        let mut at = right;
        while at > 0 && values[at - 1] > value {
            values[at] = values[at - 1];
            at -= 1;
        }
        values[at] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The definition, written out.
    fn one(tokens: &[u64]) -> u64 {
        let sum =
            tokens.iter().fold(0, |sum: u64, t| sum.wrapping_mul(MULTIPLIER).wrapping_add(*t));
        mix64(sum.wrapping_add(GOLDEN.wrapping_mul(tokens.len() as u64)))
    }

    proptest! {
        #[test]
        fn rolling_equals_the_definition(tokens in prop::collection::vec(any::<u64>(), 0..40), length in 1..8_usize) {
            let mut hashes = vec![1, 2, 3];
            shingle(&tokens, length, &mut hashes);
            let expected: Vec<u64> = match tokens.len() {
                0 => vec![],
                n if n < length => vec![one(&tokens)],
                _ => tokens.windows(length).map(one).collect(),
            };
            prop_assert_eq!(hashes, expected);
        }

        #[test]
        fn sorting_is_right_for_uniform_and_for_clustered_values(
            uniform in prop::collection::vec(any::<u64>(), 0..3000),
            clustered in prop::collection::vec(0..500_u64, 0..200),
            high in any::<bool>(),
        ) {
            let mut values = uniform;
            values.extend(clustered.iter().map(|x| if high { u64::MAX - x } else { *x }));
            let expected: Vec<u64> = values.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
            prop_assert_eq!(sorted_distinct(&values), expected);
        }
    }
}
