//! The decisions of a corpus as pure functions, for engines that spread documents over many machines.
//!
//! `print` makes what is compared of one text, `pairs` compares two or searches a crowded bucket, `graph` decides once
//! similarities are known. The keep order (`dedup/rank`) and linked sets (`dedup/disjoint_sets`) are those of the
//! database, and `tests/it/decide/contract.rs` holds both ways to decide against each other, row for row.
//! `python/corpusdb/spark/` is DataFrame code over this.

mod graph;
mod pairs;
mod print;
#[cfg(test)]
mod tests;

pub use crate::dedup::{Overlap, Rank};
pub use graph::{Edge, GraphDecision, GraphMember, Witness, components, decide};
pub use model::sortable_float;
pub use pairs::{BucketMember, TextComparer, near_in_bucket, similar_in_bucket};
pub use print::{TextPrint, TextPrinter};
