//! The verbs, one file a family, and the table: everything that is said of a verb follows from its row.

mod check;
mod dedup;
mod documents;
mod duplicates;
mod duplicates_text;
mod export;
mod field;
mod info;
pub(super) mod ingest;
mod init;
mod reference;
mod remove;
mod report;
mod shell;
mod shell_editor;
mod shell_input;
mod similar;
mod sql;
mod sql_answer;
mod stats;
mod tokenizer;
mod tokenizer_analyse;
mod tokenizer_train;

use super::verb::{VerbEntry, entry};

/// All verbs, in the order of the help.
pub static VERBS: &[VerbEntry] = &[
    entry::<init::InitArgs>(),
    entry::<ingest::IngestArgs>(),
    entry::<ingest::BulkLoadArgs>(),
    entry::<documents::RejectsArgs>(),
    entry::<documents::RejectsDropArgs>(),
    entry::<info::InfoArgs>(),
    entry::<stats::StatsArgs>(),
    entry::<report::ReportArgs>(),
    entry::<documents::CountArgs>(),
    entry::<sql::SqlArgs>(),
    entry::<documents::SampleArgs>(),
    entry::<documents::ShowArgs>(),
    entry::<duplicates::DuplicatesArgs>(),
    entry::<similar::SimilarArgs>(),
    entry::<dedup::DedupExplainArgs>(),
    entry::<dedup::DedupRedoArgs>(),
    entry::<dedup::DedupSettleArgs>(),
    entry::<remove::RemoveArgs>(),
    entry::<remove::PurgeArgs>(),
    entry::<remove::RestoreArgs>(),
    entry::<tokenizer::TokenizerAddArgs>(),
    entry::<tokenizer_train::TokenizerTrainArgs>(),
    entry::<tokenizer_train::TokenizerExtendArgs>(),
    entry::<tokenizer::TokenizerDiffArgs>(),
    entry::<tokenizer_analyse::TokenizerAnalyseArgs>(),
    entry::<tokenizer::TokenizerCheckArgs>(),
    entry::<tokenizer::TokenizerExportArgs>(),
    entry::<tokenizer::TokenizerBackfillArgs>(),
    entry::<tokenizer::TokenizerDropArgs>(),
    entry::<tokenizer::TokenizerListArgs>(),
    entry::<tokenizer::TokenizerShowArgs>(),
    entry::<tokenizer::TokenizerEncodeArgs>(),
    entry::<tokenizer::TokenizerDecodeArgs>(),
    entry::<field::FieldAddArgs>(),
    entry::<field::FieldSetArgs>(),
    entry::<field::FieldComputeArgs>(),
    entry::<field::FieldDropArgs>(),
    entry::<field::FieldListArgs>(),
    entry::<export::ExportArgs>(),
    entry::<check::CheckArgs>(),
    entry::<check::CompactArgs>(),
    entry::<check::MigrateArgs>(),
    entry::<reference::CompletionsArgs>(),
    entry::<reference::ReferenceArgs>(),
];

/// What stands above the verbs of a family.
pub const FAMILIES: &[(&str, &str)] = &[
    ("dedup", "Say what a dedup policy comes to, or decide again under another one"),
    (
        "field",
        "Declare fields at any time, and give them values: from the metadata, from outside, from a SQL expression",
    ),
    ("tokenizer", "Register, train, extend, analyse, ask and drop tokenizers"),
];
