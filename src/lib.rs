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
//! ```
//! use corpusdb::{Corpus, CorpusWriter, DedupMode, IngestOptions, Interrupt, Policy, Silent};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("corpus");
//! let file = directory.path().join("pages.jsonl");
//! let page = "one two three four five six seven eight nine ten eleven twelve";
//! std::fs::write(&file, format!("{{\"text\":\"{page}\"}}\n{{\"text\":\"{page}!\"}}\n"))?;
//!
//! Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
//! let mut writer = CorpusWriter::open(&path, 256 << 20, 2)?;
//! let options = IngestOptions::new("web");
//! let paths = [file.display().to_string()];
//! let report = writer.ingest(&paths, &options, &[], &Silent, &Interrupt::default())?;
//! assert_eq!((report.kept, report.near_duplicates), (1, 1));
//!
//! let corpus = Corpus::open(&path, 256 << 20)?;
//! assert_eq!(corpus.count(Some("kept"))?, 1);
//! let pairs = corpus.duplicates(None, None)?;
//! assert_eq!((pairs[0].id, pairs[0].witness, pairs[0].jaccard), (1, 0, 1.0));
//! # Ok(())
//! # }
//! ```

/// The parts of a [`Recipe`], one type a table of its TOML.
pub mod recipe {
    pub use crate::epoch::{
        Batch, Buckets, Column, ColumnKind, Compression, Count, Curriculum, Exact, Holdout, Layout,
        LengthGrouped, Long, Method, Mix, Order, OrderKind, Output, Pacing, Pack, PackKind,
        PackOptions, PadSide, PadTo, PadView, Ramp, SchedulePoint, Select, Side, SourcePack,
        SourceRecipe, Specials, Tail, Target, TokenizerChoice, Unit, Window,
    };
}

mod corpus;
mod curate;
mod decide;
pub mod dedup;
mod dry_run;
mod epoch;
mod error;
mod ingest;
mod model;
mod query;
mod store;
mod tokenizer;

pub use corpus::{Added, BuildJob, Corpus, CorpusWriter, NewTokenizer};
pub use curate::{
    AnalyseOptions, Backfilled, CurateError, Grouping, RedoReport, RedoSource, RemovalReport,
    SettleReport, ShownToken, ShownTokens, TrainDecisions, TrainedOn, Training,
};
pub use decide::{Counts, DecideError, LoadedTokenizer, Reach, Refused};
pub use dry_run::DryRun;
#[cfg(feature = "generated")]
pub use epoch::measured;
pub use epoch::order::{pacing, torch};
pub use epoch::views;
pub use epoch::{
    BatchPrinter, Check, Epoch, EpochBatch, EpochError, EpochRow, EpochStream, Explanation,
    Format as OutputFormat, Fragment, Ledger, Losses, Manifest, ManifestFile, ManifestSource,
    ManifestTotals, Padding, PinnedPool, PinnedSnapshot, PinnedSource, PinnedStratum,
    PinnedTokenizer, Plan, Planned, PlannedPoint, PlannedSource, Recipe, Segment,
    SourceExplanation, SpecialIds, StreamFormat, StreamViews, Verification,
};
pub use error::Error;
pub use ingest::read::{Format, ReadError, ReadOptions};
pub use ingest::{
    Alarm, AlarmPair, ChatOptions, ChatShape, ChatTemplate, CrowdedPair, IngestError,
    IngestOptions, IngestReport, JoinBy, JoinOptions, JoinReport, OnError, RecordForm,
    SpecialInContent, StageSeconds, TemplateError, TemplateMarkers,
};
pub use model::{
    CommitSeq, Compared, DedupMode, DocId, FieldDeclaration, FieldKind, Interrupt, KeepOrder,
    LossSpan, Match, MatchKind, Normaliser, Policy, PolicyError, Profile, Progress,
    SIGNATURE_VERSION, Scope, Signature, Silent, SourceId, Standing, Tally, TextForm, TokenizerId,
    is_contained,
};
pub use query::{
    CandidateSample, ClosePair, Cluster, ClusterMembers, ClusterSizes, ClusterSource, CommitInfo,
    DedupExplanation, DetectionLine, DiffPart, DiskInfo, DocumentDuplicates, DuplicatePair,
    DuplicatesOptions, DuplicatesSummary, EpochInfo, ExamplePair, FamilyBytes, FieldInfo,
    Format as QueryFormat, Info, LargeCluster, PolicyChange, PolicySetting, Printer, QueryError,
    RemovedCount, Shown, ShownBlocker, ShownMatch, ShownTemplate, SimilarDocument, SimilarOptions,
    SimilarReport, SimilarTo, Similarities, SimilarityBin, SnapshotInfo, SourceInfo, SourceLoss,
    SourcePair, StandingCount, StoredBytes, TokenizerInfo, explain_policy, policy_settings,
};
pub use store::columns;
pub use store::{
    CommitRecord, Depth, EpochRecord, Fault, Header, OriginalFile, RejectRecord, SnapshotRecord,
    SourceRecord, State, StoreError, StoredIds, TemplateRecord, TokenizerRecord, View,
    format_version,
};
pub use tokenizer::analyse;
pub use tokenizer::{
    Backend, Case, Converted, Digits, EmbeddingMap, EmbeddingRow, Encoder, ExtendError, Extension,
    FormReport, Given, GroupReport, GrowthOptions, Library, Mass, ModelKind, NAMED_PATTERNS,
    Normalizer, Offsets, Origin, Outcome, Pattern, Piece, RoundTrip, TermForms, TermOptions,
    TermReport, Tokenizer, TokenizerCheck, TokenizerError, TrainOptions, TrainReport, Verdict,
    VocabularyDiff, convert, from_vocab_and_merges,
};
