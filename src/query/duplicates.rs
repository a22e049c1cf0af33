//! Removed documents beside their witnesses, as `corpusdb duplicates` lists them.

use super::error::QueryError;
use super::keys::Keys;
use crate::model::{DocId, Match, MatchKind};
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
enum Stop {
    Enough,
    Failed(QueryError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
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
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let mut pairs = Pairs { view, keys: Keys::default(), found: Vec::new(), limit };
    match document {
        Some(document) => pairs.of(document)?,
        None => pairs.all()?,
    }
    Ok(pairs.found)
}

struct Pairs<'a> {
    view: &'a View,
    keys: Keys,
    found: Vec<DuplicatePair>,
    limit: usize,
}

impl Pairs<'_> {
    fn all(&mut self) -> Result<(), QueryError> {
        let view = self.view;
        if self.limit == 0 {
            return Ok(());
        }
        let walked = view.for_each_match(|removed, _, found| {
            self.add(removed, &found).map_err(Stop::Failed)?;
            if self.found.len() >= self.limit { Err(Stop::Enough) } else { Ok(()) }
        });
        match walked {
            Ok(()) | Err(Stop::Enough) => Ok(()),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    fn of(&mut self, document: DocId) -> Result<(), QueryError> {
        if document.0 >= self.view.documents() {
            return Err(QueryError::NoDocument { document, documents: self.view.documents() });
        }
        let removed = match self.view.match_of(document)? {
            Some(_) => vec![document],
            None => self.view.members(document)?,
        };
        for removed in removed {
            if self.found.len() >= self.limit {
                break;
            }
            if let Some(found) = self.view.match_of(removed)? {
                self.add(removed, &found)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, removed: DocId, found: &Match) -> Result<(), QueryError> {
        if found.kind == MatchKind::Superseded {
            return Ok(());
        }
        let own = self.view.expect_header(removed)?;
        let witness = self.view.expect_header(found.witness)?;
        self.found.push(DuplicatePair {
            id: removed.0,
            key: self.keys.shown(self.view, &own)?,
            source: self.view.source_name(own.source).to_owned(),
            witness: found.witness.0,
            witness_key: self.keys.shown(self.view, &witness)?,
            witness_source: self.view.source_name(witness.source).to_owned(),
            kind: found.kind.name(),
            jaccard: found.jaccard(),
            containment_removed: found.containment_removed(),
            containment_witness: found.containment_witness(),
        });
        Ok(())
    }
}
