//! The decisions of a corpus as pure functions, for engines that spread documents over many machines.
//!
//! Use it where documents are more than one machine holds: each step is a function of what it is given, keeps nothing,
//! and runs wherever its rows are. What it answers is what an ingest of the same documents would have decided, because
//! texts, ranks and overlaps are made by the same code.

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
