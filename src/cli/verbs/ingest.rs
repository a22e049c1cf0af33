//! `corpusdb ingest` and `bulk-load`: bring files, or a load with its decisions, into a corpus.

use crate::cli::columns::shown_path;
use crate::cli::output::{ALARM, Output};
use crate::cli::session::stores;
use crate::cli::verb::{DryRun, ExitStatus, PythonMethod, Report, Verb, VerbCall};
use corpusdb::curate::RefusedTexts;
use corpusdb::ingest::{
    Alarm, FieldMisfits, FileTally, LeftRole, LoadOptions, LoadReport, ReadOptions,
    RecordFormOptions, SkippedContent, misfit_words,
};
use corpusdb::show::{count, number, size};
use corpusdb::tokenizer::EngineTexts;
use corpusdb::{CorpusWriter, IngestOptions, IngestReport, parse_bytes};
use serde::Serialize;
use std::collections::BTreeMap;

/// Files named for each reason, at most.
const NAMED: usize = 3;

/// Ingest files: remove duplicates, encode, index and commit.
///
/// Known records are skipped.
#[derive(clap::Args)]
pub(in crate::cli) struct IngestArgs {
    /// Files, directories (recursive), patterns, or `-` for standard input, also in stores (s3://, gs://, az://, https://).
    ///
    /// Compression is recognised by content.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    #[command(flatten)]
    settings: IngestSettings,
    /// End with exit code 1 when the report has an alarm; ingested documents stay.
    #[arg(long, help_heading = "What comes in")]
    strict: bool,
}

/// How records are ingested, from files of the command as well as records and tables of Python.
#[derive(clap::Args)]
pub struct IngestSettings {
    #[command(flatten)]
    options: IngestOptions,
    #[command(flatten)]
    form: RecordFormOptions,
    /// Bytes of text per commit; it changes no decision. By default 1/256 of the memory, 4 MiB to 16 MiB.
    ///
    /// Batches after which many stored documents must be decided again are committed together.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "What comes in")]
    batch_bytes: Option<u64>,
}

impl IngestSettings {
    /// Options for the library.
    ///
    /// # Errors
    /// A chat template that cannot be read; fields that are mapped twice.
    pub fn options(self, call: &VerbCall<'_>) -> anyhow::Result<IngestOptions> {
        let memory = call.options.memory_bytes();
        let mut options = self.options;
        options.form = self.form.form()?;
        options.batch_bytes =
            self.batch_bytes.unwrap_or_else(|| IngestOptions::batch_bytes_within(memory));
        options.read.max_batch_bytes = ReadOptions::max_batch_bytes_within(memory);
        options.read.stores = stores();
        for (ours, theirs) in std::mem::take(&mut options.read.renamed) {
            options
                .read
                .map_field(&ours, &theirs)
                .map_err(|why| anyhow::anyhow!("`map=` {why}"))?;
        }
        Ok(options)
    }
}

/// What an ingest did, and whether its alarms are failures.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "IngestReport")]
pub(in crate::cli) struct IngestAnswer {
    #[serde(flatten)]
    report: IngestReport,
    #[serde(skip)]
    strict: bool,
}

impl Verb for IngestArgs {
    const PATH: &str = "ingest";
    const PYTHON: PythonMethod =
        PythonMethod::Mixed("Writer.ingest", &["paths", "strict", "dry_run", "source"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb ingest crawl pages.jsonl.zst --source web",
        "corpusdb ingest crawl 'dump/*.parquet' --source books --text-field body --id-field isbn",
        "corpusdb ingest crawl reviews.csv --source reviews --text-field review",
        "corpusdb ingest crawl sentences.txt --source sentences --text-by line",
        "corpusdb ingest crawl all.arrow --source rest --map text=body,id=url,source=origin",
        "corpusdb ingest crawl scored.parquet --source web --where \"score > 0.5 AND lang = 'de'\"",
        "zcat old.gz | corpusdb ingest crawl - --source old",
        "corpusdb ingest sft chats.jsonl --source chats --chat messages --chat-template Qwen3/",
        "corpusdb ingest sft alpaca.parquet --source alpaca --chat alpaca",
        "corpusdb ingest sft ids.jsonl --source ids --pretokenized gpt2",
        "corpusdb ingest crawl notes/ --source notes --format text --decisions decisions.jsonl",
    ];
    const NOTES: &str = "\
After an interrupt run the same command again: it continues where it stopped.
The content ingested last under an id wins, even if an old file is ingested again after a newer one.
The answer says what came of the records read, then what else there is; what is 0 is left out. `--json` has all.
Exit code 1 when nothing could be read, or a file is damaged, and with --strict when there is an alarm.";
    const DRY_RUN: DryRun = DryRun::Copy;
    type On = CorpusWriter;
    type Report = IngestAnswer;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let options = self.settings.options(call)?;
        let report = writer.ingest(&self.paths, &options, &call.context)?;
        Ok(IngestAnswer { report, strict: self.strict })
    }
}

