//! What of suites is in a corpus: evidence by document and item, and in numbers.
//!
//! What is stored is which n-grams each text has. `weighed` says what these come to: it leaves out what is common in
//! the kept documents of the moment that is examined, so that no order of commits and no earlier moment has a say.
//! `found` gives the evidence of documents, `verdicts` the documents that a rule holds of, `report` numbers, `check`
//! the same for texts that are not stored, `review` what somebody needs who is to decide whether a rule is right.

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
