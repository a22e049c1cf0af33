//! The report on a corpus that a data card shows: what readers of a trained model, or of a data set, ask about data.
//!
//! Use it to publish a corpus, and to see at once what is in one. [`Corpus::report`] gathers a [`CorpusReport`] from
//! the store alone: what the corpus is, its sizes before and after dedup, lengths, duplicates, rejects, spreads of
//! declared numbers, test items, dates, licences, domains, how it came to be, some of its documents, and what a stored plan
//! makes of it. It is a function of
//! the commit and the options. The command makes a page of it, a Croissant description, and the summary that the EU
//! asks for.
//!
//! [`Corpus::report`]: crate::Corpus::report
//!
//! Nothing is counted here: the rest of `inspect` and `epoch` do. `about`, `sizes`, `duplicates`, `contamination`, `samples` and `plan`
//! choose and cut: what could grow with the corpus is the largest of its kind, with the others in one sum (`largest`).
//! `languages` tells code from what people speak.

mod duplicates;
mod largest;
mod options;
mod parts;
mod report;
mod sizes;

pub use duplicates::{DuplicatesReport, ReportCluster, SourceMatrix};
pub use largest::Largest;
pub use options::ReportOptions;
pub use parts::{CardOverview, PlanReport, SampledDocument, is_programming_language};
pub use parts::{CardSuite, ContaminationReport};
pub use report::{CorpusReport, OmittedPart};
pub use sizes::{CardSizes, CardSpreads, Provenance};
