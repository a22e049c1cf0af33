//! Which documents of a commit are of one component, while links are found.

use super::crowd::Crowd;
use super::error::DecideError;
use super::scene::Scene;
use crate::model::{DocId, Standing};
use std::collections::HashMap;

/// Disjoint sets of documents; a set is named by its smallest member.
#[derive(Default)]
pub(super) struct Forest(HashMap<DocId, DocId>);

impl Forest {
    pub(super) fn find(&mut self, document: DocId) -> DocId {
        let mut at = document;
        while let Some(parent) = self.0.get(&at).copied() {
            if let Some(above) = self.0.get(&parent).copied() {
                self.0.insert(at, above);
            }
            at = parent;
        }
        at
    }

    /// Joins the sets of two documents, also where the crowd knows them.
    pub(super) fn link(&mut self, a: DocId, b: DocId, crowd: &mut Crowd) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            crowd.link(a, b);
            self.0.insert(a.max(b), a.min(b));
        }
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
