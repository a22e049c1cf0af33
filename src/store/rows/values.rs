//! One stored block of a column as it lies: its numbers read in place, without a decoded copy.

use crate::store::error::Malformed;
use crate::store::rows::bytes::Cursor;
use crate::store::rows::numbers::Header;

/// Up to 65,536 optional integers, each `min` and an offset of a fixed width.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnValues<'a> {
    min: i64,
    max: i64,
    len: usize,
    /// One bit a slot, lowest first; none: every slot below the length has a value.
    present: Option<&'a [u8]>,
    offsets: Offsets<'a>,
}

/// The offsets of a block from its minimum, little-endian, one a slot.
#[derive(Clone, Copy, Debug, Default)]
pub enum Offsets<'a> {
    /// All are 0.
    #[default]
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

    /// One bit a slot, lowest first: whether it has a value of `low..=high`.
    #[must_use]
    pub fn bits_between(&self, low: i64, high: i64) -> Vec<u8> {
        let (low, high) = (low.max(self.min), high.min(self.max));
        if low > high {
            return Vec::new();
        }
        let from = low.wrapping_sub(self.min).cast_unsigned();
        let span = high.wrapping_sub(low).cast_unsigned();
        // In the width that is stored, so that a machine compares many at once. A value is in the range when its
        // distance from the lower end, which wraps below it, is at most the span.
        let bits = match self.offsets {
            Offsets::Zero => self.slots(),
            Offsets::One(offsets) => {
                let (Ok(from), Ok(span)) = (u8::try_from(from), u8::try_from(span)) else {
                    return Vec::new();
                };
                packed(offsets, |offset| u8::from_le_bytes(offset).wrapping_sub(from) <= span)
            }
            Offsets::Two(offsets) => {
                let (Ok(from), Ok(span)) = (u16::try_from(from), u16::try_from(span)) else {
                    return Vec::new();
                };
                packed(offsets, |offset| u16::from_le_bytes(offset).wrapping_sub(from) <= span)
            }
            Offsets::Four(offsets) => {
                let (Ok(from), Ok(span)) = (u32::try_from(from), u32::try_from(span)) else {
                    return Vec::new();
                };
                packed(offsets, |offset| u32::from_le_bytes(offset).wrapping_sub(from) <= span)
            }
            Offsets::Eight(offsets) => {
                packed(offsets, |offset| u64::from_le_bytes(offset).wrapping_sub(from) <= span)
            }
        };
        self.with_values(bits)
    }

    /// One bit a slot, lowest first: whether it has a value.
    #[must_use]
    pub fn bits_present(&self) -> Vec<u8> {
        self.with_values(self.slots())
    }

    /// A bit for every slot below the length.
    fn slots(&self) -> Vec<u8> {
        let mut bits = vec![u8::MAX; self.len / 8];
        if !self.len.is_multiple_of(8) {
            bits.push((1 << (self.len % 8)) - 1);
        }
        bits
    }

    /// Clears the bits of slots without a value.
    fn with_values(&self, mut bits: Vec<u8>) -> Vec<u8> {
        if let Some(present) = self.present {
            for (bits, present) in bits.iter_mut().zip(present) {
                *bits &= present;
            }
        }
        bits
    }

    /// Calls `each` with the value of every one of `slots`, in their order; none where there is no value.
    pub fn values_of(&self, slots: &[u16], mut each: impl FnMut(Option<i64>)) {
        let value = |offset: u64| self.min.wrapping_add(offset.cast_signed());
        self.offsets_of(slots, |offset| each(offset.map(value)));
    }

    /// Calls `each` with the offset of every one of `slots` from the smallest value, in their order; none where there
    /// is no value.
    pub fn offsets_of(&self, slots: &[u16], each: impl FnMut(Option<u64>)) {
        match self.offsets {
            Offsets::Zero => self.offsets_by(slots, |_| Some(0), each),
            Offsets::One(offsets) => {
                let read = |offset: &[u8; 1]| u64::from(u8::from_le_bytes(*offset));
                self.offsets_by(slots, |slot| offsets.get(slot).map(read), each);
            }
            Offsets::Two(offsets) => {
                let read = |offset: &[u8; 2]| u64::from(u16::from_le_bytes(*offset));
                self.offsets_by(slots, |slot| offsets.get(slot).map(read), each);
            }
            Offsets::Four(offsets) => {
                let read = |offset: &[u8; 4]| u64::from(u32::from_le_bytes(*offset));
                self.offsets_by(slots, |slot| offsets.get(slot).map(read), each);
            }
            Offsets::Eight(offsets) => {
                let read = |offset: &[u8; 8]| u64::from_le_bytes(*offset);
                self.offsets_by(slots, |slot| offsets.get(slot).map(read), each);
            }
        }
    }

    fn offsets_by(
        &self,
        slots: &[u16],
        at: impl Fn(usize) -> Option<u64>,
        mut each: impl FnMut(Option<u64>),
    ) {
        for slot in slots {
            let slot = usize::from(*slot);
            each(if self.has(slot) { at(slot) } else { None });
        }
    }

    fn has(&self, slot: usize) -> bool {
        slot < self.len
            && self.present.is_none_or(|present| {
                present.get(slot / 8).is_some_and(|byte| byte >> (slot % 8) & 1 == 1)
            })
    }

    /// The value at `slot`; none where it was never set or was cleared.
    #[must_use]
    pub fn get(&self, slot: u16) -> Option<i64> {
        let slot = usize::from(slot);
        if !self.has(slot) {
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

/// What a test says of each offset, as bits, lowest first.
fn packed<const W: usize>(offsets: &[[u8; W]], test: impl Fn([u8; W]) -> bool) -> Vec<u8> {
    // Bit i of the product's highest byte is byte i.
    let gathered = |truths: [u8; 8]| {
        (u64::from_le_bytes(truths).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
    };
    let mut bits = Vec::with_capacity(offsets.len().div_ceil(8));
    let (eights, rest) = offsets.as_chunks::<8>();
    bits.extend(eights.iter().map(|eight| gathered(eight.map(|offset| u8::from(test(offset))))));
    if !rest.is_empty() {
        let mut truths = [0; 8];
        for (truth, offset) in truths.iter_mut().zip(rest) {
            *truth = u8::from(test(*offset));
        }
        bits.push(gathered(truths));
    }
    bits
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
            low in prop_oneof![any::<i64>(), -10_i64..70_000],
            span in prop_oneof![0_i64..300, 0_i64..70_000, Just(i64::MAX)],
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
            let slots = |bits: Vec<u8>| -> Vec<u16> {
                (0..u16::MAX).filter(|slot| {
                    bits.get(usize::from(slot / 8)).is_some_and(|byte| byte >> (slot % 8) & 1 == 1)
                }).collect()
            };
            let (least, most) = values.range();
            for (low, high) in [(least, most), (low, low.saturating_add(span)), (i64::MIN, low), (low, i64::MAX)] {
                let within = |(_, value): &(u16, i64)| low <= *value && *value <= high;
                let found: Vec<u16> = decoded.iter().filter(within).map(|(slot, _)| slot).collect();
                prop_assert_eq!(slots(values.bits_between(low, high)), found);
            }
            let present: Vec<u16> = decoded.iter().map(|(slot, _)| slot).collect();
            prop_assert_eq!(slots(values.bits_present()), present);
            let asked: Vec<u16> = (0..310).rev().collect();
            let mut offsets = Vec::new();
            values.offsets_of(&asked, |offset| offsets.push(offset));
            let distance = |slot: &u16| decoded.get(*slot).map(|value| value.wrapping_sub(least).cast_unsigned());
            prop_assert_eq!(offsets, asked.iter().map(distance).collect::<Vec<_>>());
            let mut found = Vec::new();
            values.values_of(&asked, |value| found.push(value));
            prop_assert_eq!(found, asked.iter().map(|slot| decoded.get(*slot)).collect::<Vec<_>>());
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
