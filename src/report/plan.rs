//! The part of a report about a stored plan: its mix, its rows, and what it leaves over.

use crate::corpus::Corpora;
use crate::epoch::{self, Explanation};
use model::{Error, Interrupt};
use serde::Serialize;

/// What epoch 0 of a stored plan will be.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PlanReport {
    /// The number of the plan.
    pub number: u32,
    /// Documents that it draws although they were removed after its snapshot; they are still trained on.
    pub removed_since: u64,
    /// What its first epoch will be.
    pub epoch: Explanation,
}

pub(super) fn plan(
    corpora: &Corpora,
    number: u32,
    interrupt: &Interrupt,
) -> Result<PlanReport, Error> {
    let planned = epoch::stored_plan(corpora.first(), number)?;
    let removed_since = epoch::removed_since(corpora, &planned)?;
    Ok(PlanReport { number, removed_since, epoch: epoch::explain(corpora, &planned, interrupt)? })
}
