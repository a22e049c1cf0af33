//! Which documents of a commit are of one component, while links are found.

use super::crowd::Crowd;
use super::error::DecideError;
use super::scene::Scene;
use crate::dedup::DisjointSets;
use crate::model::{DocId, Standing};
use std::collections::HashMap;

/// Disjoint sets of documents; a set is named by its smallest member.
#[derive(Default)]
pub(super) struct DocumentSets {
    numbers: HashMap<DocId, usize>,
    sets: DisjointSets<DocId>,
}

impl DocumentSets {
    pub(super) fn find(&self, document: DocId) -> DocId {
        let number = self.numbers.get(&document);
        number.and_then(|number| self.sets.least(*number)).unwrap_or(document)
    }

    /// Joins the sets of two documents, also where the crowd knows them.
    pub(super) fn link(&mut self, a: DocId, b: DocId, crowd: &mut Crowd) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            crowd.link(a, b);
            let (a, b) = (self.number(a), self.number(b));
            self.sets.join(a, b);
        }
    }

    fn number(&mut self, document: DocId) -> usize {
        *self.numbers.entry(document).or_insert_with(|| self.sets.add(document))
    }
}

/// The document that stands for the component of an eligible one so far.
pub(super) fn root_of(scene: &Scene, document: DocId) -> Result<DocId, DecideError> {
    match scene.standing(document)? {
        Some(Standing::Exact | Standing::Near) => {
            Ok(scene.match_of(document)?.map_or(document, |found| found.witness))
        }
        _ => Ok(document),
    }
}
