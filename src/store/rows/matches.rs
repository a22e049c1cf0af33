//! Rows of the families `matches` and `members`.
#![expect(clippy::big_endian_bytes, reason = "prefixes have the byte order of keys")]

use crate::model::{DocId, Generation, Match, MatchKind};
use crate::store::error::Malformed;
use crate::store::rows::bytes::Cursor;

const LEFT: u8 = 0;
const JOINED: u8 = 1;

/// The stored form of a match; none says that the document has none any more.
pub(in crate::store) fn encode_match(found: Option<&Match>) -> Vec<u8> {
    let Some(found) = found else {
        return vec![LEFT];
    };
    let mut out = Vec::with_capacity(21);
    out.push(found.kind as u8);
    out.extend_from_slice(&found.witness.0.to_le_bytes());
    out.extend_from_slice(&found.shared.to_le_bytes());
    out.extend_from_slice(&found.removed_shingles.to_le_bytes());
    out.extend_from_slice(&found.witness_shingles.to_le_bytes());
    out
}

pub(in crate::store) fn decode_match(bytes: &[u8]) -> Result<Option<Match>, Malformed> {
    let mut cursor = Cursor::new(bytes);
    let code = cursor.u8()?;
    if code == LEFT {
        cursor.end()?;
        return Ok(None);
    }
    let kind = MatchKind::from_code(code)
        .ok_or_else(|| Malformed::at(0, format!("unknown kind {code}")))?;
    let found = Match {
        kind,
        witness: DocId(cursor.u64()?),
        shared: cursor.u32()?,
        removed_shingles: cursor.u32()?,
        witness_shingles: cursor.u32()?,
    };
    cursor.end()?;
    Ok(Some(found))
}

pub(in crate::store) const fn encode_member(joined: bool) -> [u8; 1] {
    [if joined { JOINED } else { LEFT }]
}

pub(in crate::store) fn decode_member(bytes: &[u8]) -> Result<bool, Malformed> {
    match bytes {
        [JOINED] => Ok(true),
        [LEFT] => Ok(false),
        _ => Err(Malformed::at(0, "member is neither joined nor left")),
    }
}

pub(in crate::store) const fn generation_prefix(generation: Generation) -> [u8; 4] {
    generation.0.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let found = Match {
            kind: MatchKind::Near,
            witness: DocId(258),
            shared: 4,
            removed_shingles: 5,
            witness_shingles: 6,
        };
        let bytes = encode_match(Some(&found));
        assert_eq!(bytes, [2, 2, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0]);
        assert_eq!(decode_match(&bytes), Ok(Some(found)));
        assert_eq!(decode_match(&encode_match(None)), Ok(None));
        assert!(
            decode_match(&[9]).is_err()
                && decode_match(&[]).is_err()
                && decode_match(&[0, 0]).is_err()
        );
        assert!(decode_member(&encode_member(true)).unwrap() && decode_member(&[7]).is_err());
    }
}
