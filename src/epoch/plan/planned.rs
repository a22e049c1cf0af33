//! A plan and the documents it pins: what is stored, and what everything after planning starts from.

use super::Plan;
use super::pinned::PinnedSource;
use std::sync::Arc;

/// A plan with the documents it pins, to be stored together.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// What the passes of each source hold; in the plan's order.
    pub pinned: Vec<Arc<PinnedSource>>,
}
