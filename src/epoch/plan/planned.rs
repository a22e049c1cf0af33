//! A plan and the documents it pins: what is stored, and what everything after planning starts from.

use super::PlanHeader;
use crate::epoch::coverage::PinnedSource;
use crate::store::REDACTED;
use roaring::RoaringTreemap;
use std::sync::Arc;

/// A plan with the documents it pins, to be stored together.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What was computed, without the documents.
    pub plan: PlanHeader,
    /// What the passes of each source hold; in the plan's order.
    pub pinned: Vec<Arc<PinnedSource>>,
    /// The number under which it is stored, where it is.
    pub(crate) stored: Option<u32>,
}

impl Plan {
    /// A plan that is not stored.
    pub(crate) const fn unstored(plan: PlanHeader, pinned: Vec<Arc<PinnedSource>>) -> Self {
        Self { plan, pinned, stored: None }
    }

    /// The same plan, whose stored marks are not believed: what is opened follows from the plan alone.
    pub(in crate::epoch) fn without_checkpoints(&self) -> Self {
        Self::unstored(self.plan.clone(), self.pinned.clone())
    }

    /// Whether its recipe quoted a purged document, and says no more how it was made.
    pub(in crate::epoch) fn is_redacted(&self) -> bool {
        self.plan.recipe.expressions().any(|expression| expression == REDACTED)
    }

    /// How many of these documents the plan draws.
    #[must_use]
    pub fn count_drawn(&self, documents: &RoaringTreemap) -> u64 {
        let of = self.pinned.iter().map(|pinned| pinned.documents() & documents);
        of.fold(RoaringTreemap::new(), |all, of| all | of).len()
    }

    /// The number under which the plan is stored; none where it is not.
    #[must_use]
    pub const fn number(&self) -> Option<u32> {
        self.stored
    }
}
