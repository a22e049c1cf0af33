//! Which source gives the next row: shares that are exact at every prefix, in integers.
//!
//! Amounts are in the unit of the mix, whichever it is: tokens, loss tokens, documents or rows.
//!
//! Stages: shares (`shares`, `integer`: what each source is worth) -> [`Fluid`] (`fluid`, `ramp`: what each source
//! should have had at any moment) -> [`Scheduler`] (`scheduler`, `moment`: whole rows, never further than one row
//! from the fluid). Nothing here reads the store.

mod error;
mod fluid;
mod integer;
mod moment;
mod ramp;
mod scheduler;
mod shares;
#[cfg(test)]
mod tests;

pub use error::MixError;
pub use fluid::{Fluid, PlannedPoint, Ramp};
pub use integer::{WEIGHT_MAX, apportion, integer_weights};
pub use scheduler::Scheduler;
pub use shares::{temperature, unimax, with_fixed};
