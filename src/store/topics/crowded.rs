//! Documents whose decision left candidates out, because their crowd did not fit into memory: marked until
//! they are settled. A mark says nothing about what the corpus means; it is not part of its digest.

use crate::model::DocId;
use crate::store::batch::Batch;
use crate::store::error::StoreError;
use crate::store::fields;
use crate::store::view::View;
use roaring::RoaringTreemap;

impl View {
    /// Documents marked under this generation.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn crowded(&self) -> Result<RoaringTreemap, StoreError> {
        self.documents_with(fields::CROWDED, &fields::crowded_value(self.generation()))
    }
}

impl Batch<'_> {
    /// Marks a document, or takes its mark away.
    ///
    /// # Errors
    /// [`StoreError`] when the term cannot be read or made.
    pub fn mark_crowded(&mut self, document: DocId, is_crowded: bool) -> Result<(), StoreError> {
        let value = fields::crowded_value(self.view().generation());
        let term = self.term(fields::CROWDED, &value)?;
        let delta = self.postings.entry((term, document.block())).or_default();
        if is_crowded {
            delta.set(document.slot());
        } else {
            delta.clear(document.slot());
        }
        Ok(())
    }
}
