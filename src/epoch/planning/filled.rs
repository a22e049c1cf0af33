//! Refuses a plan whose first epoch has no row, where that is quickly told.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::{Plan, PlanHeader};
use crate::epoch::recipe::BatchTail;
use crate::epoch::rows::OpenPurpose;
use crate::epoch::run::{BatchSampler, EpochIndex, OpenPlan};
use crate::model::Interrupt;

/// Batches that an epoch may hold, about, for its rows to be counted while planning.
const BATCHES: u128 = 2;

/// Refuses a plan whose batches have more rows than an epoch. Rows are counted only where there are few for the size of a
/// batch. Where rows are carried, a later epoch may be the first one with a batch.
///
/// # Errors
/// [`EpochError::NoRows`]; [`EpochError::Interrupted`]; [`EpochError::Store`].
pub(super) fn check(
    corpora: &Corpora,
    planned: &Plan,
    interrupt: &Interrupt,
) -> Result<(), EpochError> {
    let plan = &planned.plan;
    let Some(batch) = &plan.recipe.batch else { return Ok(()) };
    let Some(rows) = batch.rows else { return Ok(()) };
    if batch.tail == BatchTail::Pad || about_rows(plan) > BATCHES * u128::from(rows) {
        return Ok(());
    }
    let opened = OpenPlan::open(corpora, planned, OpenPurpose::Count, interrupt)?;
    let sampler = BatchSampler::of(plan);
    let first = EpochIndex::of(&opened, &sampler, 0, interrupt)?;
    let mut index = first.clone();
    while index.emptiness(plan).is_some() && sampler.carries() {
        index = match index.next(&opened, &sampler, interrupt) {
            Err(EpochError::Infeasible { .. }) => return first.refuse_empty(plan),
            index => index?,
        };
    }
    index.refuse_empty(plan)
}

/// Rows of an epoch, about: in proportion to what it takes of each pass.
fn about_rows(plan: &PlanHeader) -> u128 {
    let of = |rows: u64, taken: u64, pass: u64| {
        u128::from(rows) * u128::from(taken) / u128::from(pass.max(1))
    };
    plan.sources.iter().map(|source| of(source.rows, source.expected, source.amount)).sum()
}
