//! Marks: which documents' decisions left candidates out, until they are settled.

use super::error::DecideError;
use super::session::Session;
use crate::model::DocId;
use crate::store::Batch;
use roaring::RoaringTreemap;

impl Session {
    /// The marked documents of the store.
    fn marked(&mut self) -> Result<&RoaringTreemap, DecideError> {
        let found = match self.marked.take() {
            Some(found) => found,
            None => self.scene.view.crowded()?,
        };
        Ok(self.marked.insert(found))
    }

    /// Whether the decision in force about a document left candidates out.
    pub(super) fn is_open(&mut self, document: DocId) -> Result<bool, DecideError> {
        let is_decided =
            self.scene.standings.contains_key(&document) || self.reconsidered.contains(&document);
        Ok(match is_decided {
            true => self.open.contains_key(&document),
            false => self.marked()?.contains(document.0),
        })
    }

    /// Notes that the decision about a document left candidates out.
    pub(super) fn leave_open(&mut self, document: DocId) {
        self.open.insert(document, self.passed.example);
    }

    /// How many decisions left candidates out, and a pair that was not compared, if one is known.
    #[must_use]
    pub fn left_open(&self) -> (u64, Option<(DocId, DocId)>) {
        let example = self.open.iter().find_map(|(id, other)| Some((*id, (*other)?)));
        (self.open.len() as u64, example)
    }

    /// Marks those whose decision left candidates out, and takes the marks of all others that were decided.
    pub(super) fn mark_open(&mut self, batch: &mut Batch<'_>) -> Result<(), DecideError> {
        self.marked()?;
        let Some(marked) = self.marked.take() else { return Ok(()) };
        let decided = self.scene.standings.keys().chain(&self.reconsidered);
        for document in decided.filter(|document| marked.contains(document.0)) {
            if !self.open.contains_key(document) {
                batch.mark_crowded(*document, false)?;
            }
        }
        for document in self.open.keys() {
            if !marked.contains(document.0) {
                batch.mark_crowded(*document, true)?;
            }
        }
        self.counts.crowded += self.open.len() as u64;
        Ok(())
    }
}
