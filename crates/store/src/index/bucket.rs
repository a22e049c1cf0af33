//! The families `bands` and `bands_more`: the first member of a bucket, and its further ones.
//!
//! Thus no member list is ever rewritten.
//!
//! The first row says by a sixth byte whether there are further ones: without it every hit would cost a second look-up.
#![expect(clippy::big_endian_bytes, reason = "document ids in values have the byte order of keys")]

use crate::bytes::cursor::empty;
use crate::bytes::key::{BandKey, BandMemberKey};
use crate::database::family::store_family;
use crate::error::DecodeError;
use model::invariant::part;
use model::{DocId, Generation};

const MORE: u8 = 1;

/// The low 40 bits: what a key holds of a hash.
pub(crate) const HASH: u64 = (1 << 40) - 1;

/// A bucket of one generation as one number: band, then hash. Ascending as its key is.
pub(crate) const fn bucket_of(band: u8, hash: u64) -> u64 {
    (band as u64) << 40 | hash & HASH
}

/// The key of a bucket in `bands`, and its prefix in `bands_more`.
pub(crate) fn key_of(generation: Generation, bucket: u64) -> [u8; 10] {
    let [_, _, bucket @ ..] = bucket.to_be_bytes();
    let mut key = [0; 10];
    for (to, from) in key.iter_mut().zip(generation.0.to_be_bytes().into_iter().chain(bucket)) {
        *to = from;
    }
    key
}

/// Generation and bucket of a key of `bands`.
pub(crate) fn of_key(key: &[u8]) -> Option<(Generation, u64)> {
    let (generation, bucket) = key.split_first_chunk::<4>()?;
    let [a, b, c, d, e, f] = *bucket.first_chunk::<6>()?;
    Some((
        Generation(u32::from_be_bytes(*generation)),
        u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
    ))
}

/// The key of a further member in `bands_more`.
pub(crate) fn member_key_of(generation: Generation, bucket: u64, document: u64) -> [u8; 18] {
    let mut key = [0; 18];
    let bytes = key_of(generation, bucket).into_iter().chain(document.to_be_bytes());
    for (to, from) in key.iter_mut().zip(bytes) {
        *to = from;
    }
    key
}

pub(crate) fn encode_first(first: DocId, more: bool) -> Vec<u8> {
    let mut out = part(&first.0.to_be_bytes(), 3..).to_vec();
    if more {
        out.push(MORE);
    }
    out
}

pub(crate) fn decode_first(bytes: &[u8]) -> Result<(DocId, bool), DecodeError> {
    let (id, more) = match bytes {
        [id @ .., MORE] if bytes.len() == 6 => (id, true),
        id => (id, false),
    };
    let mut wide = [0_u8; 8];
    match wide.get_mut(3..) {
        Some(low) if id.len() == 5 => low.copy_from_slice(id),
        _ => return Err(DecodeError::at(0, "document id is not 5 bytes")),
    }
    Ok((DocId(u64::from_be_bytes(wide)), more))
}

/// The row of `bands` that says up to which commit runs were folded. It is in the last table of a folding, so a reader
/// that sees it sees all tables; no generation has this number.
pub(crate) fn fold_mark() -> [u8; 10] {
    key_of(Generation(u32::MAX), u64::MAX >> 16)
}

store_family! {
    /// First member of each band bucket.
    Bands = "bands", Buckets,
    BandKey, "generation u32, band u8, hash u40"
    => "band bucket": (DocId, bool), |_, bytes| decode_first(bytes),
    "document u40 BE; a sixth byte 1 when `bands_more` has further members"
}

store_family! {
    /// Further members of band buckets.
    BandsMore = "bands_more", Ranged,
    BandMemberKey, "generation u32, band u8, hash u40, document u64"
    => "band member": (), |_, bytes| empty(bytes),
    "empty"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::key::{BandHashPart, BandKey, BandMemberKey, StoreKey};

    #[test]
    fn golden_bytes() {
        assert_eq!(encode_first(DocId(258), false), [0, 0, 0, 1, 2]);
        assert_eq!(decode_first(&[0, 0, 0, 1, 2, 1]), Ok((DocId(258), true)));
        assert!(decode_first(&[0, 0, 0, 1, 2, 3]).is_err() && decode_first(&[]).is_err());
    }

    #[test]
    fn keys_are_those_of_the_families() {
        let (generation, band, hash) = (Generation(0x0102_0304), 200, BandHashPart(0xab_cdef_0123));
        let bucket = bucket_of(band, hash.0);
        let key = BandKey { generation, band, hash }.to_bytes();
        assert_eq!(key_of(generation, bucket).as_slice(), key);
        assert_eq!(of_key(&key), Some((generation, bucket)));
        let member = BandMemberKey { generation, band, hash, document: DocId(77) };
        assert_eq!(member_key_of(generation, bucket, 77).as_slice(), member.to_bytes());
    }
}
