//! Keyed permutations of `0..n` that need no memory: the source of every order in an epoch.
//!
//! Specification, version 1 (frozen; the golden vectors below pin it):
//!
//! * Key: 8 round keys, the first 64 bytes, as little-endian u64, of the BLAKE3 output in
//!   `derive_key` mode, context `corpusdb 2025 epoch permutation v1`, over: seed u64, length of the
//!   source name u64, source name, pass u64, purpose u8, class u64 (integers little-endian).
//! * Domain: `bits` = the bits of `n - 1`, at least 6; a number is cut into its `bits - bits/2` high
//!   bits (left) and its `bits/2` low bits (right).
//! * Rounds 0 to 7: `(left, right) = (right, left ^ low(mix(right + key)))`, where `low` keeps as many
//!   bits as `left` had and `mix` is the finaliser of SplitMix64. The halves swap widths each round
//!   and stand as at first after the eighth.
//! * A result of `n` or more is permuted again until it is below `n` (cycle walking).

use model::mix64;

const ROUNDS: usize = 8;
const MIN_BITS: u32 = 6;
/// Indices that go through the rounds side by side.
const WIDTH: usize = 8;
const CONTEXT: &str = "corpusdb 2025 epoch permutation v1";

/// What is being put in order; part of the key, so that orders are independent of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Items of one size (class = the size) among the documents that have it.
    Items = 0,
    /// Rows of a pass.
    Rows = 1,
    /// Blocks of documents.
    Blocks = 2,
    /// Documents inside a block (class = the block).
    Documents = 3,
    /// Positions of a global batch (class = the first row of its window in the run).
    Positions = 4,
    /// Batches of a window (class = the first row of the window in the run).
    Batches = 5,
}

/// A permutation of `0..n`, a pure function of its key.
#[derive(Clone, Debug)]
pub struct Permutation {
    n: u64,
    left_bits: u32,
    right_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `0..n` keyed by seed, source, pass, purpose and class.
    #[must_use]
    pub fn new(n: u64, seed: u64, source: &str, pass: u64, purpose: Purpose, class: u64) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&seed.to_le_bytes());
        hasher.update(&(source.len() as u64).to_le_bytes());
        hasher.update(source.as_bytes());
        hasher.update(&pass.to_le_bytes());
        hasher.update(&[purpose as u8]);
        hasher.update(&class.to_le_bytes());
        let mut output = hasher.finalize_xof();
        let keys = std::array::from_fn(|_| {
            let mut key = [0; 8];
            output.fill(&mut key);
            u64::from_le_bytes(key)
        });
        let bits = (64 - n.saturating_sub(1).leading_zeros()).max(MIN_BITS);
        Self { n, left_bits: bits - bits / 2, right_bits: bits / 2, keys }
    }

    /// Where `index` goes; `index` must be below `n` (a larger one is taken modulo `n`).
    #[must_use]
    pub fn at(&self, index: u64) -> u64 {
        if self.n <= 1 {
            return 0;
        }
        let mut value = index % self.n;
        loop {
            value = self.rounds(value);
            if value < self.n {
                return value;
            }
        }
    }

    /// Where `from` and the indices after it go, as [`Permutation::at`] says one by one. Several are on
    /// their way at a time, and none waits for the one before.
    pub fn fill(&self, from: u64, out: &mut [u64]) {
        let (chunks, rest) = out.as_chunks_mut::<WIDTH>();
        let mut next = from;
        for chunk in chunks {
            let end = next.saturating_add(WIDTH as u64);
            if self.n > 1 && end <= self.n {
                *chunk = self.rounds_of(std::array::from_fn(|at| next + at as u64));
                for value in chunk {
                    while *value >= self.n {
                        *value = self.rounds(*value);
                    }
                }
            } else {
                (next..end).zip(chunk).for_each(|(index, value)| *value = self.at(index));
            }
            next = end;
        }
        (next..).zip(rest).for_each(|(index, value)| *value = self.at(index));
    }

    fn rounds_of(&self, values: [u64; WIDTH]) -> [u64; WIDTH] {
        let (mut left_bits, mut right_bits) = (self.left_bits, self.right_bits);
        let mut left = values.map(|value| value >> right_bits);
        let mut right = values.map(|value| value & mask(right_bits));
        for key in self.keys {
            let low = mask(left_bits);
            for (left, right) in left.iter_mut().zip(&mut right) {
                let mixed = mix64(right.wrapping_add(key)) & low;
                (*left, *right) = (*right, *left ^ mixed);
            }
            (left_bits, right_bits) = (right_bits, left_bits);
        }
        let mut values = right;
        values.iter_mut().zip(left).for_each(|(right, left)| *right |= left << right_bits);
        values
    }

    fn rounds(&self, value: u64) -> u64 {
        let (mut left_bits, mut right_bits) = (self.left_bits, self.right_bits);
        let mut left = value >> right_bits;
        let mut right = value & mask(right_bits);
        for key in self.keys {
            let mixed = mix64(right.wrapping_add(key)) & mask(left_bits);
            (left, right) = (right, left ^ mixed);
            (left_bits, right_bits) = (right_bits, left_bits);
        }
        left << right_bits | right
    }
}

