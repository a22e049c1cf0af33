//! Changes of mind about stored documents: what removing, deciding again, training and analysing answer.
//!
//! Use it to name what the verbs of [`CorpusWriter`](crate::CorpusWriter) take and answer once documents are stored:
//! [`Removal`], [`BlockReach`] and [`RemovalReport`] of a removal, [`RedoReport`] of another policy, [`SettleReport`]
//! of decisions that left candidates out, [`TrainedOn`] and [`Training`] of a new tokenizer, [`AnalyseOptions`] of an
//! analysis.
//!
//! ```
//! use corpusdb::curate::BlockReach;
//!
//! # use corpusdb::ingest::{Record, Records};
//! # use corpusdb::{Corpus, DedupMode, IngestOptions, Interrupt, Policy, NoProgress};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("corpus");
//! # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
//! # let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path)?;
//! # let page = |n: u32| Record::new(format!("page {n} of {n} pages")).with_key(n.to_string());
//! # let (pages, options) = (Records::new("pages", (0..3).map(page)), IngestOptions::new("web"));
//! # writer.ingest_records(pages, &options, &[], &NoProgress, &Interrupt::default())?;
//! let unwanted = writer.corpus().select(Some("key = '1'"))?;
//! let report = writer.remove(&unwanted, BlockReach::Similar, &NoProgress, &Interrupt::default())?;
//! assert_eq!((report.changed, report.no_longer_kept), (1, 1));
//! let back = writer.restore(&unwanted, &NoProgress, &Interrupt::default())?;
//! assert_eq!(back.kept_again, 1);
//! # Ok(())
//! # }
//! ```
//!
//! Inside:
//!
//! * `registered`: the tokenizers of a corpus, found, loaded, registered and dropped
//! * `encode` token ids of a tokenizer that came after the documents
//! * `extend`: those of a tokenizer that extends a stored one; `extended`: what decided it
//! * `train` a tokenizer on the stored texts
//! * `analyse` tokenizers on a sample of them
//! * `sample` and `groups` (languages, sources): which texts, and how counts of them are kept apart
//! * `remove` and restore documents; `removal`: what is asked for and kept on record
//! * `purge`: erase documents, and prove it
//! * `rejects`: forget records that could not be read
//! * `redo` all decisions under another policy
//! * `settle` decisions that left candidates out
//! * `fields` that are declared and given up later, and `compute`: those that have the values of an expression
//! * `signals`: scores of texts, stored as fields; `contaminate`: suites of evaluation items, searched for in what is
//!   stored; `judge`: what people decide about these
//! * `texts` that these look at in one commit
//! * `tokens` of one document, to be shown
//! * `check` sketches, bands, similarities and ids, recomputed from the texts

mod analyse;
mod check;
mod compute;
mod contaminate;
mod encode;
mod equals;
mod error;
mod extend;
mod extended;
mod fields;
mod groups;
mod judge;
mod purge;
mod redo;
mod redo_lineage;
mod registered;
mod rejects;
mod removal;
mod remove;
mod sample;
mod settle;
mod signals;
mod texts;
mod tokens;
mod train;

pub use crate::decide::{BlockReach, DecideError, DecisionCounts, LoadedTokenizer, RefusedTexts};
pub use analyse::AnalyseOptions;
pub(crate) use analyse::analyse;
pub(crate) use check::check;
pub use compute::ComputedField;
pub(crate) use compute::compute_field;
pub use contaminate::SuiteReport;
pub(crate) use contaminate::{add_suite, drop_suite, load_seeds, search_stored};
pub use encode::{Added, Backfilled};
pub(crate) use encode::{encode_stored, sample_texts};
pub use error::CurateError;
pub use extended::{ExtendDecisions, ExtendedBy};
pub use fields::{FieldReport, NewField};
pub(crate) use fields::{add_field, drop_field};
pub use groups::Grouping;
pub(crate) use judge::judge;
pub use judge::{JudgeReport, Judgement};
pub use purge::{Certificate, Finding, PurgeReport, SearchedFamily, SearchedFile, Shared};
pub(crate) use purge::{certify, purge, write_certificate};
pub use redo::{RedoReport, RedoSource};
pub(crate) use redo::{redo, switch};
pub(crate) use registered::{drop_tokenizer, find, load, load_all, load_to_write, prove, register};
pub(crate) use rejects::drop_rejects;
pub use rejects::{DropRejectsReport, RejectSelection};
pub use removal::Removal;
pub use remove::RemovalReport;
pub(crate) use remove::{remove, restore};
pub use settle::SettleReport;
pub(crate) use settle::settle;
pub use signals::{NewSignals, SignalsReport};
pub(crate) use signals::{add_signals, drop_signals};
pub use tokens::{ShownToken, ShownTokens};
pub(crate) use tokens::{other_ids, shown_tokens, token_ends};
pub use train::{TrainDecisions, TrainedOn, Training};
pub(crate) use train::{grow, train_tokenizer};
