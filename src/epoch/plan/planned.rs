//! A plan and the documents it pins: what is stored, and what everything after planning starts from.

use super::Plan;
use super::pinned::PinnedSource;
use crate::store::{StoreError, View};
use std::sync::Arc;

/// A plan with the documents it pins, to be stored together.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What was computed, without the documents.
    pub plan: Plan,
    /// What the passes of each source hold; in the plan's order.
    pub pinned: Vec<Arc<PinnedSource>>,
    /// The number under which it is stored, where it is.
    pub(crate) stored: Option<u32>,
}

impl Planned {
    /// A plan that is not stored.
    pub(crate) const fn unstored(plan: Plan, pinned: Vec<Arc<PinnedSource>>) -> Self {
        Self { plan, pinned, stored: None }
    }

    /// The same plan, whose stored marks are not believed: what is opened follows from the plan alone.
    pub(in crate::epoch) fn anew(&self) -> Self {
        Self::unstored(self.plan.clone(), self.pinned.clone())
    }

    /// The number under which the plan is stored; none where it is not.
    #[must_use]
    pub const fn number(&self) -> Option<u32> {
        self.stored
    }
}

/// The numbers of the stored plans that are by a tokenizer: by its name and the blake3 of its file.
///
/// # Errors
/// [`StoreError`] when the plans cannot be read.
pub fn plans_by(view: &View, name: &str, hash: [u8; 32]) -> Result<Vec<u32>, StoreError> {
    let hash = blake3::Hash::from_bytes(hash).to_hex();
    let depends = |plan: Plan| plan.tokenizer.hash == hash.as_str() && plan.tokenizer.name == name;
    let mut plans = view.epochs()?;
    // A plan that cannot be read cannot be used either.
    plans.retain(|record| Plan::from_json(&record.plan).is_ok_and(depends));
    Ok(plans.into_iter().map(|record| record.number).collect())
}