const fn mask(bits: u32) -> u64 {
    // `bits` is at most 32: half of a 64-bit domain.
    (1 << bits) - 1
}

/// A number in 0..1, even, for `what` under `purpose` and `seed`: the first 53 bits of BLAKE3 in
/// `derive_key` mode, context `corpusdb 2026 epoch coin v1`, over seed u64, length of the purpose u64,
/// purpose, what (integers little-endian).
pub(in crate::epoch) fn coin(purpose: &str, seed: u64, what: &[u8]) -> f64 {
    let mut hasher = blake3::Hasher::new_derive_key("corpusdb 2026 epoch coin v1");
    hasher.update(&seed.to_le_bytes());
    hasher.update(&(purpose.len() as u64).to_le_bytes());
    hasher.update(purpose.as_bytes());
    hasher.update(what);
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    (u64::from_le_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn order(n: u64, seed: u64, source: &str, pass: u64) -> Vec<u64> {
        let permutation = Permutation::new(n, seed, source, pass, Purpose::Rows, 0);
        (0..n).map(|i| permutation.at(i)).collect()
    }

    #[test]
    fn golden_vectors() {
        assert_eq!(order(10, 0, "", 0), GOLDEN_10);
        assert_eq!(order(10, 42, "web", 1), GOLDEN_WEB);
        let large = Permutation::new(1 << 40, 7, "code", 3, Purpose::Items, 2048);
        assert_eq!([0, 1, 1 << 39].map(|i| large.at(i)), GOLDEN_LARGE);
        let whole = Permutation::new(u64::MAX, 7, "code", 3, Purpose::Documents, 1);
        assert_eq!([0, u64::MAX - 1].map(|i| whole.at(i)), GOLDEN_WHOLE);
    }

    #[test]
    fn every_part_of_the_key_counts() {
        let base = order(1000, 1, "web", 0);
        let others = [order(1000, 2, "web", 0), order(1000, 1, "wea", 0), order(1000, 1, "web", 1)];
        for other in others {
            let equal = base.iter().zip(&other).filter(|(a, b)| a == b).count();
            assert!(equal < 10, "{equal} of 1000 positions agree");
        }
    }

    #[test]
    fn small_orders_are_even() {
        // 6 permutations of 3, 6,000 keys: each expected 1,000 times; chi-square of 5 degrees of
        // freedom stays below 20.5 with probability 0.999.
        let mut seen = std::collections::BTreeMap::new();
        for seed in 0..6000 {
            *seen.entry(order(3, seed, "s", 0)).or_insert(0_u32) += 1;
        }
        let chi: f64 = seen.values().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        assert_eq!(seen.len(), 6);
        assert!(chi < 20.5, "chi-square {chi}");
    }

    proptest! {
        #[test]
        fn each_index_comes_once(n in 1_u64..3000, seed: u64, pass in 0_u64..9) {
            let mut order = order(n, seed, "source", pass);
            order.sort_unstable();
            prop_assert!(order.into_iter().eq(0..n));
        }
    }

    proptest! {
        #[test]
        fn many_at_once_go_where_each_goes(
            n in prop_oneof![0_u64..70, 1000_u64..100_000, Just(u64::MAX)],
            from in 0_u64..150,
            count in 0_usize..40,
            seed: u64,
        ) {
            let order = Permutation::new(n, seed, "source", 0, Purpose::Rows, 0);
            let from = if n == u64::MAX { n - 200 + from } else { from };
            let mut out = vec![0; count];
            order.fill(from, &mut out);
            let each: Vec<u64> = (0..count as u64).map(|at| order.at(from + at)).collect();
            prop_assert_eq!(out, each);
        }
    }

    // From an implementation of the specification above in another language.
    const GOLDEN_10: [u64; 10] = [6, 7, 1, 4, 3, 9, 2, 0, 5, 8];
    const GOLDEN_WEB: [u64; 10] = [4, 8, 7, 5, 6, 2, 0, 3, 9, 1];
    const GOLDEN_LARGE: [u64; 3] = [874_644_620_520, 769_356_277_958, 488_408_105_168];
    const GOLDEN_WHOLE: [u64; 2] = [4_978_417_983_857_561_933, 1_122_636_893_484_696_821];

    #[test]
    fn coins_are_even_and_depend_on_seed_and_purpose() {
        let mean = |seed, purpose| {
            (0..20_000_u64).map(|id| coin(purpose, seed, &id.to_le_bytes())).sum::<f64>() / 20_000.0
        };
        assert!((mean(0, "holdout") - 0.5).abs() < 0.01);
        assert!(
            mean(0, "holdout") != mean(1, "holdout") && mean(0, "holdout") != mean(0, "repeat")
        );
    }
}
