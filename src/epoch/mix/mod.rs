//! Chooses which source gives the next row, so that shares are exact at every prefix, in integers.
//!
//! Amounts are in the unit of the mix, whichever it is: tokens, loss tokens, documents or rows.
//!
//! Stages: `shares` (what each source is worth) -> [`Fluid`] (what each source should have had at any moment) ->
//! [`Scheduler`] (whole rows, never further than one row from the fluid). The room does not read the store.

mod fluid;
mod scheduler;
mod shares;
#[cfg(test)]
mod tests;

pub use fluid::{Fluid, PlannedPoint, Ramp};
pub use scheduler::Scheduler;
pub use shares::{
    MixError, WEIGHT_MAX, apportion, integer_weights, temperature, unimax, with_fixed,
};
