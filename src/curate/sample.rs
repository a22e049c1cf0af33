//! A uniform sample of documents of so many bytes, which depends on their ids and lengths alone.

use super::error::CurateError;
use crate::model::{DocId, GOLDEN, mix64};
use crate::store::{View, fields};
use roaring::RoaringTreemap;

/// Documents drawn.
#[derive(Debug, Default)]
pub struct Sample {
    /// The documents that were drawn.
    pub documents: RoaringTreemap,
    /// Bytes of their texts.
    pub bytes: u64,
    /// Bytes of all that they were drawn from.
    pub of_bytes: u64,
}

impl Sample {
    /// Documents of at most `limit` bytes, and next to no less; one at least. Their hashes are below a
    /// threshold: a larger limit gives the same documents and more. Without a limit, all. Memory does
    /// not depend on how many there are.
    ///
    /// # Errors
    /// [`CurateError::Store`] when lengths cannot be read.
    pub fn draw(
        view: &View,
        selected: &RoaringTreemap,
        limit: Option<u64>,
    ) -> Result<Self, CurateError> {
        let of_bytes = bytes_of(view, selected)?;
        let Some(limit) = limit.filter(|limit| *limit < of_bytes) else {
            return Ok(Self { documents: selected.clone(), bytes: of_bytes, of_bytes });
        };
        let threshold = threshold(view, selected, limit)?;
        let documents: RoaringTreemap =
            selected.iter().filter(|document| hash(*document) <= threshold).collect();
        let bytes = bytes_of(view, &documents)?;
        Ok(Self { documents, bytes, of_bytes })
    }
}

/// Calls `each` with the number and the documents of every block that has any.
pub(super) fn for_each_block(
    documents: &RoaringTreemap,
    mut each: impl FnMut(u64, &[DocId]) -> Result<(), CurateError>,
) -> Result<(), CurateError> {
    let mut members: Vec<DocId> = Vec::new();
    for document in documents.iter().map(DocId) {
        if let Some(first) = members.first().filter(|first| first.block() != document.block()) {
            each(first.block(), &members)?;
            members.clear();
        }
        members.push(document);
    }
    members.first().map_or(Ok(()), |first| each(first.block(), &members))
}

/// Calls `each` with every document and the bytes of its text.
fn for_each_length(
    view: &View,
    documents: &RoaringTreemap,
    mut each: impl FnMut(DocId, u64),
) -> Result<(), CurateError> {
    for_each_block(documents, |block, members| {
        let lengths = view.column_block(fields::BYTES, block)?;
        for document in members {
            let bytes = lengths.get(document.slot()).and_then(|bytes| u64::try_from(bytes).ok());
            each(*document, bytes.unwrap_or(0));
        }
        Ok(())
    })
}

fn bytes_of(view: &View, documents: &RoaringTreemap) -> Result<u64, CurateError> {
    let mut sum = 0;
    for_each_length(view, documents, |_, bytes| sum += bytes)?;
    Ok(sum)
}

/// Two looks at the column of lengths, the second at the one part in 65,536 on which it turns.
fn threshold(view: &View, documents: &RoaringTreemap, limit: u64) -> Result<u64, CurateError> {
    let (mut room, mut prefix) = (limit, 0);
    for shift in [48_u32, 32] {
        let mut sums = vec![0_u64; 1 << 16];
        for_each_length(view, documents, |document, bytes| {
            let hash = hash(document.0) >> shift;
            let slot = usize::try_from(hash & 0xffff).unwrap_or(0);
            if let Some(sum) = sums.get_mut(slot).filter(|_| hash >> 16 == prefix) {
                *sum += bytes;
            }
        })?;
        let mut full = 0;
        for sum in sums {
            if sum > room {
                break;
            }
            room -= sum;
            full += 1;
        }
        if full > 0xffff {
            return Ok(u64::MAX);
        }
        prefix = prefix << 16 | full;
    }
    // All below the part that did not fit; never nothing at all.
    let threshold = (prefix << 32).saturating_sub(1);
    Ok(documents.iter().map(hash).min().map_or(threshold, |least| threshold.max(least)))
}

/// A fixed permutation without pattern.
const fn hash(document: u64) -> u64 {
    mix64(document.wrapping_add(GOLDEN))
}
