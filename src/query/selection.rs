//! What a condition takes, told before anything is done to it: how many documents, of which standings, and how many it
//! leaves out because it is neither true nor false for them.

use super::error::QueryError;
use super::info::StandingCount;
use super::sql::{count_nulls, select};
use crate::model::Standing;
use crate::store::View;
use roaring::RoaringTreemap;
use serde::Serialize;

/// The documents of a condition.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Selection {
    /// Their ids.
    #[serde(serialize_with = "len")]
    pub documents: RoaringTreemap,
    /// How many are of each standing that any has, in the order of [`Standing::ALL`].
    pub standings: Vec<StandingCount>,
    /// Documents for which the condition is null: a value that it compares is.
    pub left_out_null: u64,
}

fn len<S: serde::Serializer>(documents: &RoaringTreemap, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(documents.len())
}

/// What a SQL boolean expression over `documents` takes. It blocks.
///
/// # Errors
/// As [`select`].
pub(crate) fn selection(view: &View, condition: &str) -> Result<Selection, QueryError> {
    let documents = select(view, Some(condition))?;
    let mut standings = Vec::new();
    for standing in Standing::ALL {
        let of_it = documents.intersection_len(&view.documents_standing(standing)?);
        if of_it > 0 {
            standings.push(StandingCount { standing: standing.name(), documents: of_it });
        }
    }
    Ok(Selection { documents, standings, left_out_null: count_nulls(view, condition)? })
}
