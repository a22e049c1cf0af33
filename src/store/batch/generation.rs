//! The policy generation that a batch writes to.

use super::Batch;
use crate::model::{DocId, Generation, Policy};
use crate::store::columns::{Bands, BandsMore};
use crate::store::error::StoreError;
use crate::store::rows::matches::generation_prefix;
use roaring::RoaringTreemap;
use std::ops::Range;
use std::sync::Arc;

impl Batch<'_> {
    pub(in crate::store) fn look_under(
        &mut self,
        policy: &Policy,
        generation: Generation,
        kept: Arc<RoaringTreemap>,
        next: DocId,
    ) {
        self.view = self.view.under(policy.clone(), generation);
        self.kept_before = kept;
        self.undecided_from = next;
    }

    /// No run, row or counter of the band index is left of these generations.
    pub(in crate::store) fn forget_bands(
        &mut self,
        generations: Range<u32>,
    ) -> Result<(), StoreError> {
        let bound = |generation: u32| generation_prefix(Generation(generation));
        let (from, to) = (bound(generations.start).to_vec(), bound(generations.end).to_vec());
        self.delete_range::<Bands>(from.clone(), to.clone())?;
        self.delete_range::<BandsMore>(from, to)?;
        self.forgotten.push(generations);
        Ok(())
    }

    pub(in crate::store) fn set_generation(
        &mut self,
        generation: Generation,
        kept: Arc<RoaringTreemap>,
    ) {
        self.state.generation = generation.0;
        self.state.kept = kept.len();
        self.switched = Some(kept);
    }
}
