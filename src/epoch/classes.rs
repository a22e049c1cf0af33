//! Finds documents by (length, rank) in sets of any size: the order of an epoch without a table of it.

use super::documents::{Lengths, blocks_of};
use super::error::EpochError;
use super::pack::Histogram;
use crate::model::DocId;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Blocks whose documents stay sorted by length in memory: 128 KiB each, 64 MiB in all. Where there are
/// more, a document is found by a look through its block instead: sorted ones would not be met again.
const CACHED_BLOCKS: usize = 512;

/// Counts by (length, group of blocks) that are kept, at most: 12 bytes each, 96 MiB in all.
const COUNTS: usize = 8 << 20;

/// How many documents of each length come before each group of blocks, and the blocks in use sorted by
/// length. Groups hold as many blocks as keep the counts within bounds.
#[derive(Default)]
pub(super) struct ClassIndex {
    /// All blocks, layer by layer.
    places: Vec<Place>,
    /// Blocks of a group.
    group: usize,
    /// Ascending.
    lengths: Vec<u32>,
    /// Where the groups of each length end in the two that follow.
    ends: Vec<usize>,
    /// The groups that hold documents of a length, ascending.
    groups: Vec<u32>,
    /// Documents of the length in earlier groups.
    before: Vec<u64>,
    sorted: Mutex<Recent>,
}

/// A layer and a block of it.
type Place = (u16, u64);

/// (length, documents) of a group, ascending.
type Counts = Vec<(u32, u32)>;

/// The documents of a layer in a block, by length and then by slot.
struct SortedBlock {
    slots: Vec<u16>,
    /// (length, first of it in `slots`), ascending.
    starts: Vec<(u32, u32)>,
}

/// The sorted blocks used last.
#[derive(Default)]
struct Recent {
    blocks: BTreeMap<Place, (Arc<SortedBlock>, u64)>,
    clock: u64,
}

impl ClassIndex {
    /// One scan over each of `layers`; also gives their histogram.
    ///
    /// # Errors
    /// As [`Lengths::of`].
    pub fn of(
        lengths: &Lengths,
        layers: &[RoaringTreemap],
    ) -> Result<(Self, Histogram), EpochError> {
        Self::within(lengths, layers, COUNTS)
    }

    /// As [`ClassIndex::of`], with at most about `counts` counts.
    pub(super) fn within(
        lengths: &Lengths,
        layers: &[RoaringTreemap],
        counts: usize,
    ) -> Result<(Self, Histogram), EpochError> {
        let places: Vec<Place> = (0_u16..)
            .zip(layers)
            .flat_map(|(number, layer)| {
                blocks_of(layer).into_iter().map(move |(block, _)| (number, block))
            })
            .collect();
        let mut parts: Vec<Counts> = Vec::new();
        let (mut group, mut held) = (1, 0);
        let mut counter = lengths.counter();
        for (done, (number, block)) in (1_usize..).zip(&places) {
            let layer = layers.get(usize::from(*number));
            let layer = layer.ok_or_else(|| EpochError::bug("a class of no layer"))?;
            lengths.count_block(layer, *block, &mut counter)?;
            if done.is_multiple_of(group) || done == places.len() {
                let part = counter.drain();
                held += part.len();
                parts.push(part);
            }
            while held > counts
                && parts.len() > 1
                && parts.len().is_multiple_of(2)
                && done.is_multiple_of(group)
            {
                parts = parts.chunks(2).map(<[Counts]>::concat).map(folded).collect();
                held = parts.iter().map(Vec::len).sum();
                group *= 2;
            }
        }
        let mut index = Self { places, group, ..Self::default() };
        index.transpose(&parts);
        let mut histogram = Histogram::new();
        for (length, count) in parts.into_iter().flatten() {
            *histogram.entry(length).or_default() += u64::from(count);
        }
        Ok((index, histogram))
    }

    /// From counts by group to counts by length.
    fn transpose(&mut self, parts: &[Counts]) {
        let mut lengths: Vec<u32> = parts.iter().flatten().map(|(length, _)| *length).collect();
        lengths.sort_unstable();
        lengths.dedup();
        // Of each length, the number of groups that hold it, then where they end.
        let mut ends = vec![0_usize; lengths.len()];
        for_each(parts, &lengths, |at, _, _| {
            if let Some(end) = ends.get_mut(at) {
                *end += 1;
            }
        });
        let mut all = 0;
        for end in &mut ends {
            all += *end;
            *end = all - *end;
        }
        let (mut groups, mut before) = (vec![0_u32; all], vec![0_u64; all]);
        let mut seen = vec![0_u64; lengths.len()];
        for_each(parts, &lengths, |at, group, count| {
            let (Some(end), Some(seen)) = (ends.get_mut(at), seen.get_mut(at)) else { return };
            if let (Some(of), Some(before)) = (groups.get_mut(*end), before.get_mut(*end)) {
                (*of, *before) = (group, *seen);
            }
            *end += 1;
            *seen += u64::from(count);
        });
        (self.lengths, self.ends, self.groups, self.before) = (lengths, ends, groups, before);
    }

