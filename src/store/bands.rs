//! Band buckets: first member in one row, the others in rows of their own, so that none is ever rewritten.
#![expect(clippy::big_endian_bytes, reason = "document ids in values have the byte order of keys")]

use super::columns::{Bands, BandsMore, corrupt};
use super::db::Pinned;
use super::error::{Malformed, StoreError};
use super::keys::{BandHash, BandKey, BandMemberKey, Key};
use crate::model::{DocId, Generation};

const MORE: u8 = 1;

/// What a look-up of one bucket found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its first member ever.
    pub first: DocId,
    /// Whether it has further members.
    pub more: bool,
    /// Admitted members, ascending, at most the cap.
    pub members: Vec<DocId>,
    /// Whether admitted members beyond the cap were passed over.
    pub capped: bool,
}

pub(super) fn encode_first(first: DocId, more: bool) -> Vec<u8> {
    let mut out = first.0.to_be_bytes().get(3..).unwrap_or_default().to_vec();
    if more {
        out.push(MORE);
    }
    out
}

pub(super) fn decode_first(bytes: &[u8]) -> Result<(DocId, bool), Malformed> {
    let (id, more) = match bytes {
        [id @ .., MORE] if bytes.len() == 6 => (id, true),
        id => (id, false),
    };
    let mut wide = [0_u8; 8];
    match wide.get_mut(3..) {
        Some(low) if id.len() == 5 => low.copy_from_slice(id),
        _ => return Err(Malformed::at(0, "document id is not 5 bytes")),
    }
    Ok((DocId(u64::from_be_bytes(wide)), more))
}

pub(super) fn read(
    pinned: &Pinned,
    generation: Generation,
    sorted: &[(u8, u64)],
    cap: usize,
    keep: impl Fn(DocId) -> bool,
) -> Result<Vec<Option<Bucket>>, StoreError> {
    let keys: Vec<Vec<u8>> = sorted
        .iter()
        .map(|(band, hash)| BandKey { generation, band: *band, hash: BandHash(*hash) }.to_bytes())
        .collect();
    let mut answers = Vec::with_capacity(keys.len());
    for (key, found) in keys.iter().zip(pinned.multi_get::<Bands>(&keys)?) {
        let Some(bytes) = found else {
            answers.push(None);
            continue;
        };
        let (first, more) =
            decode_first(&bytes).map_err(|why| corrupt::<Bands>("band bucket", key, why))?;
        let mut bucket = Bucket { first, more, members: Vec::new(), capped: false };
        if more {
            read_members(pinned, key, cap, &keep, &mut bucket)?;
        } else if keep(first) {
            bucket.members.push(first);
        }
        answers.push(Some(bucket));
    }
    Ok(answers)
}

/// Members in rank order: the first member may rank behind later ones when it came back from a removal.
fn read_members(
    pinned: &Pinned,
    bucket_key: &[u8],
    cap: usize,
    keep: impl Fn(DocId) -> bool,
    bucket: &mut Bucket,
) -> Result<(), StoreError> {
    let mut rows = pinned.scan_prefix::<BandsMore>(bucket_key)?;
    let mut first_due = keep(bucket.first);
    let push = |document: DocId, bucket: &mut Bucket| {
        if bucket.members.len() < cap {
            bucket.members.push(document)
        } else {
            bucket.capped = true
        }
    };
    while let Some((key, value)) = rows.advance()? {
        let document = BandMemberKey::decode(key)
            .and_then(|key| {
                if value.is_empty() {
                    Ok(key.document)
                } else {
                    Err(Malformed::at(0, "value is not empty"))
                }
            })
            .map_err(|why| corrupt::<BandsMore>("band member", key, why))?;
        if first_due && bucket.first <= document {
            push(bucket.first, bucket);
            first_due = false;
        }
        if document != bucket.first && keep(document) {
            push(document, bucket);
        }
        if bucket.capped {
            break;
        }
    }
    if first_due {
        push(bucket.first, bucket);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        assert_eq!(encode_first(DocId(258), false), [0, 0, 0, 1, 2]);
        assert_eq!(decode_first(&[0, 0, 0, 1, 2, 1]), Ok((DocId(258), true)));
        assert!(decode_first(&[0, 0, 0, 1, 2, 3]).is_err() && decode_first(&[]).is_err());
    }
}
