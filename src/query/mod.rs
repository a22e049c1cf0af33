//! Reads a corpus: selections, SQL, samples, single documents, duplicates, contamination, statistics.
//!
//! Use it to name what methods of [`Corpus`](crate::Corpus) return, and to print rows as the command does
//! ([`Printer`]). What dedup did is in [`duplicates`](crate::duplicates).
//!
//! ```
//! use corpusdb::query::{PrintFormat, Printer};
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
//! let rows = corpus.sql("SELECT key, bytes FROM documents WHERE kept ORDER BY id LIMIT 2")?;
//! let mut printed = Vec::new();
//! Printer::new(PrintFormat::Csv, &mut printed).rows(rows)?;
//! assert_eq!(printed, b"key,bytes\n0,17\n1,17\n");
//! # Ok(())
//! # }
//! ```
//!
//! `sql` answers expressions and statements from the indexes and, where they do not suffice, by an engine; `duplicates`
//! is what dedup did, pair by pair, by cluster and in numbers; `snapshots` is what named moments hold and what changed
//! between them (both count by `groups`); `contamination` finds items of suites; `stats` is a corpus in numbers,
//! `domains`, `provenance` and `timeline` say where its documents are from and how they came; `selection` counts what a condition
//! selects; `show`, `sample` and `info` look at one document, at some, and at all; `format` prints. Nothing here
//! writes, and all of it reads one [`View`](crate::store::View).
//!
//! Not for ingest or dedup: they read the store's indexes themselves.

pub(crate) mod contamination;
mod document_table;
mod domains;
pub(crate) mod duplicates;
mod error;
mod facade;
mod fields;
mod filter;
mod forecast;
mod format;
mod groups;
mod info;
mod keys;
mod misfits;
mod policy_settings;
mod provenance;
mod relations;
mod sample;
mod selection;
mod show;
mod signals;
mod snapshots;
mod sql;
mod stats;
#[cfg(test)]
mod tests;
mod timeline;

pub(crate) use contamination::contaminated;
pub use contamination::{
    CheckedText, CheckedTexts, ItemEvidence, ReviewOptions, ReviewPair, ReviewPart,
    SuiteContamination, SuiteSummary, TaintedSource,
};
pub(crate) use document_table::DocumentTable;
pub(crate) use domains::domains;
pub use domains::{DomainStats, Domains};
pub use duplicates::ShownBlocker;
pub(crate) use duplicates::{
    DedupExplanation, DiffPart, DocumentDuplicates, Duplicates, DuplicatesMatrix,
    DuplicatesOptions, DuplicatesSummary, SimilarOptions, SimilarReport, SimilarTo, diff,
    diff_near, document_duplicates, duplicates, duplicates_matrix, duplicates_summary,
    explain_dedup, similar,
};
pub use error::QueryError;
pub use fields::FieldSummary;
pub(crate) use fields::fields;
pub use filter::DocumentFilter;
pub(crate) use forecast::forecast;
pub use forecast::{FamilyForecast, FamilyGrowth, Forecast, HoursForecast, MemoryNeed};
pub(crate) use format::refuse_same_names;
pub use format::{PrintFormat, Printer, has_thousands};
pub(crate) use info::info;
pub use info::{
    CommitInfo, DiskInfo, EpochInfo, FieldInfo, Info, SnapshotInfo, SourceInfo, StandingCount,
    SuiteInfo, TokenizerInfo,
};
pub(crate) use keys::find_key;
pub use misfits::MisfitExample;
pub use policy_settings::{PolicySetting, policy_settings};
pub(crate) use provenance::provenance;
pub use provenance::{DateRange, LicenceCount};
pub(crate) use sample::draw;
pub use selection::Selection;
pub(crate) use selection::selection;
pub use show::{Cluster, Shown, ShownDocuments, ShownMatch, ShownTemplate};
pub(crate) use show::{documents, show};
pub use signals::SignalSummary;
pub(crate) use signals::signals;
pub use snapshots::{
    ChangedDocument, ChangedDocuments, DocumentCounts, GroupChanges, LossCounts, SnapshotChanges,
    SnapshotDetails, SnapshotDiff, SnapshotMoment, SnapshotSource,
};
pub(crate) use snapshots::{kept_in, show_snapshot, snapshot_changes, snapshot_diff};
pub(crate) use sql::{
    Computed, Dependence, IncomingCondition, compute, declared_columns, dependence, is_of_standing,
    keyword_field, kind_of, names, names_column, numbers, resolved, select, sql, texts,
};
pub use sql::{
    Rows, Script, ScriptEnd, ScriptFault, ScriptStatement, SqlNames, SqlParameters, SqlQuery,
    SqlTableNames, SqlValue, SqlValues,
};
pub use stats::{
    ColumnStats, GroupStats, LengthBin, LengthStats, LossStats, MisfitStats, QualityExample,
    QualityOptions, QualityReport, QualityRule, QualityScore, QualitySource, QualityThreshold,
    RejectReasonGroup, RejectStats, SourceLengths, SourceSpread, Stats, StatsValue,
};
pub(crate) use stats::{
    SourceLanguageCounts, group_counts, lengths, quality, reject_reasons, spread_by_source, stats,
};
pub(crate) use timeline::timeline;
pub use timeline::{CommitStretch, Timeline};
