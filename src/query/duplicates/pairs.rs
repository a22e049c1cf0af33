//! Removed documents beside their witnesses, as `corpusdb duplicates` lists them.

use crate::model::{DocId, Match, MatchKind};
use crate::query::error::QueryError;
use crate::query::keys::Keys;
use crate::store::{StoreError, View};
use serde::Serialize;

/// A removed document and its witness.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DuplicatePair {
    /// The removed document.
    pub id: u64,
    /// Its key.
    pub key: String,
    /// Its source.
    pub source: String,
    /// The kept document that explains the removal.
    pub witness: u64,
    /// Its key.
    pub witness_key: String,
    /// Its source.
    pub witness_source: String,
    /// `exact` (equal raw bytes) or `near`.
    pub kind: &'static str,
    /// Exact Jaccard similarity.
    pub jaccard: f64,
    /// Share of the removed document's shingles that the witness has.
    pub containment_removed: f64,
    /// Share of the witness's shingles that the removed document has.
    pub containment_witness: f64,
}

/// Ends the walk over matches early, or carries what went wrong.
enum Stop<E> {
    Enough,
    Failed(E),
}

impl<E: From<QueryError>> From<StoreError> for Stop<E> {
    fn from(error: StoreError) -> Self {
        Self::Failed(QueryError::from(error).into())
    }
}

/// Exact and near duplicates with their witnesses, ascending by the removed document's id, at most
/// `limit`. For one document: its own witness, or, when it is kept, those it is the witness of.
///
/// # Errors
/// [`QueryError::NoDocument`] for an id that was never given, [`QueryError::Store`] when a row
/// cannot be read.
pub fn duplicates(
    view: &View,
    document: Option<DocId>,
    limit: Option<u64>,
) -> Result<Vec<DuplicatePair>, QueryError> {
    let mut found = Vec::new();
    let Some(document) = document else {
        for_each_duplicate(view, limit, |pair| {
            found.push(pair);
            Ok::<(), QueryError>(())
        })?;
        return Ok(found);
    };
    if document.0 >= view.documents() {
        return Err(QueryError::NoDocument { document, documents: view.documents() });
    }
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let mut pairs = Pairs::new(view);
    let removed = match view.match_of(document)? {
        Some(_) => vec![document],
        None => view.members(document)?,
    };
    for removed in removed {
        if found.len() >= limit {
            break;
        }
        if let Some(matched) = view.match_of(removed)? {
            found.extend(pairs.pair(removed, &matched)?);
        }
    }
    Ok(found)
}

/// Calls `each` with exact and near duplicates and their witnesses, ascending by the removed
/// document's id, at most `limit` times. Holds one pair, however many there are.
///
/// # Errors
/// What `each` returns; [`QueryError::Store`] when a row cannot be read.
pub fn for_each_duplicate<E: From<QueryError>>(
    view: &View,
    limit: Option<u64>,
    mut each: impl FnMut(DuplicatePair) -> Result<(), E>,
) -> Result<(), E> {
    let mut left = limit.unwrap_or(u64::MAX);
    if left == 0 {
        return Ok(());
    }
    let mut pairs = Pairs::new(view);
    let walked = view.for_each_match(|removed, _, found| {
        let Some(pair) = pairs.pair(removed, &found).map_err(|why| Stop::Failed(why.into()))?
        else {
            return Ok(());
        };
        each(pair).map_err(Stop::Failed)?;
        left -= 1;
        if left == 0 { Err(Stop::Enough) } else { Ok(()) }
    });
    match walked {
        Ok(()) | Err(Stop::Enough) => Ok(()),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Makes pairs, and remembers the files whose keys it has shown.
pub(in crate::query) struct Pairs<'a> {
    view: &'a View,
    keys: Keys,
}

impl<'a> Pairs<'a> {
    pub(in crate::query) fn new(view: &'a View) -> Self {
        Self { view, keys: Keys::default() }
    }

    /// The pair of a removed document and its match; none for a successor.
    pub(in crate::query) fn pair(
        &mut self,
        removed: DocId,
        found: &Match,
    ) -> Result<Option<DuplicatePair>, QueryError> {
        if found.kind == MatchKind::Superseded {
            return Ok(None);
        }
        let (key, source) = self.named(removed)?;
        let (witness_key, witness_source) = self.named(found.witness)?;
        Ok(Some(DuplicatePair {
            id: removed.0,
            key,
            source,
            witness: found.witness.0,
            witness_key,
            witness_source,
            kind: found.kind.name(),
            jaccard: found.jaccard(),
            containment_removed: found.containment_removed(),
            containment_witness: found.containment_witness(),
        }))
    }

    /// Key and source of a document.
    pub(in crate::query) fn named(
        &mut self,
        document: DocId,
    ) -> Result<(String, String), QueryError> {
        let header = self.view.expect_header(document)?;
        let source = self.view.source_name(header.source).to_owned();
        Ok((self.keys.shown(self.view, &header)?, source))
    }
}
