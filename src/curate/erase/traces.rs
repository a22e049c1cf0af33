//! Hashed runs of bytes by which a search recognises a purged document, though nobody can read them.
//!
//! A rolling polynomial passes over the searched bytes; only where it is a known one is the run hashed.
//!
//! A polynomial is rolled over the bytes that are searched, and what it meets is hashed.

use model::invariant::{at, part};
use store::{TracePart, TraceRun};

/// Lengths of runs: the longest that fits is taken. What is shorter than the last is like much else.
pub(super) const WIDTHS: [usize; 3] = [32, 16, 8];
/// The base of the polynomial: odd, so that no byte is lost, with many bits set.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Bits of the filter that most windows do not pass.
const FILTER: u32 = 22;

/// Bytes that a run takes while it is searched for.
const RUN_BYTES: u64 = 64;

/// The bytes that a search carries from one block to the next.
pub(super) const CARRIED: usize = WIDTHS[0] - 1;

/// Adds at most `most` runs of `bytes`, spread from the beginning to the end.
pub(super) fn add(bytes: &[u8], of: TracePart, most: usize, runs: &mut Vec<TraceRun>) {
    let Some(width) = WIDTHS.into_iter().find(|width| bytes.len() >= *width) else { return };
    let (last, steps) = (bytes.len() - width, most.saturating_sub(1).max(1));
    let mut before = None;
    for step in 0..most {
        let at = last / steps * step + last % steps * step / steps;
        let Some(run) = bytes.get(at..at + width) else { continue };
        if before.replace(at) != Some(at) && is_telling(run) {
            runs.push(TraceRun { width: width as u8, of, rolled: rolled(run), hash: hash(run) });
        }
    }
}

/// Whether a run has bytes of some variety: spaces and zeros are everywhere.
fn is_telling(run: &[u8]) -> bool {
    let mut seen = [0_u64; 4];
    for byte in run {
        if let Some(word) = seen.get_mut(usize::from(byte >> 6)) {
            *word |= 1 << (byte & 63);
        }
    }
    seen.iter().map(|word| word.count_ones()).sum::<u32>() as usize > run.len() / 4
}

/// The polynomial of a run.
pub(super) fn rolled(run: &[u8]) -> u64 {
    run.iter().fold(0, |sum, byte| pushed(sum, *byte))
}

/// The sum with one more byte.
pub(super) const fn pushed(sum: u64, byte: u8) -> u64 {
    sum.wrapping_mul(BASE).wrapping_add(byte as u64 + 1)
}

/// The weight of the first byte of a run of this width, once another byte is pushed.
pub(super) fn weight(width: usize) -> u64 {
    (0..width).fold(1, |power: u64, _| power.wrapping_mul(BASE))
}

/// The first 8 bytes of the blake3 of a run.
pub(super) fn hash(run: &[u8]) -> u64 {
    let bytes = *blake3::hash(run).as_bytes();
    bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Runs that are searched for, by their places in the list that they were given in.
pub(super) struct TraceSearch {
    sets: Vec<TraceSet>,
}

/// Runs of one width.
struct TraceSet {
    width: usize,
    weight: u64,
    filter: Vec<u64>,
    /// Polynomial, hash, and place in the list; ascending.
    runs: Vec<(u64, u64, usize)>,
}

impl TraceSearch {
    /// Runs that are searched for at a time.
    pub(super) fn capacity(memory: u64) -> usize {
        (memory / 16 / RUN_BYTES).max(1 << 12) as usize
    }

    pub(super) fn of<'a>(runs: impl Iterator<Item = &'a TraceRun>) -> Self {
        let mut by_width: Vec<Vec<(u64, u64, usize)>> = vec![Vec::new(); WIDTHS.len()];
        for (at, run) in runs.enumerate() {
            let set = WIDTHS.iter().position(|width| *width == usize::from(run.width));
            if let Some(set) = set.and_then(|set| by_width.get_mut(set)) {
                set.push((run.rolled, run.hash, at));
            }
        }
        let sets = WIDTHS.into_iter().zip(by_width).filter(|(_, runs)| !runs.is_empty());
        Self { sets: sets.map(|(width, runs)| TraceSet::new(width, runs)).collect() }
    }

    /// Calls `found` with the place of each run that is in `bytes`, and where it begins there. Of those that lie in the
    /// first `carried` bytes, which were searched before, none.
    pub(super) fn within(&self, bytes: &[u8], carried: usize, found: &mut dyn FnMut(usize, usize)) {
        for set in &self.sets {
            set.within(bytes, carried, found);
        }
    }

    /// Whether any of the runs is in `bytes`.
    pub(super) fn any(&self, bytes: &[u8]) -> bool {
        let mut any = false;
        self.within(bytes, 0, &mut |_, _| any = true);
        any
    }
}