impl Report for IngestAnswer {
    const TYPE: &'static str = "ingest";

    fn print(&self, out: &mut Output) {
        print_ingest(&self.report, out);
    }

    fn status(&self) -> ExitStatus {
        let is_bad = |alarm: &Alarm| {
            self.strict || matches!(alarm, Alarm::AllRejected { .. } | Alarm::DamagedFiles { .. })
        };
        ExitStatus::of(!self.report.alarms.iter().any(is_bad))
    }
}

/// Import documents with the decisions that corpusdb.spark made.
///
/// Nothing is decided again.
#[derive(clap::Args)]
pub(in crate::cli) struct BulkLoadArgs {
    /// The load: a directory, also in a store (s3://, gs://, az://).
    #[arg(value_name = "DIR")]
    directory: String,
    /// Compare every removed document with its witness, and recompute all token ids. By default one document in 64 is
    /// checked.
    #[arg(long)]
    check: bool,
    /// The shard of the load that this corpus imports, counted from 0.
    #[arg(long, value_name = "N")]
    shard: Option<u32>,
    /// Bytes of text per commit. By default 1/256 of the memory, 4 MiB to 16 MiB.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    batch_bytes: Option<u64>,
}

impl Verb for BulkLoadArgs {
    const PATH: &str = "bulk-load";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Writer.bulk_load", &["directory", "check"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb bulk-load crawl s3://crawl/load-2026",
        "corpusdb bulk-load crawl load-2026 --check",
        "corpusdb bulk-load crawl-3 s3://crawl/load-2026 --shard 3",
    ];
    const NOTES: &str = "\
DIR is the directory that corpusdb.spark.write_load wrote. The corpus must have the policy with which the
documents were decided, and no other documents than those against which they were decided. After an
interrupt run the same command again: it continues where it stopped.";
    const DRY_RUN: DryRun = DryRun::Copy;
    type On = CorpusWriter;
    type Report = LoadReport;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let memory = call.options.memory_bytes();
        let options = LoadOptions {
            batch_bytes: self
                .batch_bytes
                .unwrap_or_else(|| IngestOptions::batch_bytes_within(memory)),
            check_all: self.check,
            shard: self.shard,
            stores: stores(),
        };
        Ok(writer.bulk_load(&self.directory, &options, &call.context)?)
    }
}

impl Report for LoadReport {
    const TYPE: &'static str = "bulk-load";

    fn print(&self, out: &mut Output) {
        print_ingest(&self.ingest, out);
        let checked = counts(&[
            (self.compared, "removed documents compared with their witnesses"),
            (self.later, "came before theirs"),
            (self.brought, "texts came with their token ids"),
        ]);
        if !checked.is_empty() {
            out.line(format!("  {checked}"));
        }
    }
}

/// The report for people: what came of the records, then what there is beside, each only where it is.
pub(super) fn print_ingest(report: &IngestReport, out: &mut Output) {
    let n = number;
    let would = if out.is_dry_run() { "would be " } else { "" };
    let [kept, exact, near, empty] =
        [report.kept, report.exact_duplicates, report.near_duplicates, report.empty];
    let others = report.added.saturating_sub(kept + exact + near + empty);
    let added = counts(&[
        (kept, "kept"),
        (exact, "exact"),
        (near, "near"),
        (empty, "empty"),
        (others, "superseded or blocked"),
    ]);
    let added = if added.is_empty() { "nothing new".to_owned() } else { would.to_owned() + &added };
    out.line(format!(
        "{}  {}, {} in {:.1} s: {added}",
        report.source,
        count(report.read, "record", "records"),
        size(report.bytes),
        report.seconds
    ));
    let tokens = report.tokens.iter().filter(|(_, tokens)| **tokens > 0);
    let mut beside: Vec<String> =
        tokens.map(|(name, tokens)| format!("{} tokens of {name}", n(*tokens))).collect();
    beside.extend((report.updated > 0).then(|| count(report.updated, "update", "updates")));
    let unread = match report.unchanged_unread {
        0 => String::new(),
        unread => format!(" ({} not read again)", n(unread)),
    };
    if report.unchanged > 0 {
        beside.push(format!("{} unchanged{unread}", n(report.unchanged)));
    }
    let rejected =
        counts(&[(report.rejected, "rejected"), (report.rejected_before, "rejected before")]);
    let listed = if out.is_dry_run() { "" } else { " (`corpusdb rejects` lists them)" };
    if !rejected.is_empty() {
        beside.push(rejected + listed);
    }
    if !beside.is_empty() {
        out.line(format!("  {}", beside.join(", ")));
    }
    print_left_files(&report.files, out);
    if report.rejects_settled > 0 {
        let settled = n(report.rejects_settled);
        out.line(format!(
            "  {settled} earlier rejects deleted: their records can be read now, are passed over or are gone"
        ));
    }
    for (count, what) in [
        (report.purged, "not stored: their texts or keys were purged"),
        (
            report.not_finite,
            "values that JSON cannot represent (NaN, Infinity, moments that no calendar has) are null",
        ),
        (report.filtered, "skipped by --where"),
    ] {
        if count > 0 {
            out.line(format!("  {} {what}", n(count)));
        }
    }
    print_skipped(report.passed, out);
    print_name_rows(report.files.name_rows, report.files.first_name_row.as_deref(), out);
    print_misfits(&report.misfits, out);
    for name in report.tokens.keys() {
        for (special, documents) in report.special_tokens_in_text.get(name).into_iter().flatten() {
            let documents = n(*documents);
            out.line(format!("  {documents} documents spell {special} of {name}: encoded as text"));
        }
        if let Some(refused) = report.refused.get(name) {
            print_refused(name, refused, out);
        }
        report.engines.get(name).into_iter().for_each(|engines| print_engines(engines, out));
    }
    for alarm in &report.alarms {
        let words = match out.is_dry_run() {
            true => alarm.words_of_dry_run(),
            false => alarm.to_string(),
        };
        out.note(format!("{ALARM} {words}"));
    }
    out.capped(report.dedup.capped);
}

