//! The way out of documents: kept documents, or those of a condition, as files that other programs read.
//!
//! Use it to hand texts on: to a filter, to another tool, to another corpus. [`Corpus::export`](crate::Corpus::export)
//! writes a file or a directory of shards, complete or not at all; after an interrupt the same call continues after the
//! last finished file. The bytes are a function of the corpus at its commit and of the options: neither of threads nor
//! of memory. What trainers read, rows of token ids, is written by [`epoch`](crate::epoch).
//!
//! ```
//! use corpusdb::export::{ExportJob, ExportOptions};
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
//! let corpus = writer.corpus();
//! let to = directory.path().join("pages.jsonl");
//! let options = ExportOptions { condition: Some("bytes < 1000".to_owned()), ..ExportOptions::default() };
//! let manifest = corpus.export(&options, &ExportJob::new(&to), &Context::new())?;
//! assert_eq!(manifest.rows, 3);
//! let first = std::fs::read_to_string(&to)?.lines().next().map(str::to_owned);
//! assert_eq!(first.as_deref(), Some(r#"{"key":"0","source":"web","text":"page 0 of 0 pages"}"#));
//! # Ok(())
//! # }
//! ```
//!
//! A document's way: `options` and `layout` say what is asked for, `selection` which documents, `partition` in which
//! directory each stands, `ranges` reads them in parallel and `collisions` looks at fields that stand at top level; the
//! room `output` encodes groups of rows, cuts these into files, and keeps what is finished until all is. `manifest` says
//! what was written. `run` drives. `answer` writes the rows of a statement instead.

mod answer;
mod collisions;
mod facade;
mod layout;
mod manifest;
mod options;
mod partition;
mod ranges;
mod run;
mod selection;

pub(crate) use answer::write_answer_noting;
pub use answer::{AnswerOptions, write_answer};
pub use files::output::{FormatName, OutputCompression, OutputError, OutputFile, OutputWriter};
pub use manifest::{ExportColumn, ExportManifest, ExportedFile, ExportedStream};
pub use options::{ExportJob, ExportOptions};
pub(crate) use run::{export, export_stream};
pub use selection::ExportEstimate;
pub(crate) use selection::estimate;
