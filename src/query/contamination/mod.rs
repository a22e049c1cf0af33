//! Contamination: which items of evaluation suites are in a corpus, by document and in numbers.
//!
//! The store has which n-grams each text shares with a suite. `weighed` weighs these: it leaves out n-grams that are
//! common in the kept documents of the examined moment, so that no order of commits and no earlier moment changes the
//! result. `found` makes evidence of them for documents, `verdicts` lists the documents that a rule holds for, `report`
//! has numbers, `check` examines texts that are not stored, and `review` prepares pairs for somebody who decides
//! whether a rule is right.

mod check;
mod found;
mod report;
mod review;
mod verdicts;
mod weighed;

pub(crate) use check::TextCheck;
pub use check::{CheckedText, CheckedTexts};
pub use found::ItemEvidence;
pub(crate) use found::{document_evidence, each_evidence, suite_evidence};
pub use report::{SuiteContamination, SuiteSummary, TaintedSource};
pub(crate) use report::{contamination, suites};
pub(crate) use review::review;
pub use review::{ReviewOptions, ReviewPair, ReviewPart};
pub(crate) use verdicts::{contaminated, verdicts};
