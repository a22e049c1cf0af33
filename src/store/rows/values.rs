//! One stored block of a column as it lies: its numbers read in place, without a decoded copy.

use crate::store::error::Malformed;
use crate::store::rows::bytes::Cursor;
use crate::store::rows::numbers::Header;

/// Up to 65,536 optional integers, each `min` and an offset of a fixed width.
#[derive(Clone, Copy, Debug)]
pub struct ColumnValues<'a> {
    min: i64,
    max: i64,
    len: usize,
    /// One bit a slot, lowest first; none: every slot below the length has a value.
    present: Option<&'a [u8]>,
    offsets: Offsets<'a>,
}

/// The offsets of a block from its minimum, little-endian, one a slot.
#[derive(Clone, Copy, Debug)]
pub enum Offsets<'a> {
    /// All are 0.
    Zero,
    /// Of one byte.
    One(&'a [[u8; 1]]),
    /// Of two bytes.
    Two(&'a [[u8; 2]]),
    /// Of four bytes.
    Four(&'a [[u8; 4]]),
    /// Of eight bytes, added to the minimum modulo 2^64.
    Eight(&'a [[u8; 8]]),
}

impl<'a> ColumnValues<'a> {
    /// Reads the stored form; checks as much as [`crate::store::ColumnBlock::decode`].
    pub(in crate::store) fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let Header { width, full, len, min, max } = Header::read(&mut cursor)?;
        let present =
            if full { None } else { Some(cursor.take(len.div_ceil(64).saturating_mul(8))?) };
        let values = cursor.take(len.saturating_mul(width.into()))?;
        cursor.end()?;
        let offsets = match width {
            0 => Offsets::Zero,
            1 => Offsets::One(values.as_chunks().0),
            2 => Offsets::Two(values.as_chunks().0),
            4 => Offsets::Four(values.as_chunks().0),
            _ => Offsets::Eight(values.as_chunks().0),
        };
        Ok(Self { min, max, len, present, offsets })
    }

    /// Slots stored, counting nulls before the last value.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether no slot is stored.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether every slot below [`ColumnValues::len`] has a value.
    #[must_use]
    pub const fn has_no_nulls(&self) -> bool {
        self.present.is_none()
    }

    /// Smallest and largest value as stored beside the values.
    #[must_use]
    pub const fn range(&self) -> (i64, i64) {
        (self.min, self.max)
    }

    /// The offsets from the smallest value; those of nulls mean nothing.
    #[must_use]
    pub const fn offsets(&self) -> Offsets<'a> {
        self.offsets
    }

    /// The value at `slot`; none where it was never set or was cleared.
    #[must_use]
    pub fn get(&self, slot: u16) -> Option<i64> {
        let slot = usize::from(slot);
        if slot >= self.len {
            return None;
        }
        if let Some(present) = self.present
            && present.get(slot / 8)? >> (slot % 8) & 1 == 0
        {
            return None;
        }
        let offset = match self.offsets {
            Offsets::Zero => 0,
            Offsets::One(offsets) => u64::from(u8::from_le_bytes(*offsets.get(slot)?)),
            Offsets::Two(offsets) => u64::from(u16::from_le_bytes(*offsets.get(slot)?)),
            Offsets::Four(offsets) => u64::from(u32::from_le_bytes(*offsets.get(slot)?)),
            Offsets::Eight(offsets) => u64::from_le_bytes(*offsets.get(slot)?),
        };
        Some(self.min.wrapping_add(offset.cast_signed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::rows::numbers::{ColumnBlock, Patch, merge_full};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_in_place_are_those_decoded(
            patch in proptest::collection::btree_map(
                0_u16..300,
                prop_oneof![
                    any::<Option<i64>>(),
                    (0_i64..200).prop_map(Some),
                    (0_i64..70_000).prop_map(Some),
                ],
                0..60,
            ),
            wide: bool,
        ) {
            let patch: Patch = if wide {
                patch
            } else {
                patch.into_iter().map(|(slot, value)| (slot, value.map(|v| v % 9000))).collect()
            };
            let operand = crate::store::rows::numbers::encode_patch(&patch);
            let bytes = merge_full(None, std::iter::once(operand.as_slice()));
            let decoded = ColumnBlock::decode(&bytes).unwrap();
            let values = ColumnValues::read(&bytes).unwrap();
            prop_assert_eq!(values.len(), decoded.len());
            prop_assert_eq!(values.is_empty(), decoded.is_empty());
            for slot in 0..=u16::MAX {
                prop_assert_eq!(values.get(slot), decoded.get(slot));
            }
            if let Some(range) = decoded.range() {
                prop_assert_eq!(values.range(), range);
            }
            if values.has_no_nulls() {
                prop_assert_eq!(decoded.iter().count(), decoded.len());
            }
        }

        #[test]
        fn any_bytes_are_an_error_or_values(bytes: Vec<u8>) {
            let decoded = ColumnBlock::decode(&bytes);
            match ColumnValues::read(&bytes) {
                Ok(values) => {
                    let decoded = decoded.unwrap();
                    for slot in 0..=u16::MAX {
                        prop_assert_eq!(values.get(slot), decoded.get(slot));
                    }
                }
                Err(_) => prop_assert!(decoded.is_err()),
            }
        }
    }
}
