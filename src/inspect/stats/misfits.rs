//! Counts values that are of another type than their declared field, in the documents of a scope.

use super::scope::{ScopeMember, StatsScope};
use crate::inspect::InspectError;
use crate::inspect::misfits::{MisfitExample, merge, of_block};
use serde::Serialize;
use std::collections::BTreeMap;

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
