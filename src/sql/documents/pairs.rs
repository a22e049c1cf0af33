//! Iterates over removed documents beside their witnesses, as `corpusdb duplicates` lists them.

use crate::sql::error::SqlError;
use crate::sql::keys::KeyFormatter;
use model::{DocId, Match};
use serde::Serialize;
use store::{MatchIter, View};

/// A removed document and its witness.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DuplicatePair {
    /// The removed document.
    pub id: u64,
    /// The key of the removed document.
    pub key: String,
    /// The source of the removed document.
    pub source: String,
    /// The kept document that explains the removal.
    pub witness: u64,
    /// The key of the witness.
    pub witness_key: String,
    /// The source of the witness.
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

/// Removed documents beside their witnesses, ascending by the removed document's id. Holds one pair, however many there
/// are, and ends behind an error.
pub struct Duplicates<'a> {
    pairs: PairReader<'a>,
    removed: PairSelection<'a>,
}

/// The documents that are still to come.
enum PairSelection<'a> {
    All(MatchIter<'a>),
    These(std::vec::IntoIter<DocId>),
    None,
}

/// Exact and near duplicates with their witnesses. For one document: its own witness, or, when it is kept, the
/// documents whose witness it is.
///
/// # Errors
/// [`SqlError::NoDocument`] for an id that was never given, [`SqlError::Store`] when a row
/// cannot be read.
pub fn duplicates(view: &View, document: Option<DocId>) -> Result<Duplicates<'_>, SqlError> {
    let removed = match document {
        None => PairSelection::All(view.matched()?),
        Some(document) if document.0 >= view.documents() => {
            return Err(SqlError::NoDocument { document, documents: view.documents() });
        }
        Some(document) => PairSelection::These(match view.match_of(document)? {
            Some(_) => vec![document].into_iter(),
            None => view.members(document)?.into_iter(),
        }),
    };
    Ok(Duplicates { pairs: PairReader::new(view), removed })
}

impl Duplicates<'_> {
    /// The next document with a match; none behind the last one.
    fn matched(&mut self) -> Result<Option<(DocId, Match)>, SqlError> {
        match &mut self.removed {
            PairSelection::All(matches) => {
                let next = matches.next().transpose()?;
                Ok(next.map(|(removed, _, found)| (removed, found)))
            }
            PairSelection::These(documents) => {
                for removed in documents {
                    if let Some(found) = self.pairs.view.match_of(removed)? {
                        return Ok(Some((removed, found)));
                    }
                }
                Ok(None)
            }
            PairSelection::None => Ok(None),
        }
    }

    fn next_pair(&mut self) -> Result<Option<DuplicatePair>, SqlError> {
        while let Some((removed, found)) = self.matched()? {
            let pair = self.pairs.pair(removed, &found)?;
            if pair.is_some() {
                return Ok(pair);
            }
        }
        Ok(None)
    }
}

impl Iterator for Duplicates<'_> {
    type Item = Result<DuplicatePair, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_pair();
        if next.is_err() {
            self.removed = PairSelection::None;
        }
        next.transpose()
    }
}

impl std::fmt::Debug for Duplicates<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Duplicates").finish_non_exhaustive()
    }
}

/// Makes pairs; remembers the files whose keys it has shown.
pub(crate) struct PairReader<'a> {
    view: &'a View,
    keys: KeyFormatter,
}

impl<'a> PairReader<'a> {
    pub(crate) fn new(view: &'a View) -> Self {
        Self { view, keys: KeyFormatter::default() }
    }

    /// The pair of a removed document and its match; none where the match is a successor.
    pub(crate) fn pair(
        &mut self,
        removed: DocId,
        found: &Match,
    ) -> Result<Option<DuplicatePair>, SqlError> {
        if !found.is_duplicate() {
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
    pub(crate) fn named(&mut self, document: DocId) -> Result<(String, String), SqlError> {
        let place = self.view.place(document)?;
        let source = self.view.source_name(place.source)?.to_owned();
        let key = match self.view.key(document)? {
            Some(key) => key,
            None => self.keys.at(self.view, document, &place)?,
        };
        Ok((key, source))
    }
}