impl TraceSet {
    fn new(width: usize, mut runs: Vec<(u64, u64, usize)>) -> Self {
        runs.sort_unstable();
        let mut filter = vec![0_u64; 1 << (FILTER - 6)];
        for (rolled, ..) in &runs {
            let bit = rolled >> (64 - FILTER);
            if let Some(word) = filter.get_mut((bit >> 6) as usize) {
                *word |= 1 << (bit & 63);
            }
        }
        Self { width, weight: weight(width), filter, runs }
    }

    fn within(&self, bytes: &[u8], carried: usize, found: &mut dyn FnMut(usize, usize)) {
        let first = carried.saturating_sub(self.width - 1);
        let Some(window) = bytes.get(first..first + self.width) else { return };
        let mut sum = rolled(window);
        self.meet(sum, bytes, first, found);
        let (leaving, coming) = (bytes.iter().skip(first), bytes.iter().skip(first + self.width));
        for (place, (leaving, coming)) in (first + 1..).zip(leaving.zip(coming)) {
            let gone = (u64::from(*leaving) + 1).wrapping_mul(self.weight);
            sum = pushed(sum, *coming).wrapping_sub(gone);
            let bit = sum >> (64 - FILTER);
            let word = *at(&self.filter, (bit >> 6) as usize);
            if word & (1 << (bit & 63)) != 0 {
                self.meet(sum, bytes, place, found);
            }
        }
    }

    fn meet(&self, sum: u64, bytes: &[u8], at: usize, found: &mut dyn FnMut(usize, usize)) {
        let from = self.runs.partition_point(|(rolled, ..)| *rolled < sum);
        let same = || self.runs.iter().skip(from).take_while(|(rolled, ..)| *rolled == sum);
        if same().next().is_none() {
            return;
        }
        let hashed = hash(part(bytes, at..at + self.width));
        for (_, _, run) in same().filter(|(_, hash, _)| *hash == hashed) {
            found(*run, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runs_are_spread_over_all_of_it_and_are_of_some_variety() {
        let text: Vec<u8> = (0..1000_u32).flat_map(|n| n.to_string().into_bytes()).collect();
        let mut runs = Vec::new();
        add(&text, TracePart::Text, 12, &mut runs);
        assert_eq!((runs.len(), runs[0].width), (12, 32));
        assert_eq!(runs.last().unwrap().hash, hash(&text[text.len() - 32..]));
        assert_eq!(runs[0].rolled, rolled(&text[..32]));
        let of = |bytes: &[u8]| {
            let mut runs = Vec::new();
            add(bytes, TracePart::Key, 4, &mut runs);
            runs.iter().map(|run| run.width).collect::<Vec<_>>()
        };
        assert_eq!(of(b"page-17"), [0; 0], "too short to be told from chance");
        assert_eq!(of(b"page-178"), [8]);
        assert_eq!(of(b"https://a.example"), [16, 16]);
        assert_eq!(of(&[0; 4000]), [0; 0], "zeros are everywhere");
    }

    proptest! {
        /// However bytes are cut into blocks, the runs that are in them are found where a plain search finds them.
        #[test]
        fn finds_what_a_plain_search_finds(
            words in proptest::collection::vec("[a-z]{1,9} ", 0..400),
            cut in 40_usize..300,
            lengths in proptest::collection::vec(8_usize..80, 1..6),
        ) {
            let bytes = words.concat().into_bytes();
            let mut given = Vec::new();
            for (at, length) in lengths.iter().enumerate() {
                let from = (at * 131).min(bytes.len());
                let part = &bytes[from..(from + length).min(bytes.len())];
                super::add(part, TracePart::Text, 3, &mut given);
            }
            super::add(b"this is in none of the words: 0123456789", TracePart::Text, 3, &mut given);
            let mut expected = Vec::new();
            for (run, hashed) in given.iter().enumerate() {
                let windows = bytes.windows(usize::from(hashed.width)).enumerate();
                let same = windows.filter(|(_, window)| super::hash(window) == hashed.hash);
                expected.extend(same.map(|(at, _)| (run, at)));
            }
            expected.sort_unstable();
            let search = TraceSearch::of(given.iter());
            let mut found = Vec::new();
            let mut buffer: Vec<u8> = Vec::new();
            let mut begins = 0;
            for block in bytes.chunks(cut) {
                let carried = buffer.len().min(CARRIED);
                let dropped = buffer.len() - carried;
                buffer.drain(..dropped);
                begins += dropped;
                buffer.extend_from_slice(block);
                search.within(&buffer, carried, &mut |run, at| found.push((run, begins + at)));
            }
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
