//! Finds documents by (length, rank) in sets of any size: the order of an epoch without a table of it.

use super::class_counts::LengthCounts;
use super::column::{LengthReader, blocks_of};
use crate::epoch::error::EpochError;
use crate::epoch::pack::LengthHistogram;
use model::DocId;
use model::invariant::part;
use roaring::RoaringTreemap;
use std::sync::OnceLock;

/// Bytes of counts by (length, group of blocks) that serve any corpus.
const COUNTS: usize = 160 << 20;
/// What a block takes whose documents are sorted by length: two bytes each, and eight a length.
const BLOCK_BYTES: usize = 144 << 10;

/// What is kept in memory to find documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct IndexMemory {
    /// Bytes of counts by (length, group of blocks), at most.
    pub counts: usize,
    /// Blocks whose documents are sorted by length: there a document is found by its number, in the others
    /// by a look through the lengths of the block.
    pub blocks: usize,
}

impl IndexMemory {
    /// Divides `memory` bytes for queries: an eighth for counts and a quarter for sorted blocks, divided among
    /// `sharing` sets of documents.
    pub fn of(memory: usize, sharing: usize) -> Self {
        let each = memory / 8 / sharing.max(1);
        Self { counts: each.min(COUNTS), blocks: 2 * each / BLOCK_BYTES }
    }
}

/// How many documents of each length come before each group of blocks, and the blocks in use sorted by
/// length. Groups hold as many blocks as keep the counts within bounds.
#[derive(Default)]
pub(in crate::epoch) struct LengthIndex {
    /// All blocks, layer by layer.
    places: Vec<LayerBlock>,
    /// Blocks of a group.
    group: usize,
    counts: LengthCounts,
    /// The first blocks of `places`, as many as there is room for, each sorted when first asked for.
    sorted: Vec<OnceLock<SortedBlock>>,
}

/// A layer and a block of it.
type LayerBlock = (u16, u64);

/// The documents of a layer in a block, by length and then by slot.
struct SortedBlock {
    slots: Vec<u16>,
    /// (length, first of it in `slots`), ascending.
    starts: Vec<(u32, u32)>,
}

impl LengthIndex {
    /// One scan over each of `layers`; also gives their histogram.
    ///
    /// # Errors
    /// As [`Lengths::of`].
    pub fn of(
        lengths: &LengthReader,
        layers: &[RoaringTreemap],
    ) -> Result<(Self, LengthHistogram), EpochError> {
        let room = IndexMemory::of(lengths.corpora.query_memory(), lengths.sharing);
        Self::within(lengths, layers, room)
    }

    /// The index of [`ClassIndex::of`], in about `room`.
    pub(in crate::epoch) fn within(
        lengths: &LengthReader,
        layers: &[RoaringTreemap],
        room: IndexMemory,
    ) -> Result<(Self, LengthHistogram), EpochError> {
        let places: Vec<LayerBlock> = (0_u16..)
            .zip(layers)
            .flat_map(|(number, layer)| {
                blocks_of(layer).into_iter().map(move |(block, _)| (number, block))
            })
            .collect();
        let (mut counts, mut group) = (LengthCounts::default(), 1);
        let mut counter = lengths.counter();
        for (at, (number, block)) in places.iter().enumerate() {
            let layer = layers.get(usize::from(*number));
            let layer = layer.ok_or_else(|| EpochError::bug("a class of no layer"))?;
            lengths.count_block(layer, *block, &mut counter)?;
            if !(at + 1).is_multiple_of(group) && at + 1 < places.len() {
                continue;
            }
            let number = u32::try_from(at / group);
            let number = number.map_err(|_| EpochError::bug("more blocks than documents"))?;
            for (length, documents) in counter.drain() {
                counts.add(length, number, documents.into());
            }
            // One group of all is as small as it gets.
            while counts.held() > room.counts && group < places.len() {
                counts.fold();
                group *= 2;
            }
        }
        let sorted = places.iter().take(room.blocks).map(|_| OnceLock::new()).collect();
        let histogram = counts.histogram();
        Ok((Self { places, group, counts, sorted }, histogram))
    }

    /// The document of `rank` among those of effective `length`, ascending by layer and id.
    ///
    /// # Errors
    /// As [`Lengths::of`]; [`EpochError::Bug`] when there is none.
    pub fn select(
        &self,
        lengths: &LengthReader,
        layers: &[RoaringTreemap],
        length: u32,
        rank: u64,
    ) -> Result<DocId, EpochError> {
        let none = || EpochError::bug(format!("no document of length {length} and rank {rank}"));
        let (group, mut within) = self.counts.find(length, rank).ok_or_else(none)?;
        let first = group as usize * self.group;
        for at in first..first.saturating_add(self.group).min(self.places.len()) {
            match self.find(lengths, layers, at, length, within)? {
                Ok(document) => return Ok(document),
                Err(count) => within -= count,
            }
        }
        Err(none())
    }

    /// The document number `within` among those of the block in place `at` that have `length`; else how many have it.
    fn find(
        &self,
        lengths: &LengthReader,
        layers: &[RoaringTreemap],
        at: usize,
        length: u32,
        within: u64,
    ) -> Result<Result<DocId, u64>, EpochError> {
        let place = self.places.get(at);
        let found =
            place.and_then(|(layer, block)| Some((layers.get(usize::from(*layer))?, *block)));
        let (layer, block) = found.ok_or_else(|| EpochError::bug("a class of no layer"))?;
        let Some(sorted) = self.sorted.get(at) else {
            let found = lengths.find(layer, block, length, within)?;
            return Ok(found.map(|slot| DocId::at(block, slot)));
        };
        let sorted = match sorted.get() {
            Some(sorted) => sorted,
            // Two threads may sort the same block, and get the same.
            None => {
                let of = SortedBlock::of(lengths.of(layer, block)?);
                sorted.get_or_init(|| of)
            }
        };
        let slots = sorted.slots_of(length);
        let slot = usize::try_from(within).ok().and_then(|within| slots.get(within));
        Ok(slot.map(|slot| DocId::at(block, *slot)).ok_or(slots.len() as u64))
    }
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
        start.map_or(&[], |start| part(&self.slots, start as usize..end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each stratum and pass had 160 MiB of its own, outside of `--memory`.
    #[test]
    fn open_sets_of_documents_share_the_memory_of_queries() {
        for memory in [16 << 20, 64 << 20, 1 << 30] {
            for sharing in [1, 2, 7, 64, 1000] {
                let room = IndexMemory::of(memory, sharing);
                let each = room.counts + room.blocks * BLOCK_BYTES;
                assert!(each * sharing <= memory / 2, "{memory} among {sharing}: {room:?}");
            }
        }
        // Each of 10^8 documents is found by its number in a gigabyte for queries, 4 GB of `--memory`.
        assert!(IndexMemory::of(1 << 30, 1).blocks > 100_000_000 / 65_536);
    }

    #[test]
    fn a_sorted_block_answers_by_rank() {
        let sorted = SortedBlock::of(vec![(0, 9), (3, 5), (4, 9), (7, 5), (9, 1)]);
        assert_eq!(sorted.slots_of(5), [3, 7]);
        assert_eq!(sorted.slots_of(9), [0, 4]);
        assert_eq!(sorted.slots_of(1), [9]);
        assert!(sorted.slots_of(2).is_empty() && sorted.slots_of(10).is_empty());
    }
}
