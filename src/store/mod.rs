//! The store: the only code that names RocksDB.
//!
//! Use it to read rows one by one where a query would be a detour: [`Corpus::view`](crate::Corpus::view) gives a
//! [`View`], one committed moment. The records of sources, commits, snapshots, tokenizers and plans are here, the
//! faults that a check finds, and the reasons for which a corpus cannot be opened ([`StoreError`]).
//!
//! ```
//! use corpusdb::store::Depth;
//!
//! # use corpusdb::ingest::{Record, Records};
//! # use corpusdb::{Context, Corpus, DedupMode, IngestOptions, NoProgress, Policy};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("corpus");
//! # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
//! # let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path)?;
//! # let page = |n: u32| Record::new(format!("page {n} of {n} pages")).with_key(n.to_string());
//! # let (pages, options) = (Records::new("pages", (0..3).map(page)), IngestOptions::new("web"));
//! # writer.ingest_records(pages, &options, &[], &Context::new())?;
//! let corpus = writer.corpus();
//! let view = corpus.view();
//! for row in view.headers(0..view.documents())? {
//!     let (document, header) = row?;
//!     assert_eq!(header.bytes, view.text(document)?.len() as u64);
//! }
//! assert!(corpus.check(Depth::Quick, &NoProgress)?.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! Inside, each room imports only those before it: `rows` is bytes, [`columns`] the table of families
//! (`docs/reference/format.md` has their bytes), `database` RocksDB, `files` journal, logs and places, `bands` the
//! index of buckets, `view` reading, `opening` makes a corpus and its writer, `batch` is one commit, `topics` reads
//! and writes what has rows of its own, `check` proves it all.

mod bands;
mod batch;
mod check;
pub mod columns;
mod database;
mod error;
pub(crate) mod fields;
mod files;
mod migrate;
mod opening;
mod rows;
mod topics;
mod view;

pub use crate::model::{CommitSeq, FieldDeclaration, LossSpan, SourceId, TextForm, TokenizerId};
pub(crate) use bands::{Bucket, BucketJoin};
pub(crate) use batch::{Batch, Erased, NewDocument, RejectNovelty, with_fields};
pub use check::{Depth, Fault};
pub(crate) use check::{check, digest};
#[cfg(test)]
pub(crate) use database::counted;
pub(crate) use database::tuning::Memory;
pub use error::StoreError;
pub(crate) use files::directory::Lock;
pub use files::twin::Twin;
pub use migrate::current as format_version;
pub(crate) use opening::{
    Writer, check_column_name, check_keep_order, create, declare_field, declare_fields,
    last_commit, read,
};
pub use rows::header::Header;
pub(crate) use rows::indexed::{Indexed, indexed};
pub(crate) use rows::kinds::{Blocked, TextKind};
pub(crate) use rows::marks::MarksRecord;
pub(crate) use rows::numbers::ColumnBlock;
pub use rows::records::{
    CommitRecord, EpochRecord, FieldRecord, FieldState, OriginalFile, RejectRecord, SnapshotRecord,
    SourceRecord, State, TokenizerRecord,
};
pub(crate) use rows::records::{FileRecord, REDACTED, RedoRecord};
pub(crate) use rows::removals::{HashedRun, RunOf, Trace};
pub use rows::suites::SuiteRecord;
pub(crate) use rows::values::{ColumnValues, Offsets};
pub use topics::TemplateRecord;
pub use topics::UnendedPurge;
pub(crate) use topics::{
    MANY, Roots, Stored as StoredRow, TextAndItem, TokenizerParts, Totals, block_hashes,
};
pub(crate) use view::declaration;
pub(crate) use view::{BlockStandings, StoredColumn, key_at};
pub use view::{MatchedDocuments, Rejected, StoredIds, View};
