//! Counts values of stored documents that the types of their declared fields cannot hold.
//!
//! The store has no counts of them, so each report reads the metadata.

use crate::inspect::InspectError;
use model::{BLOCK_SIZE, DocId, FieldDeclaration, FieldId};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde::Serialize;
use std::collections::BTreeMap;
use store::View;

/// Documents whose metadata one piece of parallel work reads.
const PIECE: u64 = 1 << 12;

/// The first of the values that the type of a field cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MisfitExample {
    /// The document that has it.
    pub document: u64,
    /// As JSON spells it, cut to 60 characters.
    pub value: String,
}

/// Values of one field that are of another type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MisfitCount {
    /// Among all examined documents.
    pub(super) all: u64,
    /// Among kept documents.
    pub(super) kept: u64,
    pub(super) example: MisfitExample,
}

/// Counts such values in the documents of one block, by field. `is_kept` says whether a document is kept; none: it is
/// not examined.
pub(super) fn of_block(
    view: &View,
    fields: &[FieldDeclaration],
    block: u64,
    is_kept: impl Fn(DocId) -> Option<bool> + Sync,
) -> Result<BTreeMap<FieldId, MisfitCount>, InspectError> {
    let ids = block * BLOCK_SIZE..((block + 1) * BLOCK_SIZE).min(view.documents());
    let pieces = ids.end.saturating_sub(ids.start).div_ceil(PIECE);
    let count = |piece: u64| -> Result<BTreeMap<FieldId, MisfitCount>, InspectError> {
        let start = ids.start + piece * PIECE;
        let mut counts = BTreeMap::new();
        for row in view.misfits_in(fields, start..(start + PIECE).min(ids.end))? {
            let (document, misfits) = row?;
            let Some(is_kept) = is_kept(document) else { continue };
            for (field, value) in misfits {
                let example = MisfitExample { document: document.0, value };
                add(&mut counts, field, MisfitCount { all: 1, kept: u64::from(is_kept), example });
            }
        }
        Ok(counts)
    };
    let found: Vec<_> =
        (0..pieces).into_par_iter().map(count).collect::<Result<_, InspectError>>()?;
    let mut counts = BTreeMap::new();
    found.into_iter().for_each(|piece| merge(&mut counts, piece));
    Ok(counts)
}

/// Adds the counts of later documents.
pub(super) fn merge(
    counts: &mut BTreeMap<FieldId, MisfitCount>,
    later: BTreeMap<FieldId, MisfitCount>,
) {
    for (field, count) in later {
        add(counts, field, count);
    }
}

fn add(counts: &mut BTreeMap<FieldId, MisfitCount>, field: FieldId, count: MisfitCount) {
    if let Some(known) = counts.get_mut(&field) {
        known.all += count.all;
        known.kept += count.kept;
    } else {
        counts.insert(field, count);
    }
}
