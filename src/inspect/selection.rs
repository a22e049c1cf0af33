//! Counts the documents that a condition selects, before a verb changes them.
//!
//! By standing, and those for which the condition is null, which are left out.

use super::info::{StandingCount, standing_counts};
use crate::inspect::InspectError;
use crate::sql::DocumentFilter;
use roaring::RoaringTreemap;
use serde::Serialize;
use store::View;

/// The documents of a condition.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Selection {
    /// Their ids.
    #[serde(serialize_with = "len")]
    #[cfg_attr(feature = "cli", schemars(with = "u64"))]
    pub documents: RoaringTreemap,
    /// How many are of each standing that any has, in the order of [`Standing::ALL`](crate::dedup::Standing::ALL).
    pub standings: Vec<StandingCount>,
    /// Documents for which the condition is null, because a compared value is.
    pub left_out_null: u64,
}

fn len<S: serde::Serializer>(documents: &RoaringTreemap, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(documents.len())
}

/// The documents that a filter means. It blocks.
pub(crate) fn selection(view: &View, filter: &DocumentFilter) -> Result<Selection, InspectError> {
    let documents = filter.select(view)?;
    let standings = standing_counts(view, Some(&documents))?;
    Ok(Selection { documents, standings, left_out_null: filter.select_nulls(view)?.len() })
}
