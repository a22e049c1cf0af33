//! The store: the only code that names RocksDB.
//!
//! Use it to read rows one by one where a query would be a detour: [`Corpus::view`](crate::Corpus::view) gives a
//! [`View`], one committed moment. The records of sources, commits, snapshots, tokenizers and plans are here, the
//! faults that a check finds, and the reasons for which a corpus cannot be opened ([`StoreError`]).
//!
//! ```
//! use corpusdb::store::CheckDepth;
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
//! let view = corpus.view();
//! for row in view.headers(0..view.documents())? {
//!     let (document, header) = row?;
//!     assert_eq!(header.bytes, view.text(document)?.len() as u64);
//! }
//! assert!(corpus.check(CheckDepth::Quick, &Context::new())?.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! Inside, each room imports only those before it: `bytes` is how rows look, `database` RocksDB, `files` journal, logs
//! and places, `index` the index of buckets, `view` reading, `batch` one commit; `documents`, `decisions` and `records`
//! have a file for each family, which [`table`] lists (`docs/reference/format.md` has their bytes); `opening` makes a
//! corpus and its writer, `damaged` opens what is whole of one, `backup` takes a moment and makes a corpus of one, `check` proves it all.

pub(crate) mod backup;
mod batch;
mod bytes;
mod check;
mod damaged;
mod database;
mod decisions;
mod documents;
mod error;
mod files;
mod index;
mod meta;
mod migrate;
mod opening;
mod reading;
mod records;
#[cfg(any(test, feature = "generated"))]
mod synthetic;
pub(crate) mod system_fields;
pub mod table;
mod view;
mod writer;

pub use backup::{BackupReport, DropBackupReport, VerifyBackupsReport};
pub(crate) use batch::CommitBatch;
pub(crate) use bytes::key::{BlockKind, TextKind};
pub(crate) use bytes::number_block::{NumberBlock, NumberBlockRef, NumberOffsets};
pub use bytes::output::{OutputBatches, OutputKind, OutputRecord};
pub use bytes::record::{
    CommitRecord, EpochRecord, FieldRecord, FieldState, OriginalFile, RejectRecord, SnapshotRecord,
    SourceRecord, StoreState, SuiteRecord, TokenizerRecord,
};
pub(crate) use bytes::record::{FileRecord, REDACTED, RedoRecord, RepairRecord, VerbRecord};
pub(crate) use check::walk::AnyRow as StoredRow;
pub use check::{CheckDepth, CheckFault, LostRows};
pub(crate) use check::{RepairStart, begin_repair, check, digest, ranges};
pub(crate) use damaged::{DamagedCorpus, mend_files, read_damaged};
#[cfg(test)]
pub(crate) use database::counted;
pub(crate) use database::tuning::MemoryBudget;
pub(crate) use decisions::blocks::block_hashes;
pub(crate) use decisions::generations::SourceTotals;
pub(crate) use decisions::lineage::{LineageRoots, TOO_MANY_ROOTS};
pub use decisions::matches::MatchIter;
pub(crate) use documents::erase::Erasure;
pub(crate) use documents::fields::{
    check_column_name, check_keep_order, declaration, declare_field, declare_fields,
};
pub use documents::headers::DocumentRecord;
pub(crate) use documents::headers::{NewDocument, key_at};
pub(crate) use documents::indexed_values::{IndexedValues, indexed};
pub(crate) use documents::metadata::with_fields;
pub(crate) use documents::numbers::NumberBlockHandle;
pub(crate) use documents::postings::BlockStandings;
pub use documents::tokens::TokenIdsRef;
pub use error::StoreError;
pub use files::backup_manifest::{BackupFault, BackupFile, BackupRecord};
pub(crate) use files::backup_place::{BackupFolder, BackupPlace, Fill};
pub(crate) use files::directory::WriterLock;
pub use files::scratch::DryRunCorpus;
pub(crate) use index::{BandBucket, BucketJoin};
pub use migrate::current as format_version;
pub use model::{CommitSeq, FieldDeclaration, LossSpan, SourceId, TextForm, TokenizerId};
pub(crate) use opening::create;
pub(crate) use reading::{OpenedJournal, journal_bytes, read};
pub use records::commits::TemplateRecord;
pub(crate) use records::contamination::VerdictSubject;
pub(crate) use records::plans::MarksRecord;
pub use records::rejects::RejectIter;
pub(crate) use records::rejects::RejectNovelty;
pub use records::removals::PendingPurge;
pub(crate) use records::removals::{PurgeTrace, TracePart, TraceRun};
pub(crate) use records::sources::lost_name;
pub(crate) use records::tokenizers::TokenizerFiles;
pub use view::View;
pub(crate) use writer::{LiveTable, StoreWriter};
