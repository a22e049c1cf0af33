//! Finds why a document is blocked: the removed documents that keep it out, and by which match.

use super::candidates;
use crate::inspect::InspectError;
use model::DocId;
use serde::Serialize;
use store::{BlockKind, DocumentRecord, View};

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
            let key = view.display_key(id, &view.expect_header(id)?)?;
            shown.push(DocumentBlocker { id: id.0, key, by, jaccard });
        }
    }
    Ok(shown)
}
