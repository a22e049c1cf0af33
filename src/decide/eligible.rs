//! Which stored documents are eligible, block by block: only the blocks of documents that are asked about are
//! read, so that a commit costs what it meets and not what is stored.

use super::error::DecideError;
use super::scene::Scene;
use crate::model::{DocId, Standing, TermId};
use crate::store::{StoreError, fields};
use roaring::RoaringBitmap;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Answers from any thread; an error is kept until the end.
pub(super) struct Eligible<'s> {
    scene: &'s Scene,
    /// Terms of the standings `exact` and `near`; kept documents are known.
    terms: Vec<TermId>,
    blocks: RwLock<HashMap<u64, Arc<RoaringBitmap>>>,
    failed: Mutex<Option<StoreError>>,
}

impl<'s> Eligible<'s> {
    pub(super) fn new(scene: &'s Scene) -> Result<Self, DecideError> {
        let mut terms = Vec::new();
        for standing in [Standing::Exact, Standing::Near] {
            let value = fields::standing_value(scene.view.generation(), standing);
            terms.extend(scene.view.term(fields::STANDING, &value)?);
        }
        let (blocks, failed) = (RwLock::default(), Mutex::default());
        Ok(Self { scene, terms, blocks, failed })
    }

    /// Whether links may lead to the document by now: it is eligible as the commit has it, or else as the store does.
    /// Those that are to be decided meet each other; counted here, they would crowd the decided ones out.
    pub(super) fn is_met(&self, document: DocId) -> bool {
        match self.scene.standings.get(&document) {
            Some(change) => change.now.is_some_and(Standing::is_eligible),
            None => self.contains(document),
        }
    }

    /// Whether the store has the document as kept, exact or near.
    fn contains(&self, document: DocId) -> bool {
        if self.scene.stored_kept().contains(document.0) {
            return true;
        }
        let number = document.block();
        let known = {
            let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
            blocks.get(&number).map(Arc::clone)
        };
        let block = known.or_else(|| self.load(number));
        block.is_some_and(|block| block.contains(document.slot().into()))
    }

    fn load(&self, number: u64) -> Option<Arc<RoaringBitmap>> {
        let mut found = RoaringBitmap::new();
        for term in &self.terms {
            match self.scene.view.posting_block(*term, number) {
                Ok(slots) => found |= slots,
                Err(error) => {
                    *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return None;
                }
            }
        }
        let found = Arc::new(found);
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        blocks.insert(number, Arc::clone(&found));
        Some(found)
    }

    /// What could not be read meanwhile.
    pub(super) fn end(self) -> Result<(), DecideError> {
        match self.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}
