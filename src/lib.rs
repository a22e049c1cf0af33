//! corpusdb: an embedded database for language-model training corpora.
//!
//! Pour documents in; exact and near duplicates are removed against everything already held, each
//! with the name of the stored document it matched; what is left is tokenized and indexed with
//! roaring bitmaps, answers SQL, and comes back as packed, source-mixed epochs: a pure function of
//! (snapshot, recipe, seed). One directory, one process, no server.
//!
//! It is not a server, not a search engine, not a store for anything but text with fields, and not
//! a trainer. It removes documents by a bit, never by deletion.
//!
//! [`Corpus`] reads and [`CorpusWriter`] writes; the rest of the root is what their first calls need. Each module holds
//! what belongs to one question:
//!
//! * [`ingest`]: how do files become documents?
//! * [`dedup`]: what makes two texts similar, and what is a policy?
//! * [`sql`]: which documents fulfil a condition, and what does a statement answer?
//! * [`inspect`]: what is in there, what was removed because of what, and what does a data card say?
//! * [`tokenizer`]: which ids does a text have?
//! * [`epoch`]: how do documents become training rows?
//! * [`export`]: how do documents leave as files?
//! * [`contamination`]: what of evaluation suites is in there?
//! * [`curate`]: how does a corpus change its mind?
//! * [`remote`]: how are objects of stores reached?
//! * [`kernel`]: how do other engines decide as a corpus does?
//! * [`signals`]: what does a text tell about its quality?
//! * [`store`]: which records are stored, and are they whole?
//!
//! ```
//! use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, IngestOptions, Policy};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("corpus");
//! let file = directory.path().join("pages.jsonl");
//! let page = "one two three four five six seven eight nine ten eleven twelve";
//! std::fs::write(&file, format!("{{\"text\":\"{page}\"}}\n{{\"text\":\"{page}!\"}}\n"))?;
//!
//! Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
//! let mut writer = CorpusWriter::open(&path)?;
//! let options = IngestOptions::new("web");
//! let paths = [file.display().to_string()];
//! let report = writer.ingest(&paths, &options, &Context::new())?;
//! assert_eq!((report.kept, report.near_duplicates), (1, 1));
//!
//! let corpus = writer.corpus();
//! assert_eq!(corpus.count("kept")?, 1);
//! let pairs = corpus.duplicates(None)?.collect::<Result<Vec<_>, _>>()?;
//! assert_eq!((pairs[0].id, pairs[0].witness, pairs[0].jaccard), (1, 0, 1.0));
//! # Ok(())
//! # }
//! ```

/// The command: its arguments, answers and pages. For the two programs that are made of this crate, the binary and the
/// Python package; no interface for others.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod contamination;
pub mod curate;
pub mod dedup;
pub mod epoch;
pub mod export;
pub mod ingest;
pub mod inspect;
pub mod kernel;
/// Reports as pages and descriptions, for the command and the Python package only.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod pages;
pub mod remote;
pub mod signals;
pub mod sql;
pub mod store;
pub mod tokenizer;

// The command calls the library by the name that other programs call it by, and sees what they see
// (tests/it/house/layers.rs).
#[cfg(feature = "cli")]
extern crate self as corpusdb;

mod corpus;
mod decide;
mod workflow;

/// Arrow at the version that this library answers in: record batches of [`Corpus::sql`].
pub use arrow;
/// Roaring bitmaps at the version that this library answers in: what [`Corpus::select`] selects.
pub use roaring;

pub use corpus::{Backups, Corpus, CorpusOptions, CorpusWriter};
pub use epoch::Recipe;
pub use ingest::{IngestOptions, IngestReport};
pub use model::near_names;
pub use model::show;
pub use model::text_file;
pub use model::{
    Context, DedupMode, DocId, Error, ErrorDetails, ErrorKind, FieldKind, Hint, Interrupt,
    Interrupted, IoError, NamedKind, NoProgress, Policy, Progress, ProgressTally, is_panic_caught,
    parse_bytes, parse_share,
};
pub use workflow::{
    Dependents, LostDocument, OutputHolder, RepairReport, RowPlace, SalvageReport, SnapshotHolder,
    UndoReport, WhoReport,
};
