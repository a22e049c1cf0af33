//! One document among its duplicates, and what blocks it.

use super::candidates;
use super::candidates::{shared_bands, sketch};
use super::diff::{DiffPart, diff};
use crate::inspect::InspectError;
use crate::sql::{ClusterRelation, DuplicatePair, PairReader, SqlError};
use model::DocId;
use serde::Serialize;
use store::{BlockKind, DocumentRecord, View};

/// A removed document and its witness, looked at closely.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ClosePair {
    /// The two documents and their similarity.
    #[serde(flatten)]
    pub pair: DuplicatePair,
    /// The similarity that their sketches give; none for texts without one.
    pub estimate: Option<f64>,
    /// Numbers of the bands that they share, of those in which the index files them.
    pub shared_bands: Vec<u8>,
    /// How the texts differ, from the witness to the removed one, when that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<Vec<DiffPart>>,
}

/// A document among its duplicates.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DocumentDuplicates {
    /// The id of the document.
    pub id: u64,
    /// The key of the document.
    pub key: String,
    /// The source of the document.
    pub source: String,
    /// The standing of the document.
    pub standing: &'static str,
    /// The newer document of its key, when it was superseded.
    pub successor: Option<u64>,
    /// Bands of the index; 0 in modes without.
    pub bands: u32,
    /// The kept document that explains its removal, when it is a duplicate.
    pub witness: Option<ClosePair>,
    /// Its cluster; none for a document that is neither kept nor a duplicate.
    pub cluster: Option<ClusterMembers>,
}

/// A witness and the documents it removed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
#[cfg_attr(feature = "cli", schemars(rename = "Cluster"))]
pub struct ClusterMembers {
    /// The witness, which names the cluster.
    pub id: u64,
    /// The key of the kept document of the cluster.
    pub key: String,
    /// The source of the kept document of the cluster.
    pub source: String,
    /// Documents, the witness included.
    pub size: u64,
    /// The removed ones, ascending by id, as many as were asked for.
    pub members: Vec<ClosePair>,
}

/// A document among its duplicates, with at most `limit` members of its cluster; `with_diff` compares
/// texts: of a removed document with its witness, of a kept one with every member listed.
///
/// # Errors
/// [`InspectError`] for an id that was never given, [`InspectError`] when a row
/// cannot be read.
pub fn document_duplicates(
    view: &View,
    document: DocId,
    limit: u64,
    with_diff: bool,
) -> Result<DocumentDuplicates, InspectError> {
    if document.0 >= view.documents() {
        return Err(SqlError::NoDocument { document, documents: view.documents() }.into());
    }
    let mut close = ClosePairReader { view, pairs: PairReader::new(view) };
    let (key, source) = close.pairs.named(document)?;
    let standing = view.standing(document)?;
    let matched = view.match_of(document)?;
    let successor = matched.filter(|found| !found.is_duplicate());
    let witness = close.pair(document, with_diff)?;
    let cluster = match ClusterRelation::of(view, document, standing)?.cluster {
        Some(id) => Some(close.cluster(id, limit, with_diff && id == document)?),
        None => None,
    };
    Ok(DocumentDuplicates {
        id: document.0,
        key,
        source,
        standing: standing.name(),
        successor: successor.map(|found| found.witness.0),
        bands: if view.policy().mode.is_near() { view.policy().bands } else { 0 },
        witness,
        cluster,
    })
}

struct ClosePairReader<'a> {
    view: &'a View,
    pairs: PairReader<'a>,
}

impl ClosePairReader<'_> {
    fn pair(&mut self, removed: DocId, with_diff: bool) -> Result<Option<ClosePair>, InspectError> {
        let Some(found) = self.view.match_of(removed)? else { return Ok(None) };
        let Some(pair) = self.pairs.pair(removed, &found)? else { return Ok(None) };
        let sketches = (sketch(self.view, removed)?, sketch(self.view, found.witness)?);
        let (estimate, shared_bands) = match &sketches {
            (Some(own), Some(other)) => {
                (Some(own.estimate(other)), shared_bands(own, other, self.view.policy()))
            }
            _ => (None, Vec::new()),
        };
        let parts = if with_diff { Some(diff(self.view, found.witness, removed)?) } else { None };
        Ok(Some(ClosePair { pair, estimate, shared_bands, diff: parts }))
    }

    fn cluster(
        &mut self,
        id: DocId,
        limit: u64,
        with_diff: bool,
    ) -> Result<ClusterMembers, InspectError> {
        let (key, source) = self.pairs.named(id)?;
        let all = self.view.members(id)?;
        let size = u64::try_from(all.len()).unwrap_or(u64::MAX).saturating_add(1);
        let mut members = Vec::new();
        for member in all.into_iter().take(usize::try_from(limit).unwrap_or(usize::MAX)) {
            members.extend(self.pair(member, with_diff)?);
        }
        Ok(ClusterMembers { id: id.0, key, source, size, members })
    }
}

/// Removed documents that are listed, at most.
const LISTED: usize = 20;

/// A removed document that blocks another one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DocumentBlocker {
    /// The id of the blocking document.
    pub id: u64,
    /// The key of the blocking document.
    pub key: String,
    /// What the two have in common: `text`, `key`, `normalised text` or `similarity`.
    pub by: &'static str,
    /// Jaccard similarity, where that is the reason: exact, or estimated where the other document was purged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jaccard: Option<f64>,
}

/// The first 20 removed documents that keep this one out, each with its strictest match.
pub(in crate::inspect) fn blockers(
    view: &View,
    document: DocId,
    header: &DocumentRecord,
) -> Result<Vec<DocumentBlocker>, InspectError> {
    let mut found: Vec<(DocId, &'static str, Option<f64>)> = Vec::new();
    for (what, hash) in view.block_hashes(header)? {
        let by = match what {
            BlockKind::Text => "text",
            BlockKind::Identity => "key",
            BlockKind::Normalised => "normalised text",
            BlockKind::Similar => "similarity",
        };
        if let Some(hash) = hash {
            let blockers = view.blockers(what, hash)?;
            found.extend(blockers.into_iter().map(|blocker| (blocker, by, None)));
        }
    }
    if view.has_blocks(BlockKind::Similar)? {
        let similar = candidates::similar_blockers(view, document)?;
        found.extend(similar.into_iter().map(|(id, jaccard)| (id, "similarity", Some(jaccard))));
    }
    let mut shown: Vec<DocumentBlocker> = Vec::new();
    for (id, by, jaccard) in found {
        if shown.len() < LISTED && id != document && shown.iter().all(|other| other.id != id.0) {
            let key = view.display_key(id)?;
            shown.push(DocumentBlocker { id: id.0, key, by, jaccard });
        }
    }
    Ok(shown)
}
