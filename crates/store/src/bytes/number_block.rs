//! Numbers in blocks of 65,536 values: the stored form, its patches and their merging, and reads in the stored bytes.
//!
//! The stored form is dense, with min and max. A stored block is read number by number without a decoded copy.

use crate::bytes::cursor::ByteCursor;
use crate::error::DecodeError;
use std::collections::BTreeMap;

const TAG_DENSE: u8 = 1;
const TAG_PATCH: u8 = 2;
const TAG_POISON: u8 = 0xee;
const BLOCK: usize = 65_536;

/// One block of a column, decoded: up to 65,536 optional integers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumberBlock {
    values: Vec<i64>,
    /// One bit a slot, lowest first; as long as `values`.
    present: Vec<u64>,
}

impl NumberBlock {
    /// The block of `values`, the first at slot 0; those behind 65,536 do not fit and are left out.
    pub(crate) fn of(values: impl IntoIterator<Item = Option<i64>>) -> Self {
        let mut block = Self::default();
        for value in values.into_iter().take(BLOCK) {
            if block.values.len().is_multiple_of(64) {
                block.present.push(0);
            }
            if let (Some(word), Some(_)) = (block.present.last_mut(), value) {
                *word |= 1 << (block.values.len() % 64);
            }
            block.values.push(value.unwrap_or(0));
        }
        block.trim();
        block
    }

    /// The value at `slot`; none where it was never set or was cleared.
    #[must_use]
    pub fn get(&self, slot: u16) -> Option<i64> {
        let slot = usize::from(slot);
        let bit = self.present.get(slot / 64)? >> (slot % 64) & 1;
        if bit == 1 { self.values.get(slot).copied() } else { None }
    }

    /// The values by slot, when every slot before the last value has one.
    #[must_use]
    pub fn without_nulls(&self) -> Option<&[i64]> {
        let ones: u32 = self.present.iter().map(|word| word.count_ones()).sum();
        (ones as usize == self.values.len()).then_some(&self.values)
    }

    /// Slots stored, counting nulls before the last value.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no slot was ever set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Smallest and largest value; none when all are null.
    #[must_use]
    pub fn range(&self) -> Option<(i64, i64)> {
        if let Some(values) = self.without_nulls() {
            return Some((*values.iter().min()?, *values.iter().max()?));
        }
        self.iter().fold(None, |range, (_, value)| match range {
            None => Some((value, value)),
            Some((low, high)) => Some((low.min(value), high.max(value))),
        })
    }

