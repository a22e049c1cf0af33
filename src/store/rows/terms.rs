//! Values of the term dictionary, both directions.
#![expect(clippy::big_endian_bytes, reason = "ids in values have the byte order of keys")]

use crate::model::{FieldId, TermId};
use crate::store::error::Malformed;

pub(in crate::store) fn encode_id(term: TermId) -> [u8; 4] {
    term.0.to_be_bytes()
}

pub(in crate::store) fn decode_id(bytes: &[u8]) -> Result<TermId, Malformed> {
    let bytes = bytes.try_into().map_err(|_| Malformed::at(0, "term id is not 4 bytes"))?;
    Ok(TermId(u32::from_be_bytes(bytes)))
}

pub(in crate::store) fn encode_value(field: FieldId, value: &[u8]) -> Vec<u8> {
    let mut out = field.0.to_be_bytes().to_vec();
    out.extend_from_slice(value);
    out
}

pub(in crate::store) fn decode_value(bytes: &[u8]) -> Result<(FieldId, Vec<u8>), Malformed> {
    match bytes.split_first_chunk::<2>() {
        Some((field, value)) => Ok((FieldId(u16::from_be_bytes(*field)), value.to_vec())),
        None => Err(Malformed::at(0, "term value lacks its field")),
    }
}
