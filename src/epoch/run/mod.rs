//! The run of a plan: the rows of its sources in the order in which they are given, from any moment on.
//!
//! `open` proves that the store still holds what the plan pins; `mixed` interleaves the rows of the sources, `batches`
//! arranges them, `batched` gives them batch by batch, and `marks` lead to any row without giving those before it.
//! `consumed` and `remainder` say what is left when a part was given.

mod batch_cursor;
mod batches;
mod consumed;
mod cursor;
mod index_store;
mod marks;
mod open;
mod remainder;

pub(super) use batch_cursor::{BatchCursor, BatchedRow};
pub(super) use batches::{BatchSampler, GlobalBatch, RankSharing, cost};
pub(super) use consumed::Consumed;
#[cfg(test)]
pub(super) use cursor::counted;
pub(super) use cursor::{MixedRow, RunCursor, RunPosition};
pub(super) use index_store::{check_marks, index_epochs};
pub(super) use marks::EpochIndex;
pub(super) use open::OpenPlan;
pub(super) use remainder::Remainder;
