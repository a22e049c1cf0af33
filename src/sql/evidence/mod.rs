//! Evidence of suites: which items of evaluation suites documents have, and for which documents a rule holds.
//!
//! The store has which n-grams each text shares with a suite. `weighed` weighs these: it leaves out n-grams that are
//! common in the kept documents of the examined moment, so that no order of commits and no earlier moment changes the
//! result. `found` makes evidence of them for documents, `verdicts` lists the documents that a rule holds for.

mod document_evidence;
mod weights;

pub use document_evidence::ItemEvidence;
pub(crate) use document_evidence::{Worst, document_evidence, each_evidence, suite_evidence};
pub(crate) use weights::{EvidenceSubject, WeightedSuite};
pub(crate) use weights::{contaminated, verdicts};
