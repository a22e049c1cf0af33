//! The random permutation of torch and the length-grouped order of transformers, index for index.
//!
//! For trainers that must see the very order their sampler gave them. corpusdb's own orders are keyed
//! permutations, which need no memory; these need an array of all indices.
//!
//! ```
//! use corpusdb::epoch::torch::{length_grouped_indices, randperm};
//!
//! assert_eq!(randperm(10, 42), [2, 6, 1, 8, 4, 5, 0, 9, 3, 7]);
//! let lengths = [3, 2, 5, 1, 4, 6, 7, 8, 3, 4, 1, 5];
//! let order = length_grouped_indices(&lengths, 3, None, 42)?;
//! assert_eq!(order, [7, 8, 1, 6, 2, 0, 11, 4, 10, 5, 9, 3]);
//! # Ok::<(), corpusdb::Error>(())
//! ```

use model::{Error, MersenneTwister};
use std::cmp::Reverse;

/// From this many elements on, torch (since 2.7) draws 64 bits an element: `UINT32_MAX / 20`.
pub const WIDE: u64 = 214_748_364;

/// `torch.Generator` on the CPU: a 32-bit Mersenne Twister (MT19937).
///
/// Keeps its place, so a sampler that holds one generator over many epochs is reproduced by calling
/// [`Generator::randperm`] or [`Generator::length_grouped_indices`] once an epoch.
#[derive(Clone, Debug)]
pub struct Generator(MersenneTwister);

