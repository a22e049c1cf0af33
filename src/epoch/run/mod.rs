//! The run of a plan: the rows of its sources in the order in which they are given, from any moment on.
//!
//! `open` proves that the store still holds what the plan pins; `mixed` interleaves the rows of the sources, `batches`
//! arranges them, `batched` gives them batch by batch, and `marks` lead to any row without giving those before it.
//! `consumed` and `remainder` say what is left when a part was given.

mod batched;
mod batches;
mod consumed;
mod marks;
mod mixed;
mod open;
mod remainder;

pub(super) use batched::{BatchCursor, BatchedRow};
pub(super) use batches::{Arrangement, GlobalBatch, Sharing, cost};
pub(super) use consumed::Consumed;
pub(super) use marks::Marks;
#[cfg(test)]
pub(super) use mixed::counted;
pub(super) use mixed::{MixedCursor, MixedRow, RunState};
pub(super) use open::Opened;
pub(super) use remainder::Remainder;
