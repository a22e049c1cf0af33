//! Reports on a corpus: what it holds, one document, samples, duplicates, contamination, snapshots, statistics, the card.
//!
//! Use it to name what methods of [`Corpus`](crate::Corpus) return. What dedup removed, and the stored documents most
//! similar to a text that is not stored:
//!
//! ```
//! use corpusdb::inspect::{SimilarOptions, SimilarTo};
//!
//! # use corpusdb::ingest::{Record, Records};
//! # use corpusdb::{Context, Corpus, DedupMode, IngestOptions, Policy};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("corpus");
//! # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
//! # let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path)?;
//! # let page = |n: u32| Record::new((0..20).map(|at| format!("w{} ", at * n)).collect::<String>()).with_key(n.to_string());
//! # let (pages, options) = (Records::new("pages", (0..3).map(page)), IngestOptions::new("web"));
//! # writer.ingest(pages, &options, &Context::new())?;
//! let corpus = writer.corpus();
//! let text: String = (0..21).map(|at| format!("W{} ", at * 2)).collect();
//! let report = corpus.similar(SimilarTo::Text(&text), &SimilarOptions::default())?;
//! let found = &report.found[0];
//! assert_eq!((found.key.as_str(), found.jaccard, found.duplicate), ("2", 16.0 / 17.0, true));
//! # Ok(())
//! # }
//! ```
//!
//! The report that a data card shows, [`Corpus::report`](crate::Corpus::report):
//!
//! ```
//! use corpusdb::inspect::ReportOptions;
//!
//! # use corpusdb::ingest::{Record, Records};
//! # use corpusdb::{Context, Corpus, DedupMode, IngestOptions, Policy};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("corpus");
//! # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
//! # let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path)?;
//! # let page = |n: u32| Record::new(format!("page {n} of {n} pages")).with_key(format!("https://a.example/{n}"));
//! # let (pages, options) = (Records::new("pages", (0..3).map(page)), IngestOptions::new("web"));
//! # writer.ingest(pages, &options, &Context::new())?;
//! let report = writer.corpus().report(&ReportOptions::default(), &Context::new())?;
//! assert_eq!((report.sizes.kept.documents, report.domains.top[0].documents), (3, 3));
//! # Ok(())
//! # }
//! ```
//!
//! `duplicates` is what dedup did, pair by pair, by cluster and in numbers; `snapshots` is what named moments hold and
//! what changed between them (both count by `groups`); `contamination` has items of suites in numbers; `stats` is a corpus
//! in numbers, `domains`, `provenance` and `timeline` say where its documents are from and how they came; `selection`
//! counts what a condition selects; `show`, `sample` and `info` look at one document, at some, and at all; `card` gathers
//! the report. Nothing here writes, and all of it reads one [`View`](crate::store::View).

mod card;
pub(crate) mod contamination;
mod counts;
mod document;
mod domains;
pub(crate) mod duplicates;
mod error;
mod facade;
mod fields;
mod forecast;
mod groups;
mod info;
mod misfits;
mod policy_settings;
mod provenance;
mod sample;
mod selection;
mod snapshots;
mod stats;
#[cfg(test)]
mod tests;

pub use card::{
    CardOverview, CardSizes, CardSpreads, CardSuite, ContaminationReport, CorpusReport,
    DuplicatesReport, Largest, OmittedPart, PlanReport, Provenance, ReportCluster, ReportOptions,
    SampledDocument, SourceMatrix, is_programming_language,
};
pub use contamination::{
    CheckedText, CheckedTexts, ReviewOptions, ReviewPair, ReviewPart, SourceCount,
    SuiteContamination, SuiteSummary,
};
pub use counts::DocumentCounts;
pub use document::{
    DocumentCluster, DocumentDetails, DocumentDetailsIter, DocumentMatch, DocumentTemplate,
};
pub(crate) use document::{documents, show};
pub(crate) use domains::domains;
pub use domains::{DomainStats, Domains};
pub use duplicates::{
    CandidateSample, ClosePair, ClusterMembers, ClusterSizes, ClusterSource, DedupExplanation,
    DedupSweep, DetectionLine, DiffPart, DocumentBlocker, DocumentDuplicates, DuplicatesMatrix,
    DuplicatesOptions, DuplicatesSummary, ExamplePair, FamilyBytes, GroupLoss, GroupPair,
    LargeCluster, LossShare, PairShare, PolicyChange, RemovedCount, SimilarDocument,
    SimilarOptions, SimilarReport, SimilarTo, Similarities, SimilarityBin, SimilarityQuartiles,
    SourceLoss, SourcePair, StoredBytes, SweepLine, SweepOptions, SweepRemovals, explain_policy,
};
pub(crate) use duplicates::{
    diff, diff_near, document_duplicates, duplicates_matrix, duplicates_summary, explain_dedup,
    similar,
};
pub use error::InspectError;
pub use fields::{FieldSummary, SignalSummary};
pub(crate) use fields::{fields, signals};
pub(crate) use forecast::forecast;
pub use forecast::{FamilyForecast, FamilyGrowth, Forecast, HoursForecast, MemoryNeed};
pub(crate) use info::info;
pub use info::{
    CommitInfo, CorpusInfo, DiskInfo, EpochInfo, FieldInfo, SourceInfo, StandingCount, SuiteInfo,
    TokenizerInfo,
};
pub use misfits::MisfitExample;
pub use policy_settings::{PolicySetting, policy_settings};
pub use provenance::{CommitStretch, Timeline};
pub use provenance::{DateRange, LicenceCount};
pub(crate) use provenance::{provenance, timeline};
pub(crate) use sample::sample_of;
pub use selection::Selection;
pub(crate) use selection::selection;
pub use snapshots::{
    ChangedDocument, ChangedDocuments, GroupChanges, LossCounts, SnapshotChanges, SnapshotDetails,
    SnapshotDiff, SnapshotInfo, SnapshotSource,
};
pub(crate) use snapshots::{show_snapshot, snapshot_changes, snapshot_diff};
pub use stats::{
    ColumnStats, DocumentLengthBin, GroupStats, LengthStats, LossStats, MisfitStats,
    QualityExample, QualityOptions, QualityReport, QualityRule, QualityScore, QualitySource,
    QualityThreshold, RejectReasonGroup, RejectStats, SourceLengths, SourceSpread, Stats,
    StatsValue,
};
pub(crate) use stats::{
    SourceLanguageCounts, group_counts, lengths, quality, reject_reasons, spread_by_source, stats,
};