/// The indices after a step of [`Generator::length_grouped_indices`].
#[derive(Clone, Copy, Debug)]
pub(in crate::epoch) enum OrderStep<'a> {
    /// In random order, with the indices of a mega-batch.
    Permuted { order: &'a [u64], mega_batch: usize },
    /// Each mega-batch sorted.
    Sorted(&'a [u64]),
    /// The longest element has changed places with the first: it stood at `from`.
    LongestFirst { order: &'a [u64], from: usize },
}

impl Generator {
    /// `torch.Generator().manual_seed(seed)`: the low 32 bits of the seed count, as in torch.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(MersenneTwister::new(low_half(seed)))
    }

    /// The next 32 bits of the stream, the same as `numpy.random.RandomState(seed)` draws.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// The next 64 bits: the first draw is the high half.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// `torch.randperm(n, generator=self)` of int64 on the CPU.
    ///
    /// Below [`WIDE`] elements a Fisher-Yates shuffle from the front with `n - 1` draws of 32 bits, from
    /// there on the inside-out shuffle with `n` draws of 64 bits, as torch does since 2.7 (before, the
    /// first for every `n`). Takes 8 bytes an element.
    pub fn randperm(&mut self, n: u64) -> Vec<u64> {
        if n < WIDE { self.shuffle_forward(n) } else { self.inside_out(n) }
    }

    fn shuffle_forward(&mut self, n: u64) -> Vec<u64> {
        let mut order: Vec<u64> = (0..n).collect();
        let mut rest = order.as_mut_slice();
        while rest.len() > 1 {
            let left = rest.len() as u64;
            let drawn = u64::from(self.next_u32()) % left;
            rest.swap(0, index(drawn));
            rest = rest.split_at_mut(1).1;
        }
        order
    }

    fn inside_out(&mut self, n: u64) -> Vec<u64> {
        let mut order = Vec::with_capacity(index(n));
        for at in 0..n {
            order.push(at);
            let drawn = self.next_u64() % (at + 1);
            order.swap(index(at), index(drawn));
        }
        order
    }

    /// `get_length_grouped_indices(lengths, batch_size, mega_batch_mult, generator=self)` of transformers.
    ///
    /// A random permutation is cut into mega-batches of `mega_batch_mult * batch_size`, each sorted by
    /// length descending, stably; then the longest element of all (the first such) changes places with
    /// the first, so that a batch too large for memory fails at once. The multiple defaults to
    /// `min(n / (4 * batch_size), 50)`, at least 1.
    ///
    /// # Errors
    /// A batch size or a multiple of 0.
    pub fn length_grouped_indices<L: Copy + Ord>(
        &mut self,
        lengths: &[L],
        batch_size: usize,
        mega_batch_mult: Option<usize>,
    ) -> Result<Vec<u64>, Error> {
        self.group_by_length(lengths, batch_size, mega_batch_mult, &mut |_| {})
    }

    /// [`Generator::length_grouped_indices`], with each of its steps shown to `seen`.
    ///
    /// # Errors
    /// A batch size or a multiple of 0.
    pub(in crate::epoch) fn group_by_length<L: Copy + Ord>(
        &mut self,
        lengths: &[L],
        batch_size: usize,
        mega_batch_mult: Option<usize>,
        seen: &mut dyn FnMut(OrderStep<'_>),
    ) -> Result<Vec<u64>, Error> {
        if batch_size == 0 {
            let message = "a batch of 0 rows groups nothing; give a batch size of at least 1";
            return Err(Error::bad_input(message));
        }
        let multiple = mega_batch_mult
            .unwrap_or_else(|| (lengths.len() / batch_size.saturating_mul(4)).clamp(1, 50));
        if multiple == 0 {
            let message = "a mega-batch of 0 batches groups nothing; give a multiple of at least 1, or none for the default";
            return Err(Error::bad_input(message));
        }
        let size = multiple.saturating_mul(batch_size);
        let mut order = self.randperm(lengths.len() as u64);
        seen(OrderStep::Permuted { order: &order, mega_batch: size });
        let length = |at: u64| lengths.get(index(at)).copied();
        for mega_batch in order.chunks_mut(size) {
            mega_batch.sort_by_key(|at| Reverse(length(*at)));
        }
        seen(OrderStep::Sorted(&order));
        // Among equal lengths the first wins: the key falls with the place.
        let longest = order
            .iter()
            .enumerate()
            .step_by(size)
            .max_by_key(|(place, at)| (length(**at), Reverse(*place)))
            .map_or(0, |(place, _)| place);
        if longest > 0 {
            order.swap(0, longest);
        }
        seen(OrderStep::LongestFirst { order: &order, from: longest });
        Ok(order)
    }
}

/// `torch.randperm(n, generator=torch.Generator().manual_seed(seed))` of int64 on the CPU: see
/// [`Generator::randperm`].
#[must_use]
pub fn randperm(n: u64, seed: u64) -> Vec<u64> {
    Generator::new(seed).randperm(n)
}

/// `get_length_grouped_indices` of transformers with a fresh generator of this seed: see
/// [`Generator::length_grouped_indices`].
///
/// # Errors
/// A batch size or a multiple of 0.
pub fn length_grouped_indices<L: Copy + Ord>(
    lengths: &[L],
    batch_size: usize,
    mega_batch_mult: Option<usize>,
    seed: u64,
) -> Result<Vec<u64>, Error> {
    Generator::new(seed).length_grouped_indices(lengths, batch_size, mega_batch_mult)
}

/// The low 32 bits.
fn low_half(word: u64) -> u32 {
    let [a, b, c, d, ..] = word.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// An index of an array in memory; one that no address reaches is out of every bound.
fn index(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLES: [u32; 12] = [3, 2, 5, 1, 4, 6, 7, 8, 3, 4, 1, 5];

    fn digest(order: &[u64]) -> String {
        let bytes: Vec<u8> = order.iter().flat_map(|at| at.to_le_bytes()).collect();
        blake3::hash(&bytes).to_hex()[..16].to_owned()
    }

    #[test]
    fn the_stream_is_the_published_one() {
        // The reference implementation of 2002: the 10,000th draw of the default seed.
        let mut generator = Generator::new(5489);
        assert_eq!(generator.next_u32(), 3_499_211_612);
        assert_eq!((2..=10_000).map(|_| generator.next_u32()).last(), Some(4_123_659_995));
        let same = |seed: u64| Generator::new(seed).next_u32();
        assert_eq!(same(42), same(42 + (1 << 32)));
    }

    #[test]
    fn permutations_of_torch() {
        assert_eq!(randperm(10, 0), [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]);
        assert_eq!(randperm(10, 42), [2, 6, 1, 8, 4, 5, 0, 9, 3, 7]);
        assert_eq!(randperm(10, 1234), [5, 4, 8, 2, 6, 9, 1, 7, 0, 3]);
        assert_eq!(randperm(12, 42), [6, 8, 1, 7, 0, 2, 10, 11, 4, 3, 5, 9]);
        assert_eq!((randperm(0, 7), randperm(1, 7)), (vec![], vec![0]));
        let large = randperm(1_000_003, 0);
        assert_eq!(large[..5], [128_973, 243_148, 711_864, 93_763, 851_555]);
        assert_eq!(digest(&large), "0fae5b7260ca45b0");
    }

    #[test]
    #[ignore = "takes 1.7 GB and half a minute a permutation"]
    fn permutations_on_both_sides_of_the_wide_draw() {
        let below = randperm(WIDE - 1, 0);
        assert_eq!(below[..3], [209_652_414, 184_016_258, 65_237_881]);
        drop(below);
        assert_eq!(randperm(WIDE, 0)[..3], [180_140_102, 136_514_640, 18_739_608]);
    }

    #[test]
    fn groups_of_transformers() {
        let lengths = [5, 3, 9, 1, 7, 9, 2, 8];
        assert_eq!(length_grouped_indices(&lengths, 2, None, 0).unwrap(), [2, 0, 7, 3, 4, 5, 1, 6]);
        let lengths: Vec<u64> = (0..1000).map(|at| at * 7919 % 97 + 1).collect();
        let order = length_grouped_indices(&lengths, 8, None, 0).unwrap();
        assert_eq!(order[..6], [158, 61, 934, 837, 449, 122]);
        assert_eq!(digest(&order), "98e508f79dc6312a");
    }

    #[test]
    fn groups_of_twelve_samples_in_threes() {
        let order = |multiple| length_grouped_indices(&SAMPLES, 3, multiple, 42).unwrap();
        assert_eq!(order(Some(2)), [7, 6, 2, 8, 0, 1, 5, 11, 4, 9, 10, 3]);
        assert_eq!(order(None), [7, 8, 1, 6, 2, 0, 11, 4, 10, 5, 9, 3]);
    }

    // The steps that the article "LengthGroupedSampler" prints.
    #[test]
    fn steps_of_twelve_samples_in_threes() {
        let (mut steps, mut places) = (Vec::new(), Vec::new());
        let order = Generator::new(42).group_by_length(&SAMPLES, 3, Some(2), &mut |step| {
            let (order, place) = match step {
                OrderStep::Permuted { order, mega_batch } => (order, mega_batch),
                OrderStep::Sorted(order) => (order, 0),
                OrderStep::LongestFirst { order, from } => (order, from),
            };
            steps.push(order.to_vec());
            places.push(place);
        });
        let sorted = [7, 6, 2, 8, 0, 1, 5, 11, 4, 9, 10, 3];
        assert_eq!(steps, [[6, 8, 1, 7, 0, 2, 10, 11, 4, 3, 5, 9], sorted, sorted]);
        assert_eq!((order.unwrap(), places), (sorted.to_vec(), vec![6, 0, 0]));
    }

    #[test]
    fn groups_of_nothing() {
        let order = |batch, multiple| length_grouped_indices(&SAMPLES, batch, multiple, 0);
        let words = |refused: Result<Vec<u64>, Error>| refused.unwrap_err().to_string();
        assert!(words(order(0, None)).starts_with("a batch of 0 rows groups nothing"));
        assert!(words(order(3, Some(0))).starts_with("a mega-batch of 0 batches"));
        assert_eq!(order(usize::MAX, Some(usize::MAX)).unwrap().len(), 12);
        assert_eq!(length_grouped_indices::<u32>(&[], 2, None, 0).unwrap(), [0; 0]);
    }

    proptest! {
        #[test]
        fn every_index_once(n in 0_u64..2000, seed: u64) {
            // The wide shuffle too, which no test of that size could afford.
            for mut order in [randperm(n, seed), Generator::new(seed).inside_out(n)] {
                order.sort_unstable();
                prop_assert!(order.into_iter().eq(0..n));
            }
        }

        #[test]
        fn mega_batches_fall(
            lengths in proptest::collection::vec(0_u32..50, 1..300),
            batch in 1_usize..9,
            multiple in proptest::option::of(1_usize..6),
            seed: u64,
        ) {
            let mut steps: Vec<Vec<u64>> = Vec::new();
            let mut sizes = None;
            let mut generator = Generator::new(seed);
            let order = generator.group_by_length(&lengths, batch, multiple, &mut |step| {
                steps.push(match step {
                    OrderStep::Permuted { order, mega_batch } => {
                        sizes = Some(mega_batch);
                        order.to_vec()
                    }
                    OrderStep::Sorted(order) => order.to_vec(),
                    OrderStep::LongestFirst { order, from } => {
                        let mut before = order.to_vec();
                        before.swap(0, from);
                        assert_eq!(steps[1], before);
                        order.to_vec()
                    }
                });
            });
            let order = order.unwrap();
            prop_assert_eq!(&order, &length_grouped_indices(&lengths, batch, multiple, seed).unwrap());
            prop_assert_eq!((&steps[0], &steps[2]), (&randperm(lengths.len() as u64, seed), &order));
            let mut all = order.clone();
            all.sort_unstable();
            prop_assert!(all.into_iter().eq(0..lengths.len() as u64));
            let of = |at: &u64| lengths[usize::try_from(*at).unwrap()];
            prop_assert_eq!(of(&order[0]), *lengths.iter().max().unwrap());
            let size = batch * multiple.unwrap_or((lengths.len() / (4 * batch)).clamp(1, 50));
            prop_assert_eq!(sizes, Some(size));
            for (permuted, sorted) in steps[0].chunks(size).zip(steps[1].chunks(size)) {
                let mut expected = permuted.to_vec();
                expected.sort_by_key(|at| Reverse(of(at)));
                prop_assert_eq!(&expected, sorted);
            }
            for mega_batch in order.chunks(size) {
                // The first may have been changed for the longest of all.
                prop_assert!(mega_batch[1..].is_sorted_by_key(|at| Reverse(of(at))));
            }
        }
    }
}
