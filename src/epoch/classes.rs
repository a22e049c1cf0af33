//! Finds documents by (length, rank) in a set of any size: the order of an epoch without a table of it.

use super::documents::Documents;
use super::error::EpochError;
use super::pack::Histogram;
use crate::model::DocId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Blocks whose documents stay sorted by length in memory: 128 KiB each, 64 MiB in all.
const CACHED_BLOCKS: usize = 512;

/// Counts by (length, block), 16 bytes for each pair that occurs, and the blocks in use sorted by
/// length.
pub(super) struct ClassIndex {
    /// By length: (block, documents of the length in earlier blocks), ascending.
    classes: BTreeMap<u32, Vec<(u64, u64)>>,
    sorted: Mutex<Recent>,
}

/// The selected documents of a block, by length and then by slot.
struct SortedBlock {
    slots: Vec<u16>,
    /// (length, first of it in `slots`), ascending.
    starts: Vec<(u32, u32)>,
}

/// The sorted blocks used last.
#[derive(Default)]
struct Recent {
    blocks: BTreeMap<u64, (Arc<SortedBlock>, u64)>,
    clock: u64,
}

impl ClassIndex {
    /// One scan over `documents`; also gives their histogram.
    ///
    /// # Errors
    /// As [`Documents::lengths`].
    pub fn of(documents: &Documents<'_>) -> Result<(Self, Histogram), EpochError> {
        let mut classes: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        let mut histogram = Histogram::new();
        documents.scan(|block, counts| {
            for (length, count) in counts {
                let seen = histogram.entry(*length).or_default();
                classes.entry(*length).or_default().push((block, *seen));
                *seen += u64::from(*count);
            }
        })?;
        Ok((Self { classes, sorted: Mutex::default() }, histogram))
    }

    /// The document of `rank` among those of effective `length`, ascending by id.
    ///
    /// # Errors
    /// As [`Documents::lengths`]; [`EpochError::Bug`] when there is none.
    pub fn select(
        &self,
        documents: &Documents<'_>,
        length: u32,
        rank: u64,
    ) -> Result<DocId, EpochError> {
        let none = || EpochError::bug(format!("no document of length {length} and rank {rank}"));
        let blocks = self.classes.get(&length).ok_or_else(none)?;
        let at = blocks.partition_point(|(_, before)| *before <= rank);
        let (block, before) = at.checked_sub(1).and_then(|at| blocks.get(at)).ok_or_else(none)?;
        let sorted = self.sorted(documents, *block)?;
        let within = usize::try_from(rank - before).map_err(|_| none())?;
        let slot = sorted.slot(length, within).ok_or_else(none)?;
        Ok(DocId::at(*block, slot))
    }

    fn sorted(
        &self,
        documents: &Documents<'_>,
        block: u64,
    ) -> Result<Arc<SortedBlock>, EpochError> {
        if let Some(found) = self.sorted.lock().unwrap_or_else(PoisonError::into_inner).get(block) {
            return Ok(found);
        }
        // Outside the lock: two threads may sort the same block, and get the same.
        let sorted = Arc::new(SortedBlock::of(documents.lengths(block)?));
        self.sorted.lock().unwrap_or_else(PoisonError::into_inner).put(block, Arc::clone(&sorted));
        Ok(sorted)
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

    fn slot(&self, length: u32, within: usize) -> Option<u16> {
        let at = self.starts.binary_search_by_key(&length, |(length, _)| *length).ok()?;
        let (_, start) = self.starts.get(at)?;
        self.slots.get(*start as usize + within).copied()
    }
}

impl Recent {
    fn get(&mut self, block: u64) -> Option<Arc<SortedBlock>> {
        self.clock += 1;
        let (found, used) = self.blocks.get_mut(&block)?;
        *used = self.clock;
        Some(Arc::clone(found))
    }

    fn put(&mut self, block: u64, sorted: Arc<SortedBlock>) {
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
        assert_eq!([0, 1].map(|within| sorted.slot(5, within)), [Some(3), Some(7)]);
        assert_eq!(
            [sorted.slot(9, 1), sorted.slot(1, 0), sorted.slot(2, 0)],
            [Some(4), Some(9), None]
        );
    }
}
