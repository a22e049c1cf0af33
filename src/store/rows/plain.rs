//! Values that are taken as they lie: their form is checked, nothing is copied.

use crate::store::error::Malformed;

/// Bytes of a slot of the widest sketch.
const SLOT: usize = 4;

/// The user's other fields, one JSON object as the user spelled it.
pub(in crate::store) fn metadata(bytes: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(bytes)
        .map_err(|error| Malformed::at(error.valid_up_to(), "metadata is not UTF-8"))
}

/// Slots of a sketch, of one byte or four: always a multiple of four bytes. How many there are is the policy's.
pub(in crate::store) fn sketch(bytes: &[u8]) -> Result<&[u8], Malformed> {
    if bytes.is_empty() || !bytes.len().is_multiple_of(SLOT) {
        return Err(Malformed::at(0, format!("sketch of {} bytes", bytes.len())));
    }
    Ok(bytes)
}

/// Token ids of two bytes or of four, which the tokenizer's record decides.
pub(in crate::store) fn tokens(bytes: &[u8]) -> Result<&[u8], Malformed> {
    if bytes.len().is_multiple_of(2) {
        Ok(bytes)
    } else {
        Err(Malformed::at(bytes.len() / 2 * 2, format!("ids of {} bytes", bytes.len())))
    }
}
