//! Roaring bitmaps as stored: those of one 65,536-document block, merged by (clear, set) deltas, and of all documents.

use crate::bytes::cursor::ByteCursor;
use crate::error::{DecodeError, StoreError};
use model::invariant::part;
use roaring::{RoaringBitmap, RoaringTreemap};

/// Members up to which a block is a raw list: below it roaring's own header is the larger part.
const LIST_MAX: u64 = 7;
const TAG_LIST: u8 = 0;
const TAG_ROARING: u8 = 1;
const TAG_DELTA: u8 = 2;
/// A value that a merge could not make sense of: readers turn it into corruption, none is dropped.
const TAG_POISON: u8 = 0xee;

/// A change of one block: slots in `clear` leave, then slots in `set` join. The two are disjoint,
/// which makes composition associative.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BitmapDelta {
    clear: RoaringBitmap,
    set: RoaringBitmap,
}

impl BitmapDelta {
    /// `slot` joins.
    pub fn set(&mut self, slot: u16) {
        self.clear.remove(slot.into());
        self.set.insert(slot.into());
    }

    /// `slot` leaves.
    pub fn clear(&mut self, slot: u16) {
        self.set.remove(slot.into());
        self.clear.insert(slot.into());
    }

    /// Applies `later` after this one.
    pub fn then(&mut self, later: &Self) {
        self.set -= &later.clear;
        self.set |= &later.set;
        self.clear |= &later.clear;
        self.clear -= &self.set;
    }

    /// Changes `block` in place.
    pub fn apply(&self, block: &mut RoaringBitmap) {
        *block -= &self.clear;
        *block |= &self.set;
    }

    /// The merge operand.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let clear = encode(&self.clear);
        let mut out = Vec::with_capacity(clear.len() + 64);
        out.push(TAG_DELTA);
        out.extend_from_slice(&(clear.len() as u32).to_le_bytes());
        out.extend_from_slice(&clear);
        out.extend_from_slice(&encode(&self.set));
        out
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = ByteCursor::new(bytes);
        if cursor.u8()? != TAG_DELTA {
            return Err(DecodeError::at(0, "not a bitmap delta"));
        }
        let clear_len = cursor.u32()? as usize;
        let clear = decode(cursor.take(clear_len)?)?;
        let set = decode(cursor.rest())?;
        Ok(Self { clear, set })
    }
}

/// The stored form of a block.
#[must_use]
pub fn encode(block: &RoaringBitmap) -> Vec<u8> {
    if block.len() <= LIST_MAX {
        let mut out = vec![TAG_LIST];
        for slot in block {
            out.extend_from_slice(&(slot as u16).to_le_bytes());
        }
        return out;
    }
    let mut compact = block.clone();
    compact.optimize();
    let mut out = Vec::with_capacity(compact.serialized_size() + 1);
    out.push(TAG_ROARING);
    // Writing to a Vec does not fail.
    if compact.serialize_into(&mut out).is_err() {
        return vec![TAG_POISON];
    }
    out
}

/// Reads a block; slots are below 65,536.
///
/// # Errors
/// [`DecodeError`] for bytes no release wrote.
pub fn decode(bytes: &[u8]) -> Result<RoaringBitmap, DecodeError> {
    let mut cursor = ByteCursor::new(bytes);
    match cursor.u8()? {
        TAG_LIST => {
            let list = cursor.rest();
            if !list.len().is_multiple_of(2) {
                return Err(DecodeError::at(1, "odd list"));
            }
            let mut block = RoaringBitmap::new();
            for (at, pair) in list.chunks_exact(2).enumerate() {
                let slot = pair.try_into().map(u16::from_le_bytes).unwrap_or_default();
                block
                    .try_push(slot.into())
                    .map_err(|_| DecodeError::at(1 + at * 2, "list is not ascending"))?;
            }
            Ok(block)
        }
        TAG_ROARING => {
            let mut rest = cursor.rest();
            let len = rest.len();
            let block = RoaringBitmap::deserialize_from(&mut rest)
                .map_err(|error| DecodeError::at(1 + len - rest.len(), error.to_string()))?;
            if !rest.is_empty() {
                return Err(DecodeError::at(1 + len - rest.len(), "trailing bytes"));
            }
            match block.max() {
                Some(max) if max > u32::from(u16::MAX) => {
                    Err(DecodeError::at(1, "slot over 65,535"))
                }
                _ => Ok(block),
            }
        }
        TAG_POISON => Err(DecodeError::at(0, "a merge met bytes it could not read")),
        tag => Err(DecodeError::at(0, format!("unknown tag {tag}"))),
    }
}

/// Reads a block as the members of `low << 16` and on: its container is taken as it lies.
///
/// # Errors
/// [`DecodeError`] for bytes no release wrote.
pub fn decode_at(bytes: &[u8], low: u16) -> Result<RoaringBitmap, DecodeError> {
    let block = decode(bytes)?;
    let base = u32::from(low) << 16;
    let mut moved = part(bytes, 1..).to_vec();
    // Portable format: the key of the only container follows cookie and count, or the cookie with runs
    // (12347) and one byte that says which containers are runs.
    let at = if moved.first_chunk::<2>() == Some(&12347_u16.to_le_bytes()) { 5 } else { 8 };
    if bytes.first() == Some(&TAG_ROARING)
        && let Some(key) = moved.get_mut(at..at + 2)
    {
        key.copy_from_slice(&low.to_le_bytes());
        let moved = RoaringBitmap::deserialize_from(moved.as_slice());
        if let Ok(moved) = moved
            && moved.len() == block.len()
            && moved.min() == block.min().map(|min| base | min)
        {
            return Ok(moved);
        }
    }
    Ok(block.into_iter().map(|slot| base | slot).collect())
}