    /// (slot, value) of all values, ascending by slot.
    pub fn iter(&self) -> impl Iterator<Item = (u16, i64)> + '_ {
        (0..=u16::MAX).zip(self.values.iter()).filter_map(|(slot, value)| {
            let word = self.present.get(usize::from(slot) / 64)?;
            (word >> (slot % 64) & 1 == 1).then_some((slot, *value))
        })
    }

    pub(crate) fn set(&mut self, slot: u16, value: Option<i64>) {
        let at = usize::from(slot);
        if self.values.len() <= at {
            if value.is_none() {
                return;
            }
            self.values.resize(at + 1, 0);
            self.present.resize(at / 64 + 1, 0);
        }
        let (Some(cell), Some(word)) = (self.values.get_mut(at), self.present.get_mut(at / 64))
        else {
            return;
        };
        *cell = value.unwrap_or(0);
        *word &= !(1 << (slot % 64));
        *word |= u64::from(value.is_some()) << (slot % 64);
        if value.is_none() {
            self.trim();
        }
    }

    /// Drops nulls behind the last value, so that equal contents have equal forms.
    fn trim(&mut self) {
        let words = self.present.iter().rposition(|word| *word != 0).map_or(0, |at| at + 1);
        self.present.truncate(words);
        let last = self.present.last().map_or(0, |word| 64 - word.leading_zeros() as usize);
        self.values.truncate((words.max(1) - 1) * 64 + last);
    }

    /// The stored form: values as offsets from the minimum, in the narrowest of 0, 1, 2, 4, 8 bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (min, max) = self.range().unwrap_or((0, 0));
        let spread = max.wrapping_sub(min).cast_unsigned();
        let width: u8 = match spread {
            0 => 0,
            1..=0xff => 1,
            0x100..=0xffff => 2,
            0x1_0000..=0xffff_ffff => 4,
            _ => 8,
        };
        let full = self.without_nulls().is_some();
        let mut out = Vec::with_capacity(24 + self.values.len() * usize::from(width));
        out.push(TAG_DENSE);
        out.push(width);
        out.push(u8::from(full));
        out.extend_from_slice(&(self.values.len() as u32).to_le_bytes());
        out.extend_from_slice(&min.to_le_bytes());
        out.extend_from_slice(&max.to_le_bytes());
        if !full {
            for word in &self.present {
                out.extend_from_slice(&word.to_le_bytes());
            }
        }
        match width {
            0 => {}
            1 => self.put_offsets::<1>(min, &mut out),
            2 => self.put_offsets::<2>(min, &mut out),
            4 => self.put_offsets::<4>(min, &mut out),
            _ => self.put_offsets::<8>(min, &mut out),
        }
        out
    }

    /// What each value has above the minimum, in its lowest `W` bytes; 0 for a null.
    fn put_offsets<const W: usize>(&self, min: i64, out: &mut Vec<u8>) {
        for (word, values) in self.present.iter().zip(self.values.chunks(64)) {
            for (bit, value) in values.iter().enumerate() {
                let offset = if word >> bit & 1 == 1 { value.wrapping_sub(min) } else { 0 };
                out.extend_from_slice(offset.to_le_bytes().first_chunk::<W>().unwrap_or(&[0; W]));
            }
        }
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// `DecodeError` for bytes no release wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let stored = NumberBlockRef::read(bytes)?;
        let words = stored.len.div_ceil(64);
        let mut present: Vec<u64> = match stored.present {
            None => vec![u64::MAX; words],
            Some(bits) => bits.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect(),
        };
        if let (Some(last), true) = (present.last_mut(), stored.len % 64 != 0) {
            *last &= (1 << (stored.len % 64)) - 1;
        }
        let value = |offset: u64| stored.min.wrapping_add(offset.cast_signed());
        let values = match stored.offsets {
            NumberOffsets::Zero => vec![stored.min; stored.len],
            NumberOffsets::One(all) => all.iter().map(|[offset]| value((*offset).into())).collect(),
            NumberOffsets::Two(all) => {
                all.iter().map(|offset| value(u16::from_le_bytes(*offset).into())).collect()
            }
            NumberOffsets::Four(all) => {
                all.iter().map(|offset| value(u32::from_le_bytes(*offset).into())).collect()
            }
            NumberOffsets::Eight(all) => {
                all.iter().map(|offset| value(u64::from_le_bytes(*offset))).collect()
            }
        };
        let mut block = Self { values, present };
        if !stored.has_no_nulls() {
            block.zero_nulls();
        }
        block.trim();
        Ok(block)
    }

    /// Nulls have one form, so that equal blocks compare equal.
    fn zero_nulls(&mut self) {
        let Self { values, present } = self;
        for (word, chunk) in present.iter().zip(values.chunks_mut(64)) {
            if *word != u64::MAX {
                for (bit, value) in chunk.iter_mut().enumerate() {
                    if word >> bit & 1 == 0 {
                        *value = 0;
                    }
                }
            }
        }
    }
}

/// New values of some slots of one block; none clears.
pub type NumberPatch = BTreeMap<u16, Option<i64>>;

/// The merge operand of a patch.
#[must_use]
pub fn encode_patch(patch: &NumberPatch) -> Vec<u8> {
    let mut out = Vec::with_capacity(5 + patch.len() * 11);
    out.push(TAG_PATCH);
    out.extend_from_slice(&(patch.len() as u32).to_le_bytes());
    for slot in patch.keys() {
        out.extend_from_slice(&slot.to_le_bytes());
    }
    for value in patch.values() {
        out.push(u8::from(value.is_some()));
    }
    for value in patch.values() {
        out.extend_from_slice(&value.unwrap_or(0).to_le_bytes());
    }
    out
}