    /// The document of `rank` among those of effective `length`, ascending by layer and id.
    ///
    /// # Errors
    /// As [`Lengths::of`]; [`EpochError::Bug`] when there is none.
    pub fn select(
        &self,
        lengths: &Lengths,
        layers: &[RoaringTreemap],
        length: u32,
        rank: u64,
    ) -> Result<DocId, EpochError> {
        let none = || EpochError::bug(format!("no document of length {length} and rank {rank}"));
        let of = self.lengths.binary_search(&length).map_err(|_| none())?;
        let start = of.checked_sub(1).and_then(|of| self.ends.get(of)).copied().unwrap_or(0);
        let end = self.ends.get(of).copied().ok_or_else(none)?;
        let before = self.before.get(start..end).ok_or_else(none)?;
        let at = before.partition_point(|before| *before <= rank).checked_sub(1);
        let at = at.ok_or_else(none)?;
        let mut within = rank - before.get(at).copied().unwrap_or(0);
        let group = self.groups.get(start + at).copied().ok_or_else(none)? as usize;
        let places = self.places.iter().skip(group * self.group).take(self.group);
        for place in places {
            match self.find(lengths, layers, *place, length, within)? {
                Ok(slot) => return Ok(DocId::at(place.1, slot)),
                Err(count) => within -= count,
            }
        }
        Err(none())
    }

    /// The document `within` those of a block that have `length`; else how many have it.
    fn find(
        &self,
        lengths: &Lengths,
        layers: &[RoaringTreemap],
        place: Place,
        length: u32,
        within: u64,
    ) -> Result<Result<u16, u64>, EpochError> {
        if self.places.len() > CACHED_BLOCKS {
            let layer = layers.get(usize::from(place.0));
            let layer = layer.ok_or_else(|| EpochError::bug("a class of no layer"))?;
            return lengths.find(layer, place.1, length, within);
        }
        let sorted = self.sorted(lengths, layers, place)?;
        let slots = sorted.slots_of(length);
        let slot = usize::try_from(within).ok().and_then(|within| slots.get(within));
        Ok(slot.copied().ok_or(slots.len() as u64))
    }

    fn sorted(
        &self,
        lengths: &Lengths,
        layers: &[RoaringTreemap],
        place: Place,
    ) -> Result<Arc<SortedBlock>, EpochError> {
        if let Some(found) = self.sorted.lock().unwrap_or_else(PoisonError::into_inner).get(place) {
            return Ok(found);
        }
        let layer = layers.get(usize::from(place.0));
        let layer = layer.ok_or_else(|| EpochError::bug("a class of no layer"))?;
        // Outside the lock: two threads may sort the same block, and get the same.
        let sorted = Arc::new(SortedBlock::of(lengths.of(layer, place.1)?));
        self.sorted.lock().unwrap_or_else(PoisonError::into_inner).put(place, Arc::clone(&sorted));
        Ok(sorted)
    }
}

/// Gives `each` (position of the length in `lengths`, group, documents) of all counts, group by group.
fn for_each(parts: &[Counts], lengths: &[u32], mut each: impl FnMut(usize, u32, u32)) {
    for (group, part) in (0_u32..).zip(parts) {
        let mut at = 0;
        for (length, count) in part {
            // Short lengths are nearly all there: the next one is the one.
            if lengths.get(at) != Some(length) {
                let rest = lengths.get(at..).unwrap_or_default();
                at += rest.partition_point(|other| other < length);
            }
            each(at, group, *count);
            at += 1;
        }
    }
}

/// Counts of two groups as those of one.
fn folded(mut counts: Counts) -> Counts {
    counts.sort_unstable();
    counts.dedup_by(|(length, count), (kept, sum)| {
        let same = length == kept;
        if same {
            *sum += *count;
        }
        same
    });
    counts
}

impl SortedBlock {
    fn of(lengths: Vec<(u16, u32)>) -> Self {
        let mut keys: Vec<u64> = lengths
            .into_iter()
            .map(|(slot, length)| u64::from(length) << 16 | u64::from(slot))
            .collect();
        keys.sort_unstable();
        let mut starts: Vec<(u32, u32)> = Vec::new();
        let mut slots = Vec::with_capacity(keys.len());
        for (key, at) in keys.into_iter().zip(0_u32..) {
            let length = (key >> 16) as u32;
            if starts.last().is_none_or(|(last, _)| *last != length) {
                starts.push((length, at));
            }
            slots.push((key & 0xffff) as u16);
        }
        Self { slots, starts }
    }

    /// The documents of `length`, ascending.
    fn slots_of(&self, length: u32) -> &[u16] {
        let at = self.starts.partition_point(|(of, _)| *of < length);
        let start = self.starts.get(at).filter(|(of, _)| *of == length).map(|(_, start)| *start);
        let end = self.starts.get(at + 1).map_or(self.slots.len(), |(_, start)| *start as usize);
        start.and_then(|start| self.slots.get(start as usize..end)).unwrap_or_default()
    }
}

impl Recent {
    fn get(&mut self, block: Place) -> Option<Arc<SortedBlock>> {
        self.clock += 1;
        let (found, used) = self.blocks.get_mut(&block)?;
        *used = self.clock;
        Some(Arc::clone(found))
    }

    fn put(&mut self, block: Place, sorted: Arc<SortedBlock>) {
        if self.blocks.len() >= CACHED_BLOCKS {
            let oldest =
                self.blocks.iter().min_by_key(|(_, (_, used))| *used).map(|(block, _)| *block);
            if let Some(oldest) = oldest {
                self.blocks.remove(&oldest);
            }
        }
        self.clock += 1;
        self.blocks.insert(block, (sorted, self.clock));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sorted_block_answers_by_rank() {
        let sorted = SortedBlock::of(vec![(0, 9), (3, 5), (4, 9), (7, 5), (9, 1)]);
        assert_eq!(sorted.slots_of(5), [3, 7]);
        assert_eq!(sorted.slots_of(9), [0, 4]);
        assert_eq!(sorted.slots_of(1), [9]);
        assert!(sorted.slots_of(2).is_empty() && sorted.slots_of(10).is_empty());
    }
}
