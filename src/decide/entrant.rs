//! Documents with what is compared of them, and families made of such.

use super::error::DecideError;
use crate::dedup::{FamilyIndex, Sketch};
use crate::model::DocId;
use std::sync::Arc;

/// A document with what is compared of it.
pub(super) struct Entrant {
    pub(super) document: DocId,
    pub(super) sketch: Sketch,
    pub(super) shingles: Arc<[u64]>,
}

/// Reads documents; those too short for a sketch are left out.
pub(super) type Read<'r> = dyn Fn(&[DocId]) -> Result<Vec<Entrant>, DecideError> + 'r;

/// An empty family in an order for documents like these.
pub(super) fn family_like(threshold: f64, entrants: &[Entrant]) -> FamilyIndex {
    let sample: Vec<&[u64]> = entrants.iter().map(|one| &*one.shingles).collect();
    FamilyIndex::new(threshold, &sample)
}

/// A family of the documents that `next` gives part by part, in an order for those of the first part: until there
/// are no more, or it takes `budget` bytes. None when there are none.
pub(super) fn gather(
    threshold: f64,
    budget: usize,
    mut next: impl FnMut() -> Result<Option<Vec<Entrant>>, DecideError>,
) -> Result<Option<FamilyIndex>, DecideError> {
    let mut gathered: Option<FamilyIndex> = None;
    while gathered.as_ref().is_none_or(|family| family.bytes() < budget) {
        let Some(entrants) = next()? else { break };
        let family = gathered.get_or_insert_with(|| family_like(threshold, &entrants));
        for Entrant { document, sketch, shingles } in entrants {
            family.insert(document, sketch, &shingles);
        }
    }
    Ok(gathered)
}

/// Whether two documents share a bucket, by the keys of each, one a band.
pub(super) fn share_a_bucket(one: &[u64], other: &[u64]) -> bool {
    one.iter().zip(other).any(|(one, other)| one == other)
}