/// The slots of a patch and their new values, in the order that it has them.
fn read_patch(bytes: &[u8]) -> Result<impl Iterator<Item = (u16, Option<i64>)>, DecodeError> {
    let mut cursor = ByteCursor::new(bytes);
    if cursor.u8()? != TAG_PATCH {
        return Err(DecodeError::at(0, "not a column patch"));
    }
    let count = cursor.u32()? as usize;
    if count > BLOCK {
        return Err(DecodeError::at(1, format!("{count} values in a patch of a block of {BLOCK}")));
    }
    let slots = cursor.take(count * 2)?;
    let present = cursor.take(count)?;
    let values = cursor.take(count * 8)?;
    cursor.end()?;
    let slots = slots.as_chunks().0.iter().map(|slot| u16::from_le_bytes(*slot));
    let values = values.as_chunks().0.iter().map(|value| i64::from_le_bytes(*value));
    let values = present.iter().zip(values).map(|(is, value)| (*is == 1).then_some(value));
    Ok(slots.zip(values))
}

/// Full merge: the block after all patches, oldest first. Never fails: unreadable input poisons.
pub(crate) fn merge_full<'a>(
    existing: Option<&[u8]>,
    operands: impl Iterator<Item = &'a [u8]>,
) -> Vec<u8> {
    let merged = || -> Result<NumberBlock, DecodeError> {
        let mut block = existing.map_or_else(|| Ok(NumberBlock::default()), NumberBlock::decode)?;
        for operand in operands {
            for (slot, value) in read_patch(operand)? {
                block.set(slot, value);
            }
        }
        Ok(block)
    };
    merged().map_or_else(|_| vec![TAG_POISON], |block| block.encode())
}

/// Partial merge: one patch equal to all of them in order; none when one is unreadable.
pub(crate) fn merge_partial<'a>(operands: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let mut folded = NumberPatch::new();
    for operand in operands {
        folded.extend(read_patch(operand).ok()?);
    }
    Some(encode_patch(&folded))
}

/// Up to 65,536 optional integers, each `min` and an offset of a fixed width.
#[derive(Clone, Copy, Debug, Default)]
pub struct NumberBlockRef<'a> {
    min: i64,
    max: i64,
    len: usize,
    /// One bit a slot, lowest first; none: every slot below the length has a value.
    present: Option<&'a [u8]>,
    offsets: NumberOffsets<'a>,
}

