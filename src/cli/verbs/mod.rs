//! The table of verbs: help, reference and Python texts of a verb follow from its row; each family has a file.

mod backup;
mod check;
mod contamination;
mod contamination_evidence;
mod contamination_review;
mod dedup;
mod demo;
pub(super) mod documents;
mod duplicates;
mod duplicates_text;
mod epoch;
mod epoch_build;
mod epoch_row;
mod epoch_stream;
mod export;
pub(super) mod field;
mod info;
pub(super) mod ingest;
mod init;
mod log;
mod reference;
pub(super) mod rejects;
pub(super) mod remove;
mod report;
mod review_columns;
mod review_verdicts;
mod shell;
mod shell_editor;
mod shell_input;
mod shell_values;
mod signals;
mod signals_report;
mod similar;
mod snapshot;
mod source;
mod sql;
mod sql_answer;
mod stats;
mod tokenizer;
mod tokenizer_analyse;
mod tokenizer_export;
mod tokenizer_terms;
mod tokenizer_text;
mod tokenizer_train;
mod who;

use super::verb::{VerbEntry, entry};
use corpusdb::contamination::{ContaminationRule, SuiteFields};
use corpusdb::curate::{AnalyseOptions, WordCostOptions};
use corpusdb::dedup::{DecisionOptions, PolicySettings};
use corpusdb::epoch::StreamViews;
use corpusdb::export::ExportOptions;
use corpusdb::ingest::RecordFormOptions;
use corpusdb::inspect::ReportOptions;
use corpusdb::inspect::{QualityOptions, ReviewOptions};
use corpusdb::sql::DocumentFilter;
use corpusdb::tokenizer::TermOptions;

