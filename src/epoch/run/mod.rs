//! The run of a plan: the rows of its sources in the order in which they are given, from any moment on.
//!
//! `open` proves that the store still holds what the plan pins; `cursor` interleaves the rows of the sources, `batches`
//! arranges them, `batch_cursor` gives them batch by batch, and `index` leads to any row without giving those before it;
//! `index_store` keeps it with the plan. `remainder` says what is left of a chain of plans after some rows.

mod batch_cursor;
mod batches;
mod cursor;
mod index;
mod index_store;
mod open;
mod remainder;

pub(super) use batch_cursor::{BatchCursor, BatchedRow};
pub(super) use batches::{BatchSampler, GlobalBatch, RankSharing, cost};
pub(super) use cursor::RunCursor;
#[cfg(test)]
pub(super) use cursor::counted;
pub(super) use index::EpochIndex;
pub(super) use index_store::{check_marks, index_epochs};
pub(super) use open::OpenPlan;
pub(crate) use open::refuse_purged;
pub(super) use remainder::{OwedPasses, Remainder};
