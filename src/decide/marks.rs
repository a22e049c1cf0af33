//! Marks of documents whose decisions left candidates out: noted while a commit decides, written at its end.

use super::overlay::Overlay;
use model::{DocId, Error};
use roaring::RoaringTreemap;
use std::collections::{BTreeMap, BTreeSet};
use store::CommitBatch;

/// Documents whose decision is open: it left candidates out.
#[derive(Default)]
pub(super) struct OpenMarks {
    /// Documents of this commit's open decisions, each with a candidate that was left out, if one is known.
    noted: BTreeMap<DocId, Option<DocId>>,
    /// The marked documents of the store, once they were asked for.
    stored: Option<RoaringTreemap>,
}

impl OpenMarks {
    /// The decision about a document left candidates out; `example` is one of them.
    pub(super) fn note(&mut self, document: DocId, example: Option<DocId>) {
        self.noted.insert(document, example);
    }

    /// Whether the decision in force about a document left candidates out.
    pub(super) fn is_open(
        &mut self,
        overlay: &Overlay,
        reconsidered: &BTreeSet<DocId>,
        document: DocId,
    ) -> Result<bool, Error> {
        let is_decided =
            overlay.standing_change(document).is_some() || reconsidered.contains(&document);
        Ok(match is_decided {
            true => self.noted.contains_key(&document),
            false => self.stored(overlay)?.contains(document.0),
        })
    }

    fn stored(&mut self, overlay: &Overlay) -> Result<&RoaringTreemap, Error> {
        let found = match self.stored.take() {
            Some(found) => found,
            None => overlay.view.crowded()?,
        };
        Ok(self.stored.insert(found))
    }

    /// How many decisions left candidates out, and a pair that was not compared, if one is known.
    pub(super) fn summary(&self) -> (u64, Option<(DocId, DocId)>) {
        let example = self.noted.iter().find_map(|(id, other)| Some((*id, (*other)?)));
        (self.noted.len() as u64, example)
    }

    /// Marks those whose decision left candidates out, and takes the marks of all others that were decided.
    pub(super) fn write(
        mut self,
        overlay: &Overlay,
        reconsidered: &BTreeSet<DocId>,
        batch: &mut CommitBatch<'_>,
    ) -> Result<(), Error> {
        self.stored(overlay)?;
        let marked = self.stored.unwrap_or_default();
        let changed = overlay.standing_changes().map(|(document, _)| document);
        let decided = changed.chain(reconsidered.iter().copied());
        for document in decided.filter(|document| marked.contains(document.0)) {
            if !self.noted.contains_key(&document) {
                batch.mark_crowded(document, false)?;
            }
        }
        for document in self.noted.keys() {
            if !marked.contains(document.0) {
                batch.mark_crowded(*document, true)?;
            }
        }
        Ok(())
    }
}
