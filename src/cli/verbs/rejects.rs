//! `corpusdb rejects`: the records that could not be read, by reason or one by one.

use crate::cli::columns::{first_characters, shown_path};
use crate::cli::output::{self, Output};
use crate::cli::verb::{CorpusPath, DryRun, Manners, PythonMethod, Report, Verb, VerbCall};
use corpusdb::curate::{DropRejectsReport, RejectSelection};
use corpusdb::inspect::RejectReasonGroup;
use corpusdb::show::{count, number, one_line, size};
use corpusdb::store::RejectRecord;
use serde::Serialize;
use std::path::Path;

/// Characters of a rejected record that are shown.
const RAW: usize = 60;
/// Reasons that are shown, at most.
const REASONS: usize = 8;
/// Records that are listed, unless another number is asked for.
const LISTED: usize = 1000;

/// Show why records could not be read, list them, or drop them.
///
/// Reasons come with the number of their records, the most frequent first, what to do, and the first record: its
/// position and its raw bytes. Reasons that differ only in a place or a length are one.
///
/// A record that can be read when its file is ingested again disappears from the list. `drop` deletes those that nobody
/// will repair; rejects that are still in the files are stored again when `ingest` reads these from their start.
#[derive(clap::Args)]
pub(super) struct RejectsArgs {
    /// List the records one by one, by source, file and position.
    #[arg(long, conflicts_with = "drop")]
    list: bool,
    /// List at most N records. By default 1000.
    #[arg(long, value_name = "N", conflicts_with = "drop")]
    limit: Option<usize>,
    /// Delete the stored rejects: all, or those of `source` or `path`.
    #[arg(long)]
    drop: bool,
    #[command(flatten)]
    selection: RejectSelectionArgs,
}

/// Which rejects are deleted.
#[derive(clap::Args)]
pub struct RejectSelectionArgs {
    /// Delete only rejects of this source.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Delete only rejects of this file, or of the files in this directory.
    ///
    /// Name a file that no longer exists as `list` prints it.
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
}

impl From<RejectSelectionArgs> for RejectSelection {
    fn from(RejectSelectionArgs { source, path }: RejectSelectionArgs) -> Self {
        Self { source, path }
    }
}

/// Rejects that were deleted, or all of them as rows on standard output.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum RejectsAnswer {
    /// They were deleted.
    Dropped(DropRejectsReport),
    /// They went to standard output.
    Streamed {},
    /// Their reasons, for people.
    #[serde(skip)]
    Reasons(Vec<RejectReasonGroup>),
}

#[derive(Serialize)]
struct RejectLine {
    source: String,
    path: String,
    number: u64,
    offset: u64,
    reason: String,
    bytes: u64,
    raw: String,
}

impl From<RejectRecord> for RejectLine {
    fn from(reject: RejectRecord) -> Self {
        let RejectRecord { source, path, number, offset, reason, bytes, raw } = reject;
        let raw = String::from_utf8_lossy(&raw).into_owned();
        Self { source, path, number, offset, reason, bytes, raw }
    }
}

/// Where a record stands and how it begins, with the reason between them where it is given.
fn shown(reject: &RejectLine, reason: Option<&str>) -> String {
    let RejectLine { source, path, number, offset, raw, .. } = reject;
    // The list is for programs as well, and names a file as `--drop --path` takes it.
    let path = if reason.is_some() { path } else { shown_path(path) };
    let head = first_characters(raw, RAW);
    let reason = reason.map_or_else(String::new, |reason| format!(" {reason}:"));
    let text = format!(
        "{path}: record {number} (counted from 0, byte {offset}, source {source}):{reason} {head}"
    );
    one_line(&text).into_owned()
}

fn print_reasons(reasons: &[RejectReasonGroup], out: &mut Output) {
    let records: u64 = reasons.iter().map(|group| group.records).sum();
    let of = count(reasons.len() as u64, "reason", "reasons");
    let records = count(records, "rejected record", "rejected records");
    out.line(format!("{records}, {of}; `--list` shows each record"));
    let width = reasons.iter().map(|group| number(group.records).len()).max().unwrap_or(0);
    let more = reasons.len().saturating_sub(REASONS);
    for RejectReasonGroup { reason, records, first, .. } in reasons.iter().take(REASONS) {
        let reason = if *records == 1 { &first.reason } else { reason };
        out.line(format!("\n{:>width$}  {}", number(*records), one_line(reason)));
        let way = remedy(&first.reason);
        let first = shown(&RejectLine::from(first.clone()), None);
        for line in std::iter::once(first.as_str()).chain(way) {
            out.line(format!("{:width$}  {line}", ""));
        }
    }
    if more > 0 {
        out.line(format!("\n{} more", count(more as u64, "reason", "reasons")));
    }
}

