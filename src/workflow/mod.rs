//! Verbs over rooms that do not know one another, as methods of a handle: unfinished work first, then the verb.
//!
//! * `ingest`: brings records and suites in with the tokenizers and searches of the corpus, and sets fields from files
//! * `tokenizers`: registers tokenizers, encodes what is stored, and drops them with the plans that need them
//! * `epochs`: plans at a moment, with cuts between tokens
//! * `maintenance`: checks by every room; purges, and proves it; stores signals; drops fields and signals
//! * `undo`: undoes a verb by the verbs that lead back, and keeps the log that says which can be undone
//! * `repair`: makes damaged rows again in place; `salvage`: copies what is intact into a new corpus

#[cfg(test)]
mod column_damage_tests;
#[cfg(test)]
mod cost_tests;
#[cfg(test)]
mod draws_tests;
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
