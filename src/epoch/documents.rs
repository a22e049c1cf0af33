//! A set of documents with their lengths, scanned block by block.

use super::error::EpochError;
use super::pack::Histogram;
use crate::model::{BLOCK_SIZE, ColumnId, DocId, TokenizerId};
use crate::store::{View, fields};
use roaring::RoaringTreemap;

/// Lengths counted in an array; longer ones, rarer, are sorted.
const DENSE: usize = 8192;

/// The documents one source of an epoch draws from.
pub(super) struct Documents<'a> {
    pub view: &'a View,
    pub tokenizer: TokenizerId,
    pub tokenizer_name: &'a str,
    pub selection: &'a RoaringTreemap,
    /// Tokens put around every document.
    pub overhead: u32,
}

impl Documents<'_> {
    fn column(&self) -> ColumnId {
        fields::tokens_of(self.tokenizer)
    }

    /// Blocks that hold selected documents, ascending, with how many.
    pub fn blocks(&self) -> Vec<(u64, u32)> {
        blocks_of(self.selection)
    }

    /// (slot, effective length) of the selected documents of a block, ascending by slot.
    ///
    /// # Errors
    /// [`EpochError::NotEncoded`] for a document without tokens; [`EpochError::Store`].
    pub fn lengths(&self, block: u64) -> Result<Vec<(u16, u32)>, EpochError> {
        let column = self.view.column_block(self.column(), block)?;
        let mut lengths = Vec::new();
        for slot in slots(self.selection, block) {
            let stored = column.get(slot).and_then(|value| u32::try_from(value).ok());
            let length = stored.and_then(|stored| stored.checked_add(self.overhead));
            let length = length.ok_or_else(|| EpochError::NotEncoded {
                tokenizer: self.tokenizer_name.to_owned(),
                document: DocId::at(block, slot).0,
            })?;
            lengths.push((slot, length));
        }
        Ok(lengths)
    }

    /// Counts documents by length, block by block; `each` gets every block's counts, ascending by
    /// length.
    ///
    /// # Errors
    /// As [`Documents::lengths`].
    pub fn scan(&self, mut each: impl FnMut(u64, &[(u32, u32)])) -> Result<(), EpochError> {
        let mut dense = vec![0_u32; DENSE];
        let mut counts: Vec<(u32, u32)> = Vec::new();
        for (block, _) in self.blocks() {
            let mut long: Vec<u32> = Vec::new();
            for (_, length) in self.lengths(block)? {
                match usize::try_from(length).ok().and_then(|length| dense.get_mut(length)) {
                    Some(count) => *count += 1,
                    None => long.push(length),
                }
            }
            long.sort_unstable();
            counts.clear();
            for (length, count) in (0_u32..).zip(&mut dense) {
                if *count > 0 {
                    counts.push((length, std::mem::take(count)));
                }
            }
            for length in long {
                match counts.last_mut() {
                    Some((last, count)) if *last == length => *count += 1,
                    _ => counts.push((length, 1)),
                }
            }
            each(block, &counts);
        }
        Ok(())
    }

    /// Documents by effective length.
    ///
    /// # Errors
    /// As [`Documents::lengths`].
    pub fn histogram(&self) -> Result<Histogram, EpochError> {
        let mut histogram = Histogram::new();
        self.scan(|_, counts| {
            for (length, count) in counts {
                *histogram.entry(*length).or_default() += u64::from(*count);
            }
        })?;
        Ok(histogram)
    }
}

/// Blocks that hold documents of `selection`, ascending, with how many.
pub(super) fn blocks_of(selection: &RoaringTreemap) -> Vec<(u64, u32)> {
    let mut blocks = Vec::new();
    for (high, bitmap) in selection.bitmaps() {
        let (Some(min), Some(max)) = (bitmap.min(), bitmap.max()) else {
            continue;
        };
        for low in min >> 16..=max >> 16 {
            let count = bitmap.range_cardinality(low << 16..=low << 16 | 0xffff);
            if let Ok(count @ 1..) = u32::try_from(count) {
                blocks.push((u64::from(high) << 16 | u64::from(low), count));
            }
        }
    }
    blocks
}

/// Slots of one block that are in `selection`, ascending.
pub(super) fn slots(selection: &RoaringTreemap, block: u64) -> impl Iterator<Item = u16> {
    let (high, low) = (block >> 16, (block & 0xffff) as u32);
    let bitmap =
        selection.bitmaps().find(|(found, _)| u64::from(*found) == high).map(|(_, bitmap)| bitmap);
    bitmap
        .into_iter()
        .flat_map(move |bitmap| bitmap.range(low << 16..=low << 16 | 0xffff))
        .map(|id| (id & 0xffff) as u16)
}

/// A digest of a set of documents, whatever the shape of its bitmap: BLAKE3 over, for each block that
/// holds any, block u64, count u32 and the slots u16, little-endian.
pub(super) fn digest(selection: &RoaringTreemap) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut bytes = Vec::new();
    for (block, count) in blocks_of(selection) {
        bytes.clear();
        bytes.extend_from_slice(&block.to_le_bytes());
        bytes.extend_from_slice(&count.to_le_bytes());
        for slot in slots(selection, block) {
            bytes.extend_from_slice(&slot.to_le_bytes());
        }
        hasher.update(&bytes);
    }
    hasher.finalize().to_hex().to_string()
}

/// A digest of a histogram: BLAKE3 over length u32 and documents u64, little-endian, ascending.
pub(super) fn histogram_digest(histogram: &Histogram) -> String {
    let mut hasher = blake3::Hasher::new();
    for (length, documents) in histogram {
        hasher.update(&length.to_le_bytes());
        hasher.update(&documents.to_le_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// The documents of `selection` whose stored token count is at least `min_tokens`; those never
/// encoded stay, so that the scan that follows names them.
///
/// # Errors
/// [`EpochError::Store`].
pub(super) fn with_tokens(
    view: &View,
    tokenizer: TokenizerId,
    selection: &RoaringTreemap,
    min_tokens: u64,
) -> Result<RoaringTreemap, EpochError> {
    let mut long_enough = RoaringTreemap::new();
    for (block, _) in blocks_of(selection) {
        let column = view.column_block(fields::tokens_of(tokenizer), block)?;
        let enough = |slot: &u16| {
            column
                .get(*slot)
                .is_none_or(|tokens| u64::try_from(tokens).is_ok_and(|tokens| tokens >= min_tokens))
        };
        let ids =
            slots(selection, block).filter(enough).map(|slot| block * BLOCK_SIZE + u64::from(slot));
        // Blocks and slots ascend, so every id is larger than all before it.
        long_enough.append(ids).map_err(|_| EpochError::bug("documents out of order"))?;
    }
    Ok(long_enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_slots_and_digest_see_every_document() {
        let ids = [0, 1, 65_535, 65_536, 200_000, (1 << 32) + 5, (1 << 33) + 65_536];
        let selection: RoaringTreemap = ids.into_iter().collect();
        let mut seen = Vec::new();
        for (block, count) in blocks_of(&selection) {
            let found: Vec<u64> =
                slots(&selection, block).map(|slot| DocId::at(block, slot).0).collect();
            assert_eq!(found.len(), count as usize);
            seen.extend(found);
        }
        assert_eq!(seen, ids);
        let mut optimised: RoaringTreemap = (0..100_000).collect();
        let plain = digest(&optimised);
        optimised.optimize();
        assert_eq!(digest(&optimised), plain);
        optimised.remove(99_999);
        assert_ne!(digest(&optimised), plain);
    }
}
