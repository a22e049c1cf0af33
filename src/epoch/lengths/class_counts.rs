//! Counts of documents by (length, group of blocks), in about three bytes each, with search by rank.

use crate::epoch::pack::LengthHistogram;
use model::invariant::part;
use std::collections::BTreeMap;

/// Counts between two marks: a look goes through as many at most.
const STEP: usize = 64;

/// What a length takes beside its counts: its place in the tree, its run, what allocations round up.
const LENGTH_BYTES: usize = 160;
/// What a count takes beside its bytes: its part of a mark, and the room that lists grow into.
const COUNT_BYTES: usize = 3;

/// For each length, the groups that hold it, ascending.
#[derive(Default)]
pub(super) struct LengthCounts {
    lengths: BTreeMap<u32, LengthRun>,
    counts: usize,
    bytes: usize,
}

/// The counts of a length.
#[derive(Default)]
struct LengthRun {
    /// For each group its distance from the one before and its number of documents, as varints.
    bytes: Vec<u8>,
    /// One every [`STEP`] counts, but the first.
    marks: Vec<SkipMark>,
    counts: usize,
    /// The last group, which may get more; not in `bytes` yet.
    last: Option<(u32, u64)>,
    /// What is in `bytes`: where it ends.
    end: SkipMark,
}

/// A place in a run.
#[derive(Clone, Copy, Default)]
struct SkipMark {
    at: usize,
    /// The group before it, or 0.
    group: u32,
    /// The documents before it.
    documents: u64,
}

impl LengthCounts {
    /// Adds documents of `length` in `group`, which is no earlier than any before it.
    pub fn add(&mut self, length: u32, group: u32, documents: u64) {
        let (counts, bytes) = self.lengths.entry(length).or_default().add(group, documents);
        self.counts += counts;
        self.bytes += bytes;
    }

    /// About the memory that they take.
    pub fn held(&self) -> usize {
        // Lists that grow are half empty at worst.
        2 * self.bytes + self.counts * COUNT_BYTES + self.lengths.len() * LENGTH_BYTES
    }

    /// Makes one group of every two.
    pub fn fold(&mut self) {
        let unfolded = std::mem::take(self);
        for (length, run) in unfolded.lengths {
            let mut folded = LengthRun::default();
            for (group, documents) in run.iter(SkipMark::default()) {
                let (counts, bytes) = folded.add(group / 2, documents);
                self.counts += counts;
                self.bytes += bytes;
            }
            self.lengths.insert(length, folded);
        }
    }

    /// All documents by length.
    pub fn histogram(&self) -> LengthHistogram {
        let mut histogram = LengthHistogram::new();
        for (length, run) in &self.lengths {
            let last = run.last.map_or(0, |(_, documents)| documents);
            histogram.insert(*length, run.end.documents + last);
        }
        histogram
    }

    /// The group that has the document of `rank` among those of `length`, and its rank there.
    pub fn find(&self, length: u32, rank: u64) -> Option<(u32, u64)> {
        let run = self.lengths.get(&length)?;
        let after = run.marks.partition_point(|mark| mark.documents <= rank);
        let mark = after.checked_sub(1).and_then(|at| run.marks.get(at).copied());
        let mark = mark.unwrap_or_default();
        let mut rest = rank.checked_sub(mark.documents)?;
        for (group, documents) in run.iter(mark) {
            match rest.checked_sub(documents) {
                Some(after) => rest = after,
                None => return Some((group, rest)),
            }
        }
        None
    }
}

impl LengthRun {
    /// Answers how many counts and bytes came with it.
    fn add(&mut self, group: u32, documents: u64) -> (usize, usize) {
        if let Some((last, counted)) = &mut self.last
            && *last == group
        {
            *counted += documents;
            return (0, 0);
        }
        let before = self.bytes.len();
        if let Some((last, counted)) = self.last.replace((group, documents)) {
            put(&mut self.bytes, (last - self.end.group).into());
            put(&mut self.bytes, counted);
            self.counts += 1;
            let documents = self.end.documents + counted;
            self.end = SkipMark { at: self.bytes.len(), group: last, documents };
            if self.counts.is_multiple_of(STEP) {
                self.marks.push(self.end);
            }
        }
        (1, self.bytes.len() - before)
    }

    /// (group, documents) from a mark on.
    fn iter(&self, from: SkipMark) -> impl Iterator<Item = (u32, u64)> {
        let mut rest = part(&self.bytes, from.at..);
        let mut group = from.group;
        let written = std::iter::from_fn(move || {
            group += u32::try_from(take(&mut rest)?).ok()?;
            Some((group, take(&mut rest)?))
        });
        written.chain(self.last)
    }
}

/// Seven bits a byte, the lowest first; all but the last have the highest bit.
fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts took twenty bytes, and groups had so many blocks that a look-up went through several.
    #[test]
    fn a_count_takes_few_bytes_and_a_look_goes_through_few_counts() {
        let mut runs = LengthCounts::default();
        for group in 0..2000 {
            (0..300).for_each(|length| runs.add(length, group, u64::from(group % 90 + 1)));
        }
        assert!(runs.held() < 2000 * 300 * 8, "{}", runs.held());
        for run in runs.lengths.values() {
            let marks = run.marks.iter().map(|mark| mark.at);
            let ends: Vec<usize> = marks.chain([run.bytes.len()]).collect();
            // Two bytes a count here, and one that is not written yet.
            let longest = ends.array_windows().map(|[from, to]| (to - from) / 2).max();
            assert_eq!((longest, ends[0] / 2), (Some(STEP), STEP));
        }
    }

    proptest! {
        #[test]
        fn documents_are_found_by_rank_in_groups_folded_at_any_time(
            counts in prop::collection::vec((0..4_u32, 0..3_u32, 1..400_u64), 1..300),
            folds in prop::collection::vec(any::<bool>(), 300),
        ) {
            let (mut runs, mut shift, mut at) = (LengthCounts::default(), 0, 0);
            let mut all: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
            for ((length, more, documents), fold) in counts.iter().zip(folds) {
                at += more;
                runs.add(*length, at >> shift, *documents);
                all.entry(*length).or_default().push((at, *documents));
                if fold && shift < 6 {
                    runs.fold();
                    shift += 1;
                }
            }
            for (length, counts) in &all {
                let ranks = counts.iter().flat_map(|(group, documents)| {
                    std::iter::repeat_n(group >> shift, usize::try_from(*documents).unwrap())
                });
                let (mut before, mut within) = (None, 0);
                let sum: u64 = counts.iter().map(|(_, documents)| documents).sum();
                let histogram = runs.histogram();
                prop_assert_eq!(histogram.get(length), Some(&sum));
                prop_assert_eq!(runs.find(*length, sum), None);
                for (rank, group) in (0..).zip(ranks) {
                    within = if before == Some(group) { within + 1 } else { 0 };
                    before = Some(group);
                    prop_assert_eq!(runs.find(*length, rank), Some((group, within)));
                }
            }
            prop_assert_eq!(runs.find(9, 0), None);
        }
    }
}
