//! Token ids of rows: `gather` reads those of many rows at once in the order of the store, `files` those of rows that
//! were written end to end; `ids` says where in a row they lie.

mod files;
mod gather;
mod ids;

pub(super) use files::{FileIds, FileReader, IdFile, PIECE_BYTES, following};
pub(super) use gather::Gatherer;
pub(super) use ids::{FilledRow, NO_SOURCE};
