//! Values of the term dictionary, both directions.
#![expect(clippy::big_endian_bytes, reason = "ids in values have the byte order of keys")]

use crate::model::{FieldId, TermId};
use crate::store::error::Malformed;
use crate::store::rows::keys::TermKey;

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

/// A row of the dictionary, of either direction.
pub enum TermRow {
    /// The term of a value.
    Term(TermId),
    /// The value of a term.
    Value(FieldId, Vec<u8>),
}

impl TermRow {
    pub(in crate::store) fn decode(key: &TermKey, bytes: &[u8]) -> Result<Self, Malformed> {
        match key {
            TermKey::Value(..) => decode_id(bytes).map(Self::Term),
            TermKey::Id(_) => decode_value(bytes).map(|(field, value)| Self::Value(field, value)),
        }
    }

    pub(in crate::store) fn term(self) -> Result<TermId, Malformed> {
        match self {
            Self::Term(term) => Ok(term),
            Self::Value(..) => Err(Malformed::at(0, "the value of a term, not a term")),
        }
    }

    pub(in crate::store) fn value(self) -> Result<(FieldId, Vec<u8>), Malformed> {
        match self {
            Self::Value(field, value) => Ok((field, value)),
            Self::Term(_) => Err(Malformed::at(0, "the term of a value, not a value")),
        }
    }
}
