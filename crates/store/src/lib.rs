//! The store: records and indexes of a corpus on RocksDB, which no other package names.
//!
//! Inside, each room imports only those before it: `bytes` is how rows look, `database` RocksDB, `files` journal, logs
//! and places, `index` the index of buckets, `view` reading, `batch` one commit; `documents`, `decisions` and `records`
//! have a file for each family, which [`table`] lists (`docs/reference/format.md` has their bytes); `opening` makes a
//! corpus and its writer, `damaged` opens what is whole of one, `backup` takes a moment and makes a corpus of one, `check` proves it all.
//!
//! A family is declared in its own file, which also adds the reading and writing of its rows to `View` and
//! `CommitBatch`: these name no family themselves. Reads are by kind of row (`RowKind`), a type with its key and its
//! value; a family with several kinds lists them where it is declared. `meta` is the family of charter and state,
//! `migrate` climbs the steps of `migrations/`, and `reading` opens a reader beside a writer.

pub mod backup;
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
mod synthetic;
pub mod system_fields;
pub mod table;
mod view;
mod writer;

pub use backup::{BackupReport, DropBackupReport, VerifyBackupsReport};
pub use batch::CommitBatch;
pub use bytes::grid_page::GridPage;
pub use bytes::grid_rows::{
    DocumentPlace, DocumentPrint, GridRow, IdPage, id_pieces, ids_of_piece, sketch_at, sketch_page,
    sketches_of_page,
};
pub use bytes::key::{BlockKind, TextKind};
pub use bytes::number_block::{NumberBlock, NumberBlockRef, NumberOffsets};
pub use bytes::output::{OutputBatches, OutputKind, OutputRecord};
pub use bytes::page::{PageCodec, PageDecoder, PageEncoder, StringColumn, StringPage};
pub use bytes::page_cutter::PageCutter;
pub use bytes::record::{
    CommitRecord, EpochRecord, FieldRecord, FieldState, FileRecord, OriginalFile, REDACTED,
    RedoRecord, RejectRecord, RepairRecord, SnapshotRecord, SourceRecord, StoreState, SuiteRecord,
    TokenizerRecord, VerbRecord,
};
pub use check::walk::AnyRow as StoredRow;
pub use check::{
    CheckDepth, CheckFault, LostRows, RepairStart, begin_repair, check, digest, ranges,
};
pub use damaged::{DamagedCorpus, mend_files, read_damaged};
#[doc(hidden)]
pub use database::counted;
pub use database::tuning::MemoryBudget;
pub use decisions::blocks::block_hashes;
pub use decisions::generations::SourceTotals;
pub use decisions::lineage::{LineageRoots, TOO_MANY_ROOTS};
pub use decisions::matches::MatchIter;
pub use documents::document::{DocumentRecord, NewDocument, key_at};
pub use documents::erase::Erasure;
pub use documents::fields::{
    check_column_name, check_keep_order, declaration, declare_field, declare_fields,
};
pub use documents::indexed_values::{IndexedValues, indexed};
pub use documents::metadata::with_fields;
pub use documents::numbers::NumberBlockHandle;
pub use documents::postings::BlockStandings;
pub use documents::tokens::TokenIdsRef;
pub use error::StoreError;
pub use files::backup_manifest::{BackupFault, BackupFile, BackupRecord};
pub use files::backup_place::{BackupFolder, BackupPlace, Fill, PlaceEntry};
pub use files::directory::WriterLock;
pub use files::scratch::DryRunCorpus;
pub use index::{BandBucket, BucketJoin, band_filter_bytes};
pub use migrate::current as format_version;
pub use model::{CommitSeq, FieldDeclaration, LossSpan, SourceId, TextForm, TokenizerId};
pub use opening::{conversion_note, create};
pub use reading::{OpenedJournal, journal_bytes, read};
pub use records::commits::TemplateRecord;
pub use records::contamination::VerdictSubject;
pub use records::plans::MarksRecord;
pub use records::rejects::{RejectIter, RejectNovelty};
pub use records::removals::{PendingPurge, PurgeTrace, TracePart, TraceRun};
pub use records::sources::lost_name;
pub use records::tokenizers::{TokenizerFiles, draw_name};
pub use view::View;
pub use writer::{LiveTable, StoreWriter};

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