/// All verbs, in the order of the help.
pub static VERBS: &[VerbEntry] = &[
    entry::<init::InitArgs>().defaults_of::<PolicySettings>(),
    entry::<ingest::IngestArgs>().defaults_of::<RecordFormOptions>(),
    entry::<ingest::BulkLoadArgs>(),
    entry::<rejects::RejectsArgs>(),
    entry::<info::InfoArgs>(),
    entry::<stats::StatsArgs>().defaults_of::<DocumentFilter>(),
    entry::<report::ReportArgs>().defaults_of::<ReportOptions>(),
    entry::<documents::CountArgs>(),
    entry::<sql::SqlArgs>(),
    entry::<documents::SampleArgs>(),
    entry::<documents::ShowArgs>(),
    entry::<duplicates::DuplicatesArgs>(),
    entry::<similar::SimilarArgs>(),
    entry::<dedup::DedupExplainArgs>().defaults_of::<PolicySettings>(),
    entry::<dedup::DedupRedoArgs>().defaults_of::<DecisionOptions>(),
    entry::<dedup::DedupSettleArgs>(),
    #[cfg(test)]
    entry::<super::verb_tests::ProbeArgs>(),
    entry::<remove::RemoveArgs>(),
    entry::<remove::PurgeArgs>(),
    entry::<remove::RestoreArgs>(),
    entry::<log::LogArgs>(),
    entry::<log::UndoArgs>(),
    entry::<source::SourceRenameArgs>(),
    entry::<tokenizer::TokenizerAddArgs>(),
    entry::<tokenizer_train::TokenizerTrainArgs>().defaults_of::<tokenizer_train::TrainingChoice>(),
    entry::<tokenizer_train::TokenizerExtendArgs>().defaults_of::<TermOptions>(),
    entry::<tokenizer::TokenizerDiffArgs>(),
    entry::<tokenizer_analyse::TokenizerAnalyseArgs>().defaults_of::<AnalyseOptions>(),
    entry::<tokenizer_terms::TokenizerTermsArgs>().defaults_of::<WordCostOptions>(),
    entry::<tokenizer::TokenizerCheckArgs>(),
    entry::<tokenizer_export::TokenizerExportArgs>(),
    entry::<tokenizer::TokenizerBackfillArgs>(),
    entry::<tokenizer::TokenizerDropArgs>(),
    entry::<tokenizer::TokenizerShowArgs>(),
    entry::<tokenizer_text::TokenizerEncodeArgs>(),
    entry::<field::FieldAddArgs>(),
    entry::<field::FieldSetArgs>(),
    entry::<field::FieldComputeArgs>(),
    entry::<field::FieldDropArgs>(),
    entry::<field::FieldShowArgs>(),
    entry::<contamination::ContaminationAddArgs>().defaults_of::<SuiteFields>(),
    entry::<contamination::ContaminationCheckArgs>().defaults_of::<ContaminationRule>(),
    entry::<contamination::ContaminationShowArgs>().defaults_of::<ContaminationRule>(),
    entry::<contamination_review::ContaminationReviewArgs>().defaults_of::<ReviewOptions>(),
    entry::<contamination::ContaminationDropArgs>(),
    entry::<contamination::ContaminationReportArgs>().defaults_of::<ContaminationRule>(),
    entry::<signals::SignalsAddArgs>(),
    entry::<signals::SignalsShowArgs>(),
    entry::<signals_report::SignalsReportArgs>().defaults_of::<QualityOptions>(),
    entry::<signals::SignalsDropArgs>(),
    entry::<snapshot::SnapshotCreateArgs>(),
    entry::<snapshot::SnapshotShowArgs>(),
    entry::<snapshot::SnapshotDiffArgs>(),
    entry::<snapshot::SnapshotRenameArgs>(),
    entry::<snapshot::SnapshotDropArgs>(),
    entry::<epoch::EpochPlanArgs>(),
    entry::<epoch::EpochShowArgs>(),
    entry::<epoch_build::EpochExplainArgs>(),
    entry::<epoch_build::EpochBuildArgs>(),
    entry::<epoch_stream::EpochStreamArgs>().defaults_of::<StreamViews>(),
    entry::<epoch_row::EpochRowArgs>(),
    entry::<epoch::EpochExtendArgs>(),
    entry::<epoch::EpochDropArgs>(),
    entry::<epoch_build::EpochVerifyArgs>(),
    entry::<export::ExportArgs>().defaults_of::<ExportOptions>(),
    entry::<who::WhoArgs>(),
    entry::<backup::BackupCreateArgs>(),
    entry::<backup::BackupShowArgs>(),
    entry::<backup::BackupVerifyArgs>(),
    entry::<backup::BackupRestoreArgs>(),
    entry::<backup::BackupDropArgs>(),
    entry::<check::CheckArgs>(),
    entry::<check::CompactArgs>(),
    entry::<demo::DemoArgs>(),
    entry::<reference::CompletionsArgs>(),
    entry::<reference::ReferenceArgs>(),
];

/// The families of verbs, each with the text above its verbs.
pub const FAMILIES: &[(&str, &str)] = &[
    ("epoch", "Plan, explain, stream, build and verify packed, mixed epochs"),
    ("contamination", "Find items of evaluation suites, and keep them out of epochs"),
    ("signals", "Store quality signals as fields, and use published filters"),
    ("snapshot", "Create, show, compare, rename and drop named states"),
    ("source", "Rename sources"),
    ("backup", "Take, show, verify, restore and drop backups"),
    ("dedup", "Explain a dedup policy, or decide again under another one"),
    ("field", "Declare fields, and set their values from files or by SQL"),
    ("tokenizer", "Register, train, extend, analyse, check and use tokenizers"),
];

/// The verbs and families of the help, by what they are for.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("Begin", &["demo", "init", "ingest", "bulk-load"]),
    (
        "Look",
        &[
            "info",
            "stats",
            "count",
            "sql",
            "sample",
            "show",
            "duplicates",
            "similar",
            "rejects",
            "report",
        ],
    ),
    (
        "Choose and change",
        &[
            "dedup",
            "field",
            "signals",
            "contamination",
            "source",
            "remove",
            "restore",
            "purge",
            "who",
            "log",
            "undo",
        ],
    ),
    ("Tokenize", &["tokenizer"]),
    ("Train", &["snapshot", "epoch", "export"]),
    ("Care", &["check", "compact", "backup", "completions"]),
];

pub fn find_verb(path: &str) -> Option<&'static VerbEntry> {
    VERBS.iter().find(|row| row.path == path)
}
