//! Scans the length column of documents block by block.

use super::counter::{LengthCounter, effective, find};
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::pack::LengthHistogram;
use model::invariant::part;
use model::{BLOCK_SIZE, DocId, Interrupt, TokenizerId};
use roaring::RoaringTreemap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use store::NumberBlockRef;

/// Blocks counted together: their documents are fewer than 2^32.
const BLOCKS_AT_ONCE: usize = 4096;

/// The tokenizer whose ids the rows of a pass have.
#[derive(Clone, Debug)]
pub(in crate::epoch) struct PassTokenizer {
    pub id: TokenizerId,
    pub name: Arc<str>,
}

/// Effective lengths under one tokenizer.
#[derive(Clone)]
pub(in crate::epoch) struct LengthReader {
    pub corpora: Corpora,
    pub tokenizer: TokenizerId,
    pub tokenizer_name: Arc<str>,
    /// By pass, where each has ids of its own: the lengths of one are had by [`LengthReader::of_pass`].
    pub draws: Arc<[PassTokenizer]>,
    /// Tokens put around every document.
    pub overhead: u32,
    /// Documents by stored tokens, where one scan counted them for every selection that will be counted.
    pub known: Option<Arc<LengthHistogram>>,
    /// Sets of documents that are opened together and share the memory for finding documents.
    pub sharing: usize,
    /// Asked before each block is read.
    pub interrupt: Interrupt,
}

impl LengthReader {
    /// The lengths that documents have in a pass.
    pub fn of_pass(&self, pass: u32) -> Self {
        let draw = usize::try_from(pass).ok().and_then(|pass| self.draws.get(pass));
        match draw.cloned() {
            Some(PassTokenizer { id, name }) => {
                Self { tokenizer: id, tokenizer_name: name, known: None, ..self.clone() }
            }
            None => self.clone(),
        }
    }

    /// (slot, effective length) of the documents of `selection` in a block, ascending by slot.
    ///
    /// # Errors
    /// [`EpochError::NotEncoded`] for a document without tokens; [`EpochError::Store`].
    pub fn of(
        &self,
        selection: &RoaringTreemap,
        block: u64,
    ) -> Result<Vec<(u16, u32)>, EpochError> {
        self.interrupt.check()?;
        let read = |values: &NumberBlockRef<'_>| {
            let pairs = slots(selection, block)
                .map(|slot| Ok((slot, effective(values, slot, self.overhead).ok_or(slot)?)));
            pairs.collect::<Result<Vec<_>, u16>>()
        };
        let found = self.corpora.token_counts(self.tokenizer, block, read)?;
        // Without the block, no document has a length.
        let found = found.unwrap_or_else(|| slots(selection, block).next().map_or(Ok(vec![]), Err));
        found.map_err(|slot| EpochError::NotEncoded {
            tokenizer: self.tokenizer_name.to_string(),
            document: DocId::at(block, slot).0,
            near_of: None,
        })
    }

    /// The counter for these lengths.
    pub fn counter(&self) -> LengthCounter {
        LengthCounter::new(self.overhead)
    }

    /// Counts the documents of `selection` in a block.
    ///
    /// # Errors
    /// As [`Lengths::of`].
    pub fn count_block(
        &self,
        selection: &RoaringTreemap,
        block: u64,
        counter: &mut LengthCounter,
    ) -> Result<(), EpochError> {
        self.interrupt.check()?;
        let counted = self.corpora.token_counts(self.tokenizer, block, |values| {
            ranges(selection, block).all(|slots| counter.add(values, slots))
        })?;
        if counted != Some(true) {
            // Names the document that has none.
            self.of(selection, block)?;
        }
        Ok(())
    }

    /// The slot of the document number `within` among the documents of `selection` in a block that have effective
    /// `length`; else how many there are.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn find(
        &self,
        selection: &RoaringTreemap,
        block: u64,
        length: u32,
        within: u64,
    ) -> Result<Result<u16, u64>, EpochError> {
        let Some(stored) = length.checked_sub(self.overhead) else { return Ok(Err(0)) };
        let found = self.corpora.token_counts(self.tokenizer, block, |values| {
            find(values, ranges(selection, block), stored, within)
        })?;
        Ok(found.unwrap_or(Err(0)))
    }

    /// Adds the documents of `selection` to `histogram`.
    ///
    /// # Errors
    /// As [`Lengths::of`].
    pub fn count(
        &self,
        selection: &RoaringTreemap,
        histogram: &mut LengthHistogram,
    ) -> Result<(), EpochError> {
        if let Some(known) = &self.known {
            for (stored, count) in known.iter() {
                if let Some(length) = stored.checked_add(self.overhead) {
                    *histogram.entry(length).or_default() += count;
                }
            }
            return Ok(());
        }
        let mut counter = self.counter();
        for blocks in blocks_of(selection).chunks(BLOCKS_AT_ONCE) {
            for (block, _) in blocks {
                self.count_block(selection, *block, &mut counter)?;
            }
            for (length, count) in counter.drain() {
                *histogram.entry(length).or_default() += u64::from(count);
            }
        }
        Ok(())
    }
}

