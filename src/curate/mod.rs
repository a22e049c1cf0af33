//! Changes of mind about stored documents: what removing, deciding again, training and analysing answer.
//!
//! Use it to name what the verbs of [`CorpusWriter`](crate::CorpusWriter) take and answer once documents are stored:
//! [`RemovalRequest`], [`BlockReach`] and [`RemovalReport`] of a removal, [`RedoReport`] of another policy,
//! [`SettleReport`] of decisions that left candidates out, [`TrainingTexts`] and [`TrainingResult`] of a new tokenizer,
//! [`AnalyseOptions`] of an analysis, [`WordCostReport`] of costly words.
//!
//! ```
//! use corpusdb::curate::BlockReach;
//!
//! # use corpusdb::ingest::{Record, Records};
//! # use corpusdb::{Context, Corpus, DedupMode, IngestOptions, Policy};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("corpus");
//! # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
//! # let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path)?;
//! # let page = |n: u32| Record::new(format!("page {n} of {n} pages")).with_key(n.to_string());
//! # let (pages, options) = (Records::new("pages", (0..3).map(page)), IngestOptions::new("web"));
//! # writer.ingest(pages, &options, &Context::new())?;
//! let unwanted = writer.corpus().select("key = '1'")?;
//! let report = writer.remove(&unwanted, BlockReach::Similar, &Context::new())?;
//! assert_eq!((report.changed, report.no_longer_kept), (1, 1));
//! let back = writer.restore(&unwanted, &Context::new())?;
//! assert_eq!(back.kept_again, 1);
//! # Ok(())
//! # }
//! ```
//!
//! Inside:
//!
//! * `commits`: the texts that one commit looks at
//! * `remove` and restore documents: what is asked for and kept on record; `block_reach`: which stored documents a block
//!   reaches or a lift frees
//! * `redo` all decisions under another policy; `settle` those that left candidates out
//! * `sweep` over thresholds and shingle sizes: what each would remove, from the decisions that it would make
//! * `log`: verbs as people think of them, and how each is undone; `undo` an ingest
//! * `erase`: purge documents, and prove it
//! * `rejects`: forget records that could not be read
//! * `rename` a source, with all that is hashed with its name
//! * `fields` that are declared, computed and given up later; `perplexity`: those of n-gram models of the stored ids,
//!   of which `perplexity_model` says what they counted
//! * `signals`: scores of texts, stored as fields; `contaminate`: suites of evaluation items, searched for in what is
//!   stored, and what people decide about these
//! * `tokenizers` of a corpus, found, loaded, registered and dropped; `draws` of one, which are tokenizers too; `encode`:
//!   token ids of one that came after the documents; `tokens` of one document, to be shown
//! * `train` a tokenizer on the stored texts, or extend one; `analyse` tokenizers on a sample of them;
//!   `word_costs`: which words an extension would save most by
//! * `sample`: which texts, and how counts of them are kept apart (languages, sources)
//! * `check` sketches, bands, similarities and ids, recomputed from the texts; `repair`: what was damaged of these is
//!   filled again, standings by the `standing_rules`

mod analyse;
mod block_reach;
mod check;
mod commits;
mod contaminate;
mod drawing;
mod draws;
mod encode;
mod erase;
mod fields;
mod log;
mod perplexity;
mod perplexity_model;
mod redo;
mod refingerprint;
mod rejects;
mod remove;
mod rename;
mod repair;
mod sample;
mod settle;
mod signals;
mod standing_rules;
mod sweep;
mod tokenizer_reports;
mod tokenizers;
mod tokens;
mod train;
mod undo;
mod ways_back;
mod word_costs;

pub(crate) use self::tokenizers::{
    check_new_name, drop_tokenizer, find, load, load_all, load_to_encode, load_to_write, register,
};
pub use crate::decide::{BlockReach, DecisionCounts, LoadedTokenizer, RefusedTexts};
pub use analyse::{AnalyseOptions, TokenizerCandidate};
pub(crate) use check::{check, family};
pub use contaminate::{JudgeReport, Judgement, SuiteReport};
pub(crate) use contaminate::{NewSuite, add_suite, load_seeds, search_stored};
pub(crate) use draws::{register_draw, register_draws};
pub(crate) use encode::{encode_members, encode_stored};
pub use erase::{
    Certificate, CertifiedOutput, ErasedName, Finding, PurgeReport, PurgeSelection, SearchedFamily,
    SearchedFile, SharedTrace, TextCopies,
};
pub(crate) use erase::{
    SearchPlace, certify, copies, naming, purge, quoting, rewrite_hidden, write_certificate,
};
pub(crate) use fields::drop_field;
pub use fields::{ComputedField, FieldReport, NewField};
pub use log::LogEntry;
pub use perplexity::PerplexityField;
pub use perplexity_model::PerplexityModel;
pub use redo::{RedoReport, RedoSource};
pub use rejects::{DropRejectsReport, RejectSelection};
pub(crate) use remove::{BlocksBefore, block_as_before, remove, restore};
pub use remove::{RemovalReport, RemovalRequest};
pub use rename::SourceRenameReport;
pub(crate) use rename::rename_source;
pub(crate) use repair::fill;
pub use sample::TextGrouping;
pub use settle::SettleReport;
pub use signals::{NewSignals, SignalsReport};
pub(crate) use signals::{add_signals, drop_signals, outdated_signals};
pub use tokenizer_reports::{
    ExtendedTokenizer, TokenizerDescription, TokenizerDetails, TokenizerOriginal, TokenizerReport,
    TrainedTokenizer,
};
pub(crate) use tokens::token_ends;
pub use tokens::{ShownToken, ShownTokens};
pub use train::{ExtensionRecord, ExtensionSource, TrainingRecord, TrainingResult, TrainingTexts};
pub(crate) use undo::{redo_ingest, undo_ingest, undo_reason, undo_record};
pub(crate) use ways_back::{UndoWay, Undoable, log, undoable};
pub use word_costs::{WordCostOptions, WordCostReport};
