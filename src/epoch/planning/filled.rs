//! Refuses a plan of whose epochs none has a row, where that is quickly told.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::{Plan, Planned};
use crate::epoch::recipe::Tail;
use crate::epoch::rows::OpenedTo;
use crate::epoch::run::{Arrangement, Marks, Opened};
use crate::model::Interrupt;

/// Batches that an epoch may hold, about, for its rows to be counted while planning.
const BATCHES: u128 = 2;

/// Refuses a plan whose batches have more rows than an epoch. Rows are counted only where there are few for
/// the size of a batch.
///
/// # Errors
/// [`EpochError::NoRows`]; [`EpochError::Store`].
pub(super) fn check(corpora: &Corpora, planned: &Planned) -> Result<(), EpochError> {
    let plan = &planned.plan;
    let Some(batch) = &plan.recipe.batch else { return Ok(()) };
    let Some(rows) = batch.rows else { return Ok(()) };
    let later = match batch.tail {
        Tail::Pad => return Ok(()),
        // What one epoch carries fills batches of the next one.
        Tail::Carry => plan.check_feasible(1).is_ok(),
        Tail::Drop => false,
    };
    if later || about_rows(plan) > BATCHES * u128::from(rows) {
        return Ok(());
    }
    let opened = Opened::open(corpora, planned, OpenedTo::Count)?;
    let marks = Marks::of(&opened, &Arrangement::of(plan), 0, &Interrupt::default())?;
    marks.refuse_empty(plan)
}

/// Rows of an epoch, about: in proportion to what it takes of each pass.
fn about_rows(plan: &Plan) -> u128 {
    let of = |rows: u64, taken: u64, pass: u64| {
        u128::from(rows) * u128::from(taken) / u128::from(pass.max(1))
    };
    plan.sources.iter().map(|source| of(source.rows, source.expected, source.amount)).sum()
}
