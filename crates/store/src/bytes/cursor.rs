//! A bounds-checked reader of stored bytes, little-endian with LEB128 integers, and the writer of such integers.

use crate::error::DecodeError;
use model::invariant::part;

/// Reads hand-packed values; every read is checked.
pub(crate) struct ByteCursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ByteCursor<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) const fn offset(&self) -> usize {
        self.at
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.bytes.len());
        let slice = end.and_then(|end| self.bytes.get(self.at..end));
        match (slice, end) {
            (Some(slice), Some(end)) => {
                self.at = end;
                Ok(slice)
            }
            _ => Err(DecodeError::at(
                self.at,
                format!("{len} bytes expected, {} left", self.bytes.len().saturating_sub(self.at)),
            )),
        }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let at = self.at;
        self.take(N)?.try_into().map_err(|_| DecodeError::at(at, "short array"))
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, DecodeError> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// LEB128, at most 64 bits.
    pub(crate) fn varint(&mut self) -> Result<u64, DecodeError> {
        let start = self.at;
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::at(start, "integer longer than 64 bits"))
    }

    pub(crate) fn varint_u32(&mut self) -> Result<u32, DecodeError> {
        let start = self.at;
        u32::try_from(self.varint()?)
            .map_err(|_| DecodeError::at(start, "integer longer than 32 bits"))
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        let rest = part(self.bytes, self.at..);
        self.at = self.bytes.len();
        rest
    }

    pub(crate) fn end(&self) -> Result<(), DecodeError> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(DecodeError::at(self.at, format!("{} trailing bytes", self.bytes.len() - self.at)))
        }
    }
}

/// Appends `value` as LEB128.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The value of a row whose key says it all.
pub(crate) fn empty(bytes: &[u8]) -> Result<(), DecodeError> {
    if bytes.is_empty() { Ok(()) } else { Err(DecodeError::at(0, "value is not empty")) }
}

/// A value that has a byte at least.
pub(crate) fn not_empty<'v>(bytes: &'v [u8], why: &'static str) -> Result<&'v [u8], DecodeError> {
    if bytes.is_empty() { Err(DecodeError::at(0, why)) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varint_round_trips(value: u64) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            let mut cursor = ByteCursor::new(&out);
            prop_assert_eq!(cursor.varint(), Ok(value));
            prop_assert!(cursor.end().is_ok());
        }

        #[test]
        fn any_bytes_are_an_error_or_a_value(bytes: Vec<u8>) {
            let mut cursor = ByteCursor::new(&bytes);
            while cursor.varint().is_ok() {}
            prop_assert!(cursor.offset() <= bytes.len());
        }
    }
}
