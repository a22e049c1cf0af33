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
//! for row in view.keys(0..view.documents())? {
//!     let (document, key) = row?;
//!     assert_eq!(key, Some(document.to_string()));
//! }
//! assert!(corpus.check(CheckDepth::Quick, &Context::new())?.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! An error of a handle says which of these it was, for programs that need more than its kind:
//!
//! ```
//! use corpusdb::store::StoreError;
//! use corpusdb::{Corpus, ErrorKind};
//!
//! let error = Corpus::open("/nowhere").unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::NotFound);
//! assert!(matches!(error.origin(), Some(StoreError::NotACorpus { taken: false, .. })));
//! ```

#[doc(inline)]
pub use store::table;
#[doc(inline)]
pub use store::{
    BackupFault, BackupFile, BackupRecord, BackupReport, CheckDepth, CheckFault, CommitRecord,
    CommitSeq, DocumentPlace, DocumentPrint, DocumentRecord, DropBackupReport, DryRunCorpus,
    EpochRecord, FieldDeclaration, FieldRecord, FieldState, LossSpan, LostRows, MatchIter,
    OriginalFile, OutputBatches, OutputKind, OutputRecord, PendingPurge, RejectIter, RejectRecord,
    SnapshotRecord, SourceId, SourceRecord, StoreError, StoreState, SuiteRecord, TemplateRecord,
    TextForm, TokenIdsRef, TokenizerId, TokenizerRecord, VerifyBackupsReport, View,
    conversion_note, format_version,
};
