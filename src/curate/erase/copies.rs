//! Finds other documents that hold the text of documents to purge, equal or similar.
//!
//! They have the same bytes, are equal under the normaliser, or are near duplicates by the policy. A purge of the one
//! leaves the text with the others.

use crate::curate::block_reach::BlockKeyIndex;
use crate::decide::BlockReach;
use model::{Context, DedupMode, DocId, Error, Standing};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::BTreeMap;
use store::View;

/// Documents that are listed; the rest is counted.
const LISTED: usize = 1000;

/// Documents that hold the same text as others, each counted once, where it is closest.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TextCopies {
    /// Documents of the same bytes.
    pub same_bytes: u64,
    /// Others of the same text under the normaliser.
    pub normalised: u64,
    /// Others that are near duplicates by the policy; 0 where it looks for none.
    pub near: u64,
    /// All of these by standing.
    pub standings: BTreeMap<&'static str, u64>,
    /// The first of them, ascending.
    pub documents: Vec<u64>,
    /// All of them.
    #[serde(skip)]
    pub all: RoaringTreemap,
}

impl TextCopies {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.all.len()
    }
}

/// Finds the copies of the texts of `documents` among all others, whatever their standing.
pub(crate) fn copies(
    view: &View,
    documents: &RoaringTreemap,
    context: &Context<'_>,
) -> Result<TextCopies, Error> {
    let mut others: RoaringTreemap = (0..view.documents()).collect();
    others -= documents;
    let mut asked = documents.clone();
    for without_text in [Standing::Purged, Standing::Empty] {
        let documents = view.documents_standing(without_text)?;
        others -= &documents;
        asked -= &documents;
    }
    let mut found = TextCopies::default();
    let has_near = !matches!(view.policy().mode, DedupMode::Exact | DedupMode::None);
    let reaches = [BlockReach::Exact, BlockReach::Normalised, BlockReach::Similar];
    for reach in reaches.into_iter().filter(|reach| *reach < BlockReach::Similar || has_near) {
        let met = holders(view, &asked, &others, reach, context)?;
        others -= &met;
        match reach {
            BlockReach::Exact => found.same_bytes = met.len(),
            BlockReach::Normalised => found.normalised = met.len(),
            _ => found.near = met.len(),
        }
        found.all |= met;
    }
    for document in found.all.iter().map(DocId) {
        *found.standings.entry(view.standing(document)?.name()).or_default() += 1;
    }
    found.documents = found.all.iter().take(LISTED).collect();
    Ok(found)
}

/// The documents of `others` that a removal of `documents` with this reach would meet.
fn holders(
    view: &View,
    documents: &RoaringTreemap,
    others: &RoaringTreemap,
    reach: BlockReach,
    context: &Context<'_>,
) -> Result<RoaringTreemap, Error> {
    let (mut met, mut documents) = (RoaringTreemap::new(), documents.iter().map(DocId).peekable());
    while documents.peek().is_some() {
        context.interrupt.check()?;
        let mut wanted = BlockKeyIndex::default();
        for document in documents.by_ref().take(BlockKeyIndex::most(reach)) {
            wanted.add(view, document, reach)?;
        }
        let found = wanted.find(view, others, reach)?;
        met.extend(found.into_values().flatten().map(|DocId(document)| document));
    }
    Ok(met)
}
