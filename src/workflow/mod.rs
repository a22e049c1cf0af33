//! Verbs that take rooms which do not know one another: what must be finished first, then the work. Each is a method
//! of a handle.
//!
//! * `ingest`: records and suites come in with the tokenizers and searches of the corpus, fields are set by files
//! * `tokenizers`: registered ones encode what is stored; given up, with the plans that need them
//! * `epochs`: planned at a moment, with cuts where tokens end
//! * `maintenance`: a check by every room; purge and its proof; fields and signals given up, with the plans that name
//!   them, and signals stored again
//! * `undo`: a verb undone by the verbs that lead back, and the log that says which can be
//! * `repair`: damaged rows made again in place; `salvage`: what is whole copied into a new corpus

#[cfg(test)]
mod column_damage_tests;
#[cfg(test)]
mod cost_tests;
#[cfg(test)]
mod earlier_rules_tests;
mod epochs;
mod ingest;
mod maintenance;
mod repair;
#[cfg(test)]
mod report_cost_tests;
mod salvage;
#[cfg(test)]
mod statement_cost_tests;
mod tokenizers;
mod undo;
#[cfg(test)]
mod version_tests;
mod who;

pub use maintenance::Dependents;
pub use repair::RepairReport;
pub use salvage::{LostDocument, SalvageReport};
pub use undo::UndoReport;
pub use who::{OutputHolder, RowPlace, SnapshotHolder, WhoReport};
