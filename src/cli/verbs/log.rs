//! `corpusdb log` and `undo`: list the verbs that were run on a corpus, and undo one.

use crate::cli::output::Output;
use crate::cli::session::now;
use crate::cli::verb::{DryRun, ListReport, ListRow, PythonMethod, Report, Verb, VerbCall};
use corpusdb::curate::LogEntry;
use corpusdb::show::{count, number, shown_timestamp};
use corpusdb::{Corpus, CorpusWriter, UndoReport};

/// List the verbs that were run, and how each can be undone.
///
/// The newest comes first. A verb makes one commit or several; the first one names it. What an earlier release committed is told apart by kind,
/// source and reason.
#[derive(clap::Args)]
pub(super) struct LogArgs {
    /// List at most N verbs.
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: usize,
}

impl Verb for LogArgs {
    const PATH: &str = "log";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.log");
    const EXAMPLES: &[&str] =
        &["corpusdb log crawl", "corpusdb log crawl --limit 1000 --json | jq -r .undo"];
    type On = Corpus;
    type Report = ListReport<LogEntry>;

    fn run(self, corpus: &Corpus, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(ListReport(corpus.log(self.limit)?))
    }
}

impl ListRow for LogEntry {
    const TYPE: &'static str = "log";

    fn print_all(entries: &[Self], out: &mut Output) {
        for entry in entries {
            let undo = match (&entry.undone_by, &entry.undo, &entry.refusal) {
                (Some(by), _, _) => format!("undone by commit {by}"),
                (_, Some(command), _) => format!("`{command}` undoes it"),
                (_, _, Some(why)) => format!("cannot be undone: {why}"),
                _ => continue,
            };
            out.line(format!("{}; {undo}", words(entry)));
        }
    }
}

/// An entry as a line: commits, verb, counts.
fn words(entry: &LogEntry) -> String {
    let mut words = match entry.last {
        last if last == entry.commit => format!("commit {last}: "),
        last => format!("commits {} to {last}: ", entry.commit),
    };
    words.push_str(&entry.verb);
    if !entry.subject.is_empty() {
        words.push_str(&format!(" {}", entry.subject));
    }
    if let Some(undoes) = entry.undoes {
        words.push_str(&format!(" (undoes commit {undoes})"));
    }
    if entry.added > 0 {
        let added = count(entry.added, "document added", "documents added");
        words.push_str(&format!(", {added}, {} kept", number(entry.kept)));
    }
    for (counted, what) in [(entry.changed, "changed"), (entry.rejected, "rejected")] {
        if counted > 0 {
            words.push_str(&format!(", {} {what}", number(counted)));
        }
    }
    if let Some(condition) = &entry.condition {
        words.push_str(&format!(", where {condition}"));
    }
    if let Some(reason) = &entry.reason {
        words.push_str(&format!(", reason: {reason}"));
    }
    if let Some(time) = entry.time {
        words.push_str(&format!(", at {}", shown_timestamp(time)));
    }
    words
}

/// Undo a verb: by default the last one that still stands.
///
/// That may be an ingest, a removal, a restoration, a redo or a change of a field. It runs the verbs that lead back, and prints them; `dry_run` tries this on a copy. What was undone can be undone again,
/// by the commit of the undoing: `log` has it. An ingest is undone as if it had not been: its documents are removed and
/// block nothing, what they superseded is back, and its files count as unread. A verb that a later one stands on is
/// refused, and so are `purge`, `compact` and the conversion of an older store. After an interrupt run the same command again.
#[derive(clap::Args)]
pub(super) struct UndoArgs {
    /// A commit of the verb.
    commit: Option<u64>,
}

impl Verb for UndoArgs {
    const PATH: &str = "undo";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Writer.undo");
    const EXAMPLES: &[&str] =
        &["corpusdb undo crawl --dry-run", "corpusdb undo crawl", "corpusdb undo crawl 12"];
    const DRY_RUN: DryRun = DryRun::Copy;
    type On = CorpusWriter;
    type Report = UndoReport;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(writer.undo(self.commit, now(), &call.context)?)
    }
}

impl Report for UndoReport {
    const TYPE: &'static str = "undo";

    fn print(&self, out: &mut Output) {
        let verb = if out.is_dry_run() { "would undo" } else { "undid" };
        out.line(format!("{verb} {}", words(&self.undone)));
        for verb in &self.verbs {
            out.line(format!("  by `{verb}`"));
        }
        out.line(format!(
            "  {}, {} no longer kept, {} kept again",
            count(self.documents, "document changed", "documents changed"),
            number(self.no_longer_kept),
            number(self.kept_again)
        ));
        if self.files > 0 {
            let files = count(self.files, "file counts as unread", "files count as unread");
            out.line(format!("  {files}: the next ingest reads them from their start"));
        }
    }
}
