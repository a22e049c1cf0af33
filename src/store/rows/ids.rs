//! Token ids and document ids as stored values.
#![expect(clippy::big_endian_bytes, reason = "document ids in values have the byte order of keys")]

use crate::model::DocId;
use crate::store::error::Malformed;

/// Whether ids of a vocabulary need four bytes.
#[must_use]
pub(in crate::store) const fn is_wide(vocab_size: u32) -> bool {
    vocab_size > 65_536
}

/// Appends the stored form of `ids`; none when one does not fit the width.
pub(in crate::store) fn encode(ids: &[u32], wide: bool) -> Option<Vec<u8>> {
    if wide {
        return Some(ids.iter().flat_map(|id| id.to_le_bytes()).collect());
    }
    let mut out = Vec::with_capacity(ids.len() * 2);
    for id in ids {
        out.extend_from_slice(&u16::try_from(*id).ok()?.to_le_bytes());
    }
    Some(out)
}

/// Appends the ids in `bytes` to `out`.
pub(in crate::store) fn decode(
    bytes: &[u8],
    wide: bool,
    out: &mut Vec<u32>,
) -> Result<(), Malformed> {
    let width = if wide { 4 } else { 2 };
    if !bytes.len().is_multiple_of(width) {
        return Err(Malformed::at(
            bytes.len() / width * width,
            format!("ids of {width} bytes, {} in all", bytes.len()),
        ));
    }
    if wide {
        out.extend(
            bytes.chunks_exact(4).map(|b| b.try_into().map(u32::from_le_bytes).unwrap_or_default()),
        );
    } else {
        out.extend(
            bytes
                .chunks_exact(2)
                .map(|b| u32::from(b.try_into().map(u16::from_le_bytes).unwrap_or_default())),
        );
    }
    Ok(())
}

pub(in crate::store) fn encode_document(document: DocId) -> [u8; 8] {
    document.0.to_be_bytes()
}

pub(in crate::store) fn decode_document(bytes: &[u8]) -> Result<DocId, Malformed> {
    let bytes = bytes.try_into().map_err(|_| Malformed::at(0, "document id is not 8 bytes"))?;
    Ok(DocId(u64::from_be_bytes(bytes)))
}

/// A list of documents.
pub(in crate::store) fn encode_documents(documents: &[DocId]) -> Vec<u8> {
    documents.iter().flat_map(|document| document.0.to_be_bytes()).collect()
}

pub(in crate::store) fn decode_documents(bytes: &[u8]) -> Result<Vec<DocId>, Malformed> {
    if !bytes.len().is_multiple_of(8) {
        return Err(Malformed::at(bytes.len() / 8 * 8, "document id is not 8 bytes"));
    }
    bytes.chunks_exact(8).map(decode_document).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ids_round_trip(ids: Vec<u32>) {
            let mut out = Vec::new();
            decode(&encode(&ids, true).unwrap(), true, &mut out).unwrap();
            prop_assert_eq!(&out, &ids);
            let narrow: Vec<u32> = ids.iter().map(|id| id % 65_536).collect();
            out.clear();
            decode(&encode(&narrow, false).unwrap(), false, &mut out).unwrap();
            prop_assert_eq!(out, narrow);
        }
    }

    #[test]
    fn golden_bytes() {
        assert_eq!(encode(&[1, 50_256], false), Some(vec![1, 0, 0x50, 0xc4]));
        assert_eq!(encode(&[70_000], false), None);
        assert!(!is_wide(65_536) && is_wide(65_537));
        assert!(decode(&[1], false, &mut Vec::new()).is_err());
    }
}