/// Full merge: the block after all operands, oldest first. Never fails: unreadable input poisons.
pub(crate) fn merge_full<'a>(
    existing: Option<&[u8]>,
    operands: impl Iterator<Item = &'a [u8]>,
) -> Vec<u8> {
    let merged = || -> Result<RoaringBitmap, DecodeError> {
        let mut block = existing.map_or_else(|| Ok(RoaringBitmap::new()), decode)?;
        for operand in operands {
            BitmapDelta::decode(operand)?.apply(&mut block);
        }
        Ok(block)
    };
    merged().map_or_else(|_| vec![TAG_POISON], |block| encode(&block))
}

/// Partial merge: one operand equal to all of them in order; none when one is unreadable.
pub(crate) fn merge_partial<'a>(operands: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let mut folded = BitmapDelta::default();
    for operand in operands {
        folded.then(&BitmapDelta::decode(operand).ok()?);
    }
    Some(folded.encode())
}

/// A bitmap over all documents, in the portable 64-bit format, behind what is in `out`.
pub(crate) fn put_treemap(map: &RoaringTreemap, mut out: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    out.reserve(map.serialized_size());
    map.serialize_into(&mut out)
        .map_err(|error| StoreError::Encode { what: "bitmap", why: error.to_string() })?;
    Ok(out)
}

/// Reads such a bitmap, which begins at the byte `at` of its row.
pub(crate) fn decode_treemap(bytes: &[u8], at: usize) -> Result<RoaringTreemap, DecodeError> {
    RoaringTreemap::deserialize_from(bytes).map_err(|error| DecodeError::at(at, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn delta() -> impl Strategy<Value = BitmapDelta> {
        proptest::collection::vec((any::<bool>(), 0_u16..300), 0..60).prop_map(|changes| {
            let mut delta = BitmapDelta::default();
            for (set, slot) in changes {
                if set { delta.set(slot) } else { delta.clear(slot) }
            }
            delta
        })
    }

    fn block() -> impl Strategy<Value = RoaringBitmap> {
        proptest::collection::btree_set(any::<u16>(), 0..40)
            .prop_map(|slots| slots.into_iter().map(u32::from).collect())
    }

    proptest! {
        #[test]
        fn a_block_read_at_its_place_has_the_same_slots(
            runs in proptest::collection::vec((0_u32..65_536, 1_u32..9000), 0..30),
            low: u16,
            step in 1_usize..3,
        ) {
            let slots = runs.iter().flat_map(|(from, n)| (*from..(from + n).min(65_536)).step_by(step));
            let block: RoaringBitmap = slots.collect();
            let found = decode_at(&encode(&block), low).unwrap();
            let base = u32::from(low) << 16;
            prop_assert_eq!(found, block.iter().map(|slot| base | slot).collect::<RoaringBitmap>());
        }

        #[test]
        fn blocks_and_deltas_round_trip(block in block(), delta in delta()) {
            prop_assert_eq!(decode(&encode(&block)), Ok(block));
            prop_assert_eq!(BitmapDelta::decode(&delta.encode()), Ok(delta));
        }

        #[test]
        fn folding_first_changes_nothing(base in block(), deltas in proptest::collection::vec(delta(), 1..6), cut in 0_usize..6) {
            let operands: Vec<Vec<u8>> = deltas.iter().map(BitmapDelta::encode).collect();
            let cut = cut.min(operands.len());
            let slices = |v: &[Vec<u8>]| v.to_vec();
            let plain = merge_full(Some(&encode(&base)), operands.iter().map(Vec::as_slice));
            let (head, tail) = (slices(&operands[..cut]), slices(&operands[cut..]));
            let mut folded = Vec::new();
            if !head.is_empty() { folded.push(merge_partial(head.iter().map(Vec::as_slice)).unwrap()); }
            if !tail.is_empty() { folded.push(merge_partial(tail.iter().map(Vec::as_slice)).unwrap()); }
            prop_assert_eq!(merge_full(Some(&encode(&base)), folded.iter().map(Vec::as_slice)), plain);
        }

        #[test]
        fn any_bytes_are_an_error_or_a_block(bytes: Vec<u8>) {
            if let Ok(block) = decode(&bytes) { prop_assert!(block.max().unwrap_or(0) <= 65_535); }
            let merged = merge_full(Some(&bytes), std::iter::once(bytes.as_slice()));
            prop_assert!(!merged.is_empty());
        }
    }

    #[test]
    fn golden_bytes() {
        let small: RoaringBitmap = [1, 258].into_iter().collect();
        assert_eq!(encode(&small), [0, 1, 0, 2, 1]);
        let run: RoaringBitmap = (0..100).collect();
        assert_eq!(encode(&run), [1, 0x3b, 0x30, 0, 0, 1, 0, 0, 99, 0, 1, 0, 0, 0, 99, 0]);
    }
}
