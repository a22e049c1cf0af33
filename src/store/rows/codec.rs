//! Small metadata records: one format byte, then bincode's legacy layout under a byte limit.
//!
//! The only file that names bincode, so that it can be replaced here alone (see deny.toml).

use crate::store::error::{Malformed, StoreError};
use bincode::{Decode, Encode};

/// Largest record, encoded: 16 MiB. A corrupt length asks for no more.
const LIMIT: usize = 16 << 20;
const FORMAT: u8 = 1;

fn config() -> impl bincode::config::Config {
    bincode::config::legacy().with_limit::<LIMIT>()
}

/// The stored form of `record`; `what` names it in errors.
pub(in crate::store) fn encode<T: Encode>(
    what: &'static str,
    record: &T,
) -> Result<Vec<u8>, StoreError> {
    let mut out = vec![FORMAT];
    let body = bincode::encode_to_vec(record, config())
        .map_err(|error| StoreError::Encode { what, why: error.to_string() })?;
    out.extend(body);
    Ok(out)
}

/// Reads a record; trailing bytes are an error.
pub(in crate::store) fn decode<T: Decode<()>>(bytes: &[u8]) -> Result<T, Malformed> {
    let (format, body) = bytes.split_first().ok_or_else(|| Malformed::at(0, "empty record"))?;
    if *format != FORMAT {
        return Err(Malformed::at(0, format!("record format {format}, not {FORMAT}")));
    }
    let (record, read) = bincode::decode_from_slice(body, config())
        .map_err(|error| Malformed::at(1, error.to_string()))?;
    if read == body.len() {
        Ok(record)
    } else {
        Err(Malformed::at(1 + read, format!("{} trailing bytes", body.len() - read)))
    }
}
