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

/// Bytes of the state that `torch.Generator.get_state` gives on the CPU, since torch 1.6: numbers of 64 bits, little-endian.
/// They are the seed; the words of the block that are left, and a flag above them; the next word; the block, a word of 32
/// bits each; and what the normal distribution keeps.
const STATE_BYTES: usize = 5056;

/// Words of a block.
const BLOCK: usize = 624;

/// Places that are drawn before their elements are exchanged, so that no exchange waits for a division.
const AHEAD: usize = 256;

/// `torch.Generator` on the CPU: a 32-bit Mersenne Twister (MT19937).
///
/// Keeps its place, so a sampler that holds one generator over many epochs is reproduced by calling
/// [`Generator::randperm`] or [`Generator::length_grouped_indices`] once an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator(MersenneTwister);

/// The indices after a step of [`Generator::length_grouped_indices`], which are listed if they are asked for.
#[derive(Clone, Copy)]
pub(in crate::epoch) enum OrderStep<'a> {
    /// In random order, with the indices of a mega-batch.
    Permuted { order: &'a dyn Fn() -> Vec<u64>, mega_batch: usize },
    /// Each mega-batch sorted.
    Sorted(&'a dyn Fn() -> Vec<u64>),
    /// The longest element has changed places with the first: it stood at `from`.
    LongestFirst { order: &'a dyn Fn() -> Vec<u64>, from: usize },
}

impl Generator {
    /// `torch.Generator().manual_seed(seed)`: the low 32 bits of the seed count, as in torch.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(MersenneTwister::new(low_half(seed)))
    }

    /// The generator whose `get_state` gave these bytes.
    ///
    /// # Errors
    /// Bytes that are no state of torch's generator of the CPU.
    pub fn of_state(state: &[u8]) -> Result<Self, Error> {
        let numbers: Vec<u64> =
            state.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let found = match numbers.as_slice() {
            [_, left, _, words @ ..] if state.len() == STATE_BYTES => {
                let words: Vec<u32> =
                    words.iter().take(BLOCK).map(|word| low_half(*word)).collect();
                // A block of which a word is left ends at the next draw, as does the one before the first.
                let drawn = (BLOCK + 1).checked_sub(index(u64::from(low_half(*left))));
                drawn
                    .filter(|drawn| *drawn > 0)
                    .and_then(|drawn| MersenneTwister::resumed(&words, drawn))
            }
            _ => None,
        };
        found.map(Self).ok_or_else(|| {
            let bytes = state.len();
            Error::bad_input(format!(
                "{bytes} bytes are not the state of a torch.Generator of the CPU, from which permutations are drawn; \
                 give its `get_state()`"
            ))
        })
    }

    /// Puts its place into bytes of `get_state`, for `set_state`. What is not its place stays, and so do all where it
    /// stands as they say.
    ///
    /// # Errors
    /// As [`Generator::of_state`].
    pub fn put_state(&self, state: &mut [u8]) -> Result<(), Error> {
        if Self::of_state(state)? == *self {
            return Ok(());
        }
        let (words, drawn) = self.0.place();
        if let [_, left, next, block @ ..] = state.as_chunks_mut().0 {
            let flag = u64::from_le_bytes(*left) >> 32 << 32;
            *left = (flag | (BLOCK + 1 - drawn) as u64).to_le_bytes();
            *next = (drawn as u64).to_le_bytes();
            for (bytes, word) in block.iter_mut().zip(words) {
                *bytes = u64::from(*word).to_le_bytes();
            }
        }
        Ok(())
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
        let mut order: Vec<u64> = (0..n).collect();
        self.shuffle(&mut order);
        order
    }

    /// Puts values into the order of [`Generator::randperm`] of their number.
    fn shuffle<T>(&mut self, values: &mut [T]) {
        if (values.len() as u64) < WIDE {
            self.shuffle_forward(values);
        } else {
            self.inside_out(values);
        }
    }

    fn shuffle_forward<T>(&mut self, values: &mut [T]) {
        let last = values.len().saturating_sub(1);
        let mut drawn = Vec::with_capacity(AHEAD);
        for begin in (0..last).step_by(AHEAD) {
            let places = begin..last.min(begin + AHEAD);
            let left = low_half((values.len() - begin) as u64);
            drawn.clear();
            drawn.extend(
                places
                    .clone()
                    .zip((1..=left).rev())
                    .map(|(at, left)| at + index(u64::from(self.next_u32() % left))),
            );
            for (at, other) in places.zip(&drawn) {
                values.swap(at, *other);
            }
        }
    }

    fn inside_out<T>(&mut self, values: &mut [T]) {
        for at in 0..values.len() {
            let drawn = self.next_u64() % (at as u64 + 1);
            values.swap(at, index(drawn));
        }
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
        let lengths = lengths.iter().copied();
        Ok(if u32::try_from(lengths.len()).is_ok() {
            self.grouped(lengths.zip(0_u32..).collect(), size, seen)
        } else {
            self.grouped(lengths.zip(0_u64..).collect(), size, seen)
        })
    }

    /// The order of rows, of which each has its length beside its index: to look lengths up would be to wait for memory.
    fn grouped<L: Copy + Ord, I: Copy + Into<u64>>(
        &mut self,
        mut rows: Vec<(L, I)>,
        size: usize,
        seen: &mut dyn FnMut(OrderStep<'_>),
    ) -> Vec<u64> {
        let listed = |rows: &[(L, I)]| rows.iter().map(|(_, row)| (*row).into()).collect();
        self.shuffle(&mut rows);
        seen(OrderStep::Permuted { order: &|| listed(&rows), mega_batch: size });
        for mega_batch in rows.chunks_mut(size) {
            mega_batch.sort_by_key(|(length, _)| Reverse(*length));
        }
        seen(OrderStep::Sorted(&|| listed(&rows)));
        // Among equal lengths the first wins: the key falls with the place.
        let longest = rows
            .iter()
            .enumerate()
            .step_by(size)
            .max_by_key(|(place, (length, _))| (*length, Reverse(*place)))
            .map_or(0, |(place, _)| place);
        if longest > 0 {
            rows.swap(0, longest);
        }
        seen(OrderStep::LongestFirst { order: &|| listed(&rows), from: longest });
        rows.into_iter().map(|(_, row)| row.into()).collect()
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
        digest_of(&order.iter().flat_map(|at| at.to_le_bytes()).collect::<Vec<u8>>())
    }

    fn digest_of(bytes: &[u8]) -> String {
        blake3::hash(bytes).to_hex()[..16].to_owned()
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

    /// The state that torch 2.15 gives, of which only the numbers before the block are short enough to stand here.
    #[test]
    fn states_of_torch_are_read_and_put() {
        let mut state = vec![0; STATE_BYTES];
        let begun = Generator::new(42);
        let place = |state: &[u8]| (state[..24].to_vec(), digest_of(&state[24..]));
        state[..13].copy_from_slice(&[42, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
        for (bytes, word) in state[24..].chunks_exact_mut(8).zip(begun.0.place().0) {
            bytes.copy_from_slice(&u64::from(*word).to_le_bytes());
        }
        let first = state.clone();
        let mut generator = Generator::of_state(&state).unwrap();
        assert_eq!(generator, begun);
        assert_eq!(generator.randperm(1), [0]);
        generator.put_state(&mut state).unwrap();
        assert_eq!(state, first);
        assert_eq!(generator.randperm(12), randperm(12, 42));
        generator.put_state(&mut state).unwrap();
        let after_11 = [42, 0, 0, 0, 0, 0, 0, 0, 102, 2, 0, 0, 1, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(place(&state), (after_11.to_vec(), "539f81af61953db5".to_owned()));
        let mut same = Generator::of_state(&state).unwrap();
        assert_eq!(same.randperm(2000), generator.randperm(2000));
        same.put_state(&mut state).unwrap();
        assert_eq!(place(&state).1, "1feabc025f91854a");
        for wrong in [&state[..5048], &[0; STATE_BYTES], &[255; STATE_BYTES], &[]] {
            let words = Generator::of_state(wrong).unwrap_err().to_string();
            assert!(words.contains("not the state of a torch.Generator of the CPU"), "{words}");
        }
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
            steps.push(order());
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
            let mut wide: Vec<u64> = (0..n).collect();
            Generator::new(seed).inside_out(&mut wide);
            for mut order in [randperm(n, seed), wide] {
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
                        order()
                    }
                    OrderStep::Sorted(order) => order(),
                    OrderStep::LongestFirst { order, from } => {
                        let mut before = order();
                        before.swap(0, from);
                        assert_eq!(steps[1], before);
                        order()
                    }
                });
            });
            let order = order.unwrap();
            prop_assert_eq!(&order, &length_grouped_indices(&lengths, batch, multiple, seed).unwrap());
            prop_assert_eq!((&steps[0], &steps[2]), (&randperm(lengths.len() as u64, seed), &order));
            let mut all = order.clone();
            all.sort_unstable();
            prop_assert!(all.into_iter().eq(0..lengths.len() as u64));
            // As with more rows than 32 bits count.
            let size = batch * multiple.unwrap_or((lengths.len() / (4 * batch)).clamp(1, 50));
            let rows = lengths.iter().copied().zip(0_u64..).collect();
            prop_assert_eq!(&Generator::new(seed).grouped(rows, size, &mut |_| {}), &order);
            let of = |at: &u64| lengths[usize::try_from(*at).unwrap()];
            prop_assert_eq!(of(&order[0]), *lengths.iter().max().unwrap());
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