/// Blocks that hold documents of `selection`, ascending, with how many.
pub(in crate::epoch) fn blocks_of(selection: &RoaringTreemap) -> Vec<(u64, u32)> {
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
pub(in crate::epoch) fn slots(selection: &RoaringTreemap, block: u64) -> impl Iterator<Item = u16> {
    let (high, low) = (block >> 16, (block & 0xffff) as u32);
    let bitmap =
        selection.bitmaps().find(|(found, _)| u64::from(*found) == high).map(|(_, bitmap)| bitmap);
    bitmap
        .into_iter()
        .flat_map(move |bitmap| bitmap.range(low << 16..=low << 16 | 0xffff))
        .map(|id| (id & 0xffff) as u16)
}

/// Runs of slots of one block that are in `selection`, ascending.
fn ranges(selection: &RoaringTreemap, block: u64) -> impl Iterator<Item = RangeInclusive<u16>> {
    let (high, low) = (block >> 16, (block & 0xffff) as u32);
    let bitmap = selection.bitmaps().find(|(found, _)| u64::from(*found) == high);
    let mut of_block = bitmap.map(|(_, bitmap)| bitmap.range(low << 16..=low << 16 | 0xffff));
    std::iter::from_fn(move || {
        let range = of_block.as_mut()?.next_range()?;
        Some((range.start() & 0xffff) as u16..=(range.end() & 0xffff) as u16)
    })
}

/// Gives `each` the bytes of a set of documents, whatever the shape of its bitmap: for each block that
/// holds any, block u64, count u32 and the slots u16, little-endian.
pub(in crate::epoch) fn blocks_and_slots(selection: &RoaringTreemap, mut each: impl FnMut(&[u8])) {
    let every: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let mut bytes = Vec::new();
    for (block, count) in blocks_of(selection) {
        bytes.clear();
        bytes.extend_from_slice(&block.to_le_bytes());
        bytes.extend_from_slice(&count.to_le_bytes());
        for run in ranges(selection, block) {
            let (from, end) = (2 * usize::from(*run.start()), 2 * usize::from(*run.end()) + 2);
            bytes.extend_from_slice(part(&every, from..end));
        }
        each(&bytes);
    }
}

/// Stored tokens of some documents; those never encoded have none.
pub(in crate::epoch) fn count_tokens(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    documents: &RoaringTreemap,
) -> Result<u64, EpochError> {
    let mut tokens = 0_u64;
    for (block, _) in blocks_of(documents) {
        let of_block = corpora.token_counts(tokenizer, block, |values| {
            let of = |slot: u16| values.get(slot).and_then(|tokens| u64::try_from(tokens).ok());
            slots(documents, block).filter_map(of).sum::<u64>()
        })?;
        tokens = tokens.saturating_add(of_block.unwrap_or(0));
    }
    Ok(tokens)
}

/// The documents of `selection` whose stored token count is at least `min_tokens`; documents never encoded stay, so
/// that the scan that follows names them. Beside them the number of documents of each count, where all have a count
/// below 2^32 - 2.
pub(in crate::epoch) fn with_tokens(
    corpora: &Corpora,
    tokenizer: TokenizerId,
    selection: &RoaringTreemap,
    min_tokens: u64,
) -> Result<(RoaringTreemap, Option<LengthHistogram>), EpochError> {
    let mut too_short = RoaringTreemap::new();
    // BOS and EOS may come to each.
    let mut counter = LengthCounter::new(2);
    let mut histogram = Some(LengthHistogram::new());
    for blocks in blocks_of(selection).chunks(BLOCKS_AT_ONCE) {
        for (block, _) in blocks {
            let read = corpora.token_counts(tokenizer, *block, |values| {
                let all = ranges(selection, *block).all(|slots| counter.add(values, slots));
                let least = u64::try_from(values.range().0);
                if least.is_ok_and(|least| least >= min_tokens) {
                    return (all, Vec::new());
                }
                let short = |slot: &u16| {
                    let tokens = values.get(*slot).map(u64::try_from);
                    tokens.is_some_and(|tokens| !tokens.is_ok_and(|tokens| tokens >= min_tokens))
                };
                (all, slots(selection, *block).filter(short).collect())
            })?;
            let (all, short) = read.unwrap_or_default();
            if !all {
                histogram = None;
            }
            let ids = short.into_iter().map(|slot| block * BLOCK_SIZE + u64::from(slot));
            // Blocks and slots ascend, so every id is larger than all before it.
            too_short.append(ids).map_err(|_| EpochError::bug("documents out of order"))?;
        }
        for (length, count) in counter.drain() {
            if let Some(histogram) = &mut histogram {
                *histogram.entry(length.saturating_sub(2)).or_default() += u64::from(count);
            }
        }
    }
    if let Some(histogram) = &mut histogram {
        histogram.retain(|tokens, _| u64::from(*tokens) >= min_tokens);
    }
    Ok((selection - too_short, histogram))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_slots_see_every_document() {
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
    }
}
