//! Values of stored documents that the types of their declared fields cannot hold.

use super::scope::{ScopeMember, StatsScope};
use crate::inspect::InspectError;
use model::{BLOCK_SIZE, DocId, FieldDeclaration, FieldId};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde::Serialize;
use std::collections::BTreeMap;
use store::View;

/// Values of a declared field that its type cannot hold: they stay in the metadata, and the column is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MisfitStats {
    /// The field.
    pub field: String,
    /// Its type: `keyword`, `int`, `float`, `bool` or `timestamp`.
    pub kind: &'static str,
    /// Documents that have one.
    pub documents: u64,
    /// Of these, kept ones.
    pub kept: u64,
    /// The first of them.
    pub example: MisfitExample,
}

/// The counts of a scope, in the order of the fields.
pub(super) fn misfits(scope: &StatsScope<'_>) -> Result<Vec<MisfitStats>, InspectError> {
    let fields = scope.view.fields();
    if fields.is_empty() {
        return Ok(Vec::new());
    }
    let mut counts = BTreeMap::new();
    for block in scope.blocks() {
        let members = scope.members(block)?;
        let found = of_block(scope.view, fields, block, |document| {
            match members.get(usize::from(document.slot()))? {
                ScopeMember::Outside => None,
                member => Some(*member == ScopeMember::Kept),
            }
        });
        merge(&mut counts, found?);
    }
    let stats = |field: &model::FieldDeclaration| {
        let count = counts.remove(&field.id)?;
        Some(MisfitStats {
            field: field.name.clone(),
            kind: field.kind.name(),
            documents: count.all,
            kept: count.kept,
            example: count.example,
        })
    };
    Ok(fields.iter().filter_map(stats).collect())
}

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
pub(in crate::inspect) struct MisfitCount {
    /// Among all examined documents.
    pub(in crate::inspect) all: u64,
    /// Among kept documents.
    pub(in crate::inspect) kept: u64,
    pub(in crate::inspect) example: MisfitExample,
}

/// Counts such values in the documents of one block, by field. `is_kept` says whether a document is kept; none: it is
/// not examined.
pub(in crate::inspect) fn of_block(
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
pub(in crate::inspect) fn merge(
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