/// Counts with their words, without those of nothing.
fn counts(of: &[(u64, &str)]) -> String {
    let some = of.iter().filter(|(count, _)| *count > 0);
    some.map(|(count, word)| format!("{} {word}", number(*count))).collect::<Vec<_>>().join(", ")
}

/// Prints the numbers of records of web archives that were skipped.
fn print_skipped(passed: SkippedContent, out: &mut Output) {
    let n = number;
    let SkippedContent { html, gone, older, partial, other } = passed;
    if gone > 0 {
        out.line(format!(
            "  {} responses say that their page is gone (404, 410): `corpusdb remove` removes a stored version",
            n(gone)
        ));
    }
    if older > 0 {
        let older = n(older);
        out.line(format!(
            "  {older} captures are older than the stored one of their address, which stays"
        ));
    }
    if partial > 0 {
        let partial = n(partial);
        out.line(format!(
            "  {partial} parts of pages in web archives skipped (206 Partial Content, continuation records)"
        ));
    }
    let skipped = counts(&[(html, "HTML pages"), (other, "other contents")]);
    if !skipped.is_empty() {
        out.line(format!("  {skipped} of web archives skipped"));
    }
}

/// Counts of rows of tables that repeat the header.
pub(in crate::cli) fn print_name_rows(rows: u64, first: Option<&str>, out: &mut Output) {
    if rows > 0 {
        let first = first.map_or_else(String::new, |first| format!(" (the first: {first})"));
        out.line(format!(
            "  {} skipped{first}",
            count(rows, "row that repeats the row of names", "rows that repeat the row of names")
        ));
    }
}

/// Prints the numbers of files that were read and, by reason, skipped. Damaged ones are an alarm besides.
fn print_left_files(files: &FileTally, out: &mut Output) {
    let n = number;
    if files.left == 0 {
        return;
    }
    let of = [(files.read, "read"), (files.unchanged, "unchanged"), (files.left, "skipped")];
    out.line(format!("  {} files: {}", n(files.seen), counts(&of)));
    let mut reasons: BTreeMap<(LeftRole, &str), Vec<&str>> = BTreeMap::new();
    for file in &files.left_files {
        reasons.entry((file.role, file.why.as_str())).or_default().push(&file.path);
    }
    for ((_, why), paths) in reasons {
        let more = paths.len().saturating_sub(NAMED);
        let named = paths.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {} more", n(more as u64)) } else { String::new() };
        out.line(format!("    {named}{more}: {why}"));
    }
}

/// Values that the types of their fields cannot hold, a line for each field.
pub(in crate::cli) fn print_misfits(misfits: &BTreeMap<String, FieldMisfits>, out: &mut Output) {
    for (field, misfits) in misfits {
        let FieldMisfits { example, file, record, .. } = misfits;
        out.line(format!(
            "  {}, e.g. {example} ({file}: record {record}, counted from 0)",
            misfit_words(field, misfits.kind, misfits.misfits, misfits.values),
            file = shown_path(file)
        ));
    }
}

/// Prints how many texts the slow encoder took, and why; nothing if the fast one took all.
pub(in crate::cli) fn print_engines(engines: &EngineTexts, out: &mut Output) {
    let (slow, all) = (engines.reference, engines.reference + engines.fast);
    if slow > 0 {
        let (slow, all) = (number(slow), number(all));
        out.line(format!(
            "    {slow} of {all} texts went to the reference encoder, which is slower"
        ));
    }
    for (reason, texts) in &engines.declined {
        out.line(format!("      {}: {reason}", number(*texts)));
    }
}

/// Prints how many documents have no ids of a tokenizer, if some have none.
pub(in crate::cli) fn print_refused(tokenizer: &str, refused: &RefusedTexts, out: &mut Output) {
    let Some(first) = refused.first else { return };
    out.line(format!(
        "    {} documents have no tokens: {tokenizer} cannot encode them; the first is document {first}: {}",
        number(refused.documents),
        refused.why
    ));
}