/// What to do about a reason that does not say so itself.
fn remedy(reason: &str) -> Option<&'static str> {
    let ways = [
        ("no text", "is the text in another field? `--text-field NAME`"),
        ("text field", "is the text in another field? `--text-field NAME`"),
        ("id field", "is the id in another field? `--id-field NAME`; without one leave it out"),
        ("not a JSON object", "mend the file and ingest it again; other formats: `--format`"),
        ("invalid UTF-8", "convert the file to UTF-8 (`iconv`) and ingest it again"),
    ];
    let starts = |(start, _): &&(&str, &str)| reason.starts_with(start);
    let is_long = reason.contains("(--max-doc-bytes)");
    let longer = is_long.then_some("take longer ones: `--max-doc-bytes BYTES`");
    ways.iter().find(starts).map(|(_, way)| *way).or(longer)
}

impl Verb for RejectsArgs {
    const PATH: &str = "rejects";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.rejects");
    const EXAMPLES: &[&str] = &[
        "corpusdb rejects crawl",
        "corpusdb rejects crawl --list --limit 20",
        "corpusdb rejects crawl --json | jq -r .raw",
        "corpusdb rejects crawl --drop --dry-run",
        "corpusdb rejects crawl --drop --source web",
        "corpusdb rejects crawl --drop --path /data/2024",
    ];
    const DRY_RUN: DryRun = DryRun::Copy;
    const MANNERS: Manners = Manners::STOPS_AND_WAITS;
    type On = CorpusPath;
    type Report = RejectsAnswer;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let session = call.session()?;
        if self.drop {
            let mut writer = session.write_soon(path)?;
            let dropped = writer.drop_rejects(&self.selection.into(), &call.context)?;
            return Ok(RejectsAnswer::Dropped(dropped));
        }
        let RejectSelectionArgs { source, path: below } = &self.selection;
        let is_list = !call.dry_run && source.is_none() && below.is_none();
        anyhow::ensure!(is_list, "`source=`, `path=` and `dry_run=` go with `drop=`");
        let corpus = session.read(path)?;
        let total = corpus.view().state().rejects;
        if total == 0 && !session.json {
            call.note("no rejected records");
            return Ok(RejectsAnswer::Streamed {});
        }
        if !session.json && !self.list && self.limit.is_none() {
            return Ok(RejectsAnswer::Reasons(corpus.reject_reasons(&call.context)?));
        }
        let rejects = corpus.rejects(self.limit.unwrap_or(LISTED))?.map(|reject| {
            call.context.interrupt.check().map_err(corpusdb::Error::from)?;
            Ok(RejectLine::from(reject?))
        });
        let print = |one: &RejectLine, out: &mut Output| out.line(shown(one, Some(&one.reason)));
        let shown = output::stream_rows(("reject", session.json), rejects, print)?;
        if shown < total {
            call.note(&format!("{shown} of {total} shown; `limit=` shows more"));
        }
        Ok(RejectsAnswer::Streamed {})
    }
}

impl Report for RejectsAnswer {
    const TYPE: &'static str = DropRejectsReport::TYPE;

    fn print(&self, out: &mut Output) {
        match self {
            Self::Dropped(dropped) => dropped.print(out),
            Self::Reasons(reasons) => print_reasons(reasons, out),
            Self::Streamed {} => {}
        }
    }

    fn is_streamed(&self) -> bool {
        matches!(self, Self::Streamed {})
    }
}

impl Report for DropRejectsReport {
    const TYPE: &'static str = "rejects_drop";

    fn print(&self, out: &mut Output) {
        let verb = if out.is_dry_run() { "would forget" } else { "forgot" };
        let (dropped, left) = (number(self.dropped), number(self.left));
        let size = size(self.bytes);
        out.line(format!("{verb} {dropped} rejected records ({size}); {left} are left"));
    }
}
