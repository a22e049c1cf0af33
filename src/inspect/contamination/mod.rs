//! Contamination in numbers: items of evaluation suites by suite and source, texts that are not stored, pairs to review.
//!
//! `report` has numbers, `check` examines texts that are not stored, and `review` prepares pairs for somebody who decides
//! whether a rule is right. What is counted is the evidence that `sql` finds.

mod report;
mod review;

pub(crate) use report::TextCheck;
pub use report::{CheckedText, CheckedTexts};
pub use report::{SourceCount, SuiteContamination, SuiteSummary};
pub(crate) use report::{contamination, suites};
pub(crate) use review::review;
pub use review::{ReviewOptions, ReviewPair, ReviewPart};