/// The offsets of a block from its minimum, little-endian, one a slot.
#[derive(Clone, Copy, Debug, Default)]
pub enum NumberOffsets<'a> {
    /// All are 0.
    #[default]
    Zero,
    /// Numbers of one byte.
    One(&'a [[u8; 1]]),
    /// Numbers of two bytes.
    Two(&'a [[u8; 2]]),
    /// Numbers of four bytes.
    Four(&'a [[u8; 4]]),
    /// Numbers of eight bytes, added to the minimum modulo 2^64.
    Eight(&'a [[u8; 8]]),
}

impl<'a> NumberBlockRef<'a> {
    /// Reads the stored form.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cursor = ByteCursor::new(bytes);
        let block = Self::read_next(&mut cursor)?;
        cursor.end()?;
        Ok(block)
    }

    /// Reads the stored form where other bytes follow it.
    pub(crate) fn read_next(cursor: &mut ByteCursor<'a>) -> Result<Self, DecodeError> {
        let at = cursor.offset();
        match cursor.u8()? {
            TAG_DENSE => {}
            TAG_POISON => return Err(DecodeError::at(at, "a merge met bytes it could not read")),
            tag => return Err(DecodeError::at(at, format!("unknown tag {tag}"))),
        }
        let width = cursor.u8()?;
        if !matches!(width, 0 | 1 | 2 | 4 | 8) {
            return Err(DecodeError::at(at + 1, format!("width {width}")));
        }
        let full = cursor.u8()? == 1;
        let len = cursor.u32()? as usize;
        if len > BLOCK {
            return Err(DecodeError::at(at + 3, format!("{len} values in a block of {BLOCK}")));
        }
        let (min, max) = (cursor.i64()?, cursor.i64()?);
        let present =
            if full { None } else { Some(cursor.take(len.div_ceil(64).saturating_mul(8))?) };
        let values = cursor.take(len.saturating_mul(width.into()))?;
        let offsets = match width {
            0 => NumberOffsets::Zero,
            1 => NumberOffsets::One(values.as_chunks().0),
            2 => NumberOffsets::Two(values.as_chunks().0),
            4 => NumberOffsets::Four(values.as_chunks().0),
            _ => NumberOffsets::Eight(values.as_chunks().0),
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

    /// Whether every slot below [`NumberBlockRef::len`] has a value.
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
    pub const fn offsets(&self) -> NumberOffsets<'a> {
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
            NumberOffsets::Zero => self.slots(),
            NumberOffsets::One(offsets) => {
                let (Ok(from), Ok(span)) = (u8::try_from(from), u8::try_from(span)) else {
                    return Vec::new();
                };
                packed(offsets, |offset| u8::from_le_bytes(offset).wrapping_sub(from) <= span)
            }
            NumberOffsets::Two(offsets) => {
                let (Ok(from), Ok(span)) = (u16::try_from(from), u16::try_from(span)) else {
                    return Vec::new();
                };
                packed(offsets, |offset| u16::from_le_bytes(offset).wrapping_sub(from) <= span)
            }
            NumberOffsets::Four(offsets) => {
                let (Ok(from), Ok(span)) = (u32::try_from(from), u32::try_from(span)) else {
                    return Vec::new();
                };
                packed(offsets, |offset| u32::from_le_bytes(offset).wrapping_sub(from) <= span)
            }
            NumberOffsets::Eight(offsets) => {
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
            NumberOffsets::Zero => self.offsets_by(slots, |_| Some(0), each),
            NumberOffsets::One(offsets) => {
                let read = |offset: &[u8; 1]| u64::from(u8::from_le_bytes(*offset));
                self.offsets_by(slots, |slot| offsets.get(slot).map(read), each);
            }
            NumberOffsets::Two(offsets) => {
                let read = |offset: &[u8; 2]| u64::from(u16::from_le_bytes(*offset));
                self.offsets_by(slots, |slot| offsets.get(slot).map(read), each);
            }
            NumberOffsets::Four(offsets) => {
                let read = |offset: &[u8; 4]| u64::from(u32::from_le_bytes(*offset));
                self.offsets_by(slots, |slot| offsets.get(slot).map(read), each);
            }
            NumberOffsets::Eight(offsets) => {
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

    /// Calls `each` with the value of every slot, in order; none where there is no value. One loop of the width that is
    /// stored, without a question a slot where no value is missing.
    pub(crate) fn for_each(&self, each: impl FnMut(Option<i64>)) {
        match self.offsets {
            NumberOffsets::Zero => self.each_of((0..self.len).map(|_| 0), each),
            NumberOffsets::One(all) => {
                self.each_of(all.iter().map(|[offset]| (*offset).into()), each)
            }
            NumberOffsets::Two(all) => {
                self.each_of(all.iter().map(|offset| u16::from_le_bytes(*offset).into()), each);
            }
            NumberOffsets::Four(all) => {
                self.each_of(all.iter().map(|offset| u32::from_le_bytes(*offset).into()), each);
            }
            NumberOffsets::Eight(all) => {
                self.each_of(all.iter().map(|offset| u64::from_le_bytes(*offset)), each);
            }
        }
    }

    fn each_of(&self, offsets: impl Iterator<Item = u64>, mut each: impl FnMut(Option<i64>)) {
        let value = |offset: u64| self.min.wrapping_add(offset.cast_signed());
        if self.has_no_nulls() {
            offsets.for_each(|offset| each(Some(value(offset))));
        } else {
            let with_slots = offsets.enumerate();
            with_slots.for_each(|(slot, offset)| each(self.has(slot).then(|| value(offset))));
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
            NumberOffsets::Zero => 0,
            NumberOffsets::One(offsets) => u64::from(u8::from_le_bytes(*offsets.get(slot)?)),
            NumberOffsets::Two(offsets) => u64::from(u16::from_le_bytes(*offsets.get(slot)?)),
            NumberOffsets::Four(offsets) => u64::from(u32::from_le_bytes(*offsets.get(slot)?)),
            NumberOffsets::Eight(offsets) => u64::from_le_bytes(*offsets.get(slot)?),
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
#[path = "number_block_tests.rs"]
mod tests;
