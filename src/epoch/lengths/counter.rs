//! Counts the lengths of a block in its stored bytes, without decoding it.

use model::invariant::part;
use std::ops::RangeInclusive;
use store::{NumberBlockRef, NumberOffsets};

/// Lengths counted in an array; longer ones, rarer, are sorted.
const DENSE: usize = 8192;

/// Values looked through at a time.
const PIECE: usize = 1024;

/// Counts of documents by effective length: up to 2^32 documents between two drains.
pub(in crate::epoch) struct LengthCounter {
    /// Tokens put around every document.
    overhead: u32,
    dense: Vec<u32>,
    long: Vec<u64>,
}

impl LengthCounter {
    pub fn new(overhead: u32) -> Self {
        Self { overhead, dense: vec![0; DENSE], long: Vec::new() }
    }

    /// Counts the documents in `slots`; false when one of them has no length.
    #[must_use]
    pub fn add(&mut self, values: &NumberBlockRef<'_>, slots: RangeInclusive<u16>) -> bool {
        let (from, end) = (usize::from(*slots.start()), usize::from(*slots.end()) + 1);
        let least = u32::try_from(values.range().0).ok();
        let (Some(least), true, true) = (least, values.has_no_nulls(), end <= values.len()) else {
            return self.add_each(values, slots);
        };
        let base = u64::from(least) + u64::from(self.overhead);
        match values.offsets() {
            // Arrays of no bytes take no memory.
            NumberOffsets::Zero => self.run(base, vec![[]; end - from].as_slice()),
            NumberOffsets::One(offsets) => self.run(base, part(offsets, from..end)),
            NumberOffsets::Two(offsets) => self.run(base, part(offsets, from..end)),
            NumberOffsets::Four(offsets) => self.run(base, part(offsets, from..end)),
            NumberOffsets::Eight(_) => self.add_each(values, slots),
        }
    }

    /// `W` is at most 4, so that no sum is over 2^34.
    fn run<const W: usize>(&mut self, base: u64, offsets: &[[u8; W]]) -> bool {
        let before = self.long.len();
        for offset in offsets {
            let length = base + wide(offset);
            match usize::try_from(length).ok().and_then(|length| self.dense.get_mut(length)) {
                Some(count) => *count += 1,
                None => self.long.push(length),
            }
        }
        self.long.iter().skip(before).all(|length| *length <= u64::from(u32::MAX))
    }

    fn add_each(&mut self, values: &NumberBlockRef<'_>, slots: RangeInclusive<u16>) -> bool {
        for slot in slots {
            let Some(length) = effective(values, slot, self.overhead) else { return false };
            match self.dense.get_mut(length as usize) {
                Some(count) => *count += 1,
                None => self.long.push(length.into()),
            }
        }
        true
    }

    /// (length, documents) counted since the last time, ascending by length.
    pub fn drain(&mut self) -> Vec<(u32, u32)> {
        let mut counts: Vec<(u32, u32)> = Vec::new();
        for (length, count) in (0_u32..).zip(&mut self.dense) {
            if *count > 0 {
                counts.push((length, std::mem::take(count)));
            }
        }
        self.long.sort_unstable();
        for length in self.long.drain(..) {
            // `add` answers false for a longer one, which ends the counting.
            let length = u32::try_from(length).unwrap_or(u32::MAX);
            match counts.last_mut() {
                Some((last, count)) if *last == length => *count += 1,
                _ => counts.push((length, 1)),
            }
        }
        counts
    }
}

/// The effective length of the document at `slot`; none without a stored length.
pub(in crate::epoch) fn effective(
    values: &NumberBlockRef<'_>,
    slot: u16,
    overhead: u32,
) -> Option<u32> {
    u32::try_from(values.get(slot)?).ok()?.checked_add(overhead)
}

/// The slot of the document number `within` among those of `ranges` whose stored length is `stored`; else how many
/// there are.
pub(in crate::epoch) fn find(
    values: &NumberBlockRef<'_>,
    ranges: impl Iterator<Item = RangeInclusive<u16>>,
    stored: u32,
    within: u64,
) -> Result<u16, u64> {
    let mut seen = 0;
    for slots in ranges {
        let (from, end) = (usize::from(*slots.start()), usize::from(*slots.end()) + 1);
        let offset = i64::from(stored).checked_sub(values.range().0);
        let offset = offset.and_then(|offset| u64::try_from(offset).ok());
        let found = match (offset, values.offsets(), values.has_no_nulls() && end <= values.len()) {
            (Some(offset), NumberOffsets::One(offsets), true) => {
                nth(part(offsets, from..end), offset, within - seen)
            }
            (Some(offset), NumberOffsets::Two(offsets), true) => {
                nth(part(offsets, from..end), offset, within - seen)
            }
            (Some(offset), NumberOffsets::Four(offsets), true) => {
                nth(part(offsets, from..end), offset, within - seen)
            }
            _ => {
                let equal = |slot: &u16| values.get(*slot) == Some(stored.into());
                match usize::try_from(within - seen) {
                    Ok(skipped) => match slots.clone().filter(equal).nth(skipped) {
                        Some(slot) => Ok(usize::from(slot) - from),
                        None => Err(slots.filter(equal).count() as u64),
                    },
                    Err(_) => Err(slots.filter(equal).count() as u64),
                }
            }
        };
        match found {
            // A position within `slots`, which end at a slot.
            Ok(at) => return Ok(u16::try_from(from + at).unwrap_or(u16::MAX)),
            Err(count) => seen += count,
        }
    }
    Err(seen)
}

/// The position of `wanted` number `within`, or how many there are.
fn nth<const W: usize>(values: &[[u8; W]], wanted: u64, within: u64) -> Result<usize, u64> {
    let bytes = wanted.to_le_bytes();
    let (Some(wanted), true) = (bytes.first_chunk::<W>(), wide_enough::<W>(wanted)) else {
        return Err(0);
    };
    // Counting first: it runs over many values at once. The piece that holds the wanted one is gone through.
    let mut seen = 0;
    for (number, piece) in values.chunks(PIECE).enumerate() {
        let count = piece.iter().filter(|value| *value == wanted).count() as u64;
        if seen + count > within {
            let equal = piece.iter().enumerate().filter(|(_, value)| *value == wanted);
            let mut equal = equal.map(|(at, _)| number * PIECE + at);
            let rest = usize::try_from(within - seen).unwrap_or(usize::MAX);
            return equal.nth(rest).ok_or(seen + count);
        }
        seen += count;
    }
    Err(seen)
}

const fn wide_enough<const W: usize>(value: u64) -> bool {
    W >= 8 || value >> (8 * W) == 0
}

fn wide<const W: usize>(bytes: &[u8; W]) -> u64 {
    let mut wide = [0; 8];
    wide.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(wide)
}

#[cfg(test)]
#[path = "counter_tests.rs"]
mod tests;
