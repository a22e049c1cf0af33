//! `corpusdb who`: lists outputs and snapshots that had a document, also after its purge.

use crate::cli::find::{self, DocumentName};
use crate::cli::output::Output;
use crate::cli::session::parse_document;
use crate::cli::verb::{ExitStatus, PythonMethod, Report, Verb, VerbCall};
use anyhow::ensure;
use corpusdb::roaring::RoaringTreemap;
use corpusdb::show::{count, number};
use corpusdb::{Corpus, OutputHolder, SnapshotHolder, WhoReport};

/// Rows of an output that are printed for people, at most.
const ROWS: usize = 10;

/// Find out which exports, epochs and backups had documents.
///
/// Also streams and snapshots, and also after a purge.
///
/// The answer is made of the table outputs, in which every export, built epoch, stream and backup leaves an entry. Of
/// epochs the rows are computed again, which needs the plan and documents that are not purged.
#[derive(clap::Args)]
pub(super) struct WhoArgs {
    /// Ids or keys of documents: digits are an id, `key:5` is the key 5. Ids stay after a purge.
    #[arg(required_unless_present = "where", value_name = "ID|KEY", value_parser = parse_document)]
    documents: Vec<String>,
    /// All documents of a SQL condition.
    #[arg(
        id = "where",
        long = "where",
        value_name = "SQL",
        conflicts_with = "documents",
        allow_hyphen_values = true
    )]
    condition: Option<String>,
    /// Number of ranks that trained on built epochs: the answer says which of them had a row, and in which step.
    #[arg(long, default_value_t = 1, value_name = "W")]
    world: u64,
}

impl Verb for WhoArgs {
    const PATH: &str = "who";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.who");
    const EXAMPLES: &[&str] = &[
        "corpusdb who crawl https://example.org/page",
        "corpusdb who crawl 17 42 --world 8 --json",
        "corpusdb who crawl --where \"source = 'web'\"",
    ];
    const NOTES: &str = "\
Outputs of `--no-record`, and of a corpus that could not be written to, have no entry.
Exit code 1 when no output and no snapshot had one of the documents.";
    type On = Corpus;
    type Report = WhoReport;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let documents = match &self.condition {
            Some(condition) => find::selection(corpus, condition, call)?.documents,
            None => self.named(corpus, call)?,
        };
        Ok(corpus.who(&documents, self.world, &call.context)?)
    }
}

impl WhoArgs {
    /// The documents with an id or key; for a key also purged ones.
    fn named(&self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<RoaringTreemap> {
        let mut found = RoaringTreemap::new();
        for document in &self.documents {
            let name = DocumentName::of(document);
            if let DocumentName::Key(key) = name {
                let purged = corpus.purged_under(key)?;
                found |= &purged;
                if !purged.is_empty() && corpus.find_key(key)?.is_empty() {
                    continue;
                }
            }
            let named = name.documents(corpus, call.note)?;
            found.extend(named.iter().map(|id| id.0));
        }
        ensure!(!found.is_empty(), "there is no such document");
        Ok(found)
    }
}

impl Report for WhoReport {
    const TYPE: &'static str = "who";

    fn print(&self, out: &mut Output) {
        for holder in &self.outputs {
            print_output(holder, self.documents, out);
        }
        for snapshot in &self.snapshots {
            print_snapshot(snapshot, self.documents, out);
        }
        if self.outputs.is_empty() && self.snapshots.is_empty() {
            out.line("no output on record and no snapshot had one of these documents");
        }
        for damaged in &self.damaged {
            out.note(damaged.as_str());
        }
    }

    fn status(&self) -> ExitStatus {
        let is_empty =
            self.outputs.is_empty() && self.snapshots.is_empty() && self.damaged.is_empty();
        ExitStatus::of(!is_empty)
    }
}

fn print_output(holder: &OutputHolder, asked: u64, out: &mut Output) {
    let plan = holder.epoch.map(|epoch| match holder.plan {
        Some(plan) => format!(", epoch {epoch} of plan {plan}"),
        None => format!(", epoch {epoch} of a plan that was not stored"),
    });
    let time = holder.time.as_ref().map(|time| format!(", {time}"));
    out.line(format!(
        "{} {} {}: {} {} of {}{}{}",
        holder.number,
        holder.kind.name(),
        holder.destination,
        if holder.certain { "had" } else { "may have had" },
        number(holder.documents),
        count(asked, "document", "documents"),
        plan.unwrap_or_default(),
        time.unwrap_or_default()
    ));
    if let Some(why) = &holder.why {
        out.line(format!("  {why}"));
    }
    for place in holder.places.iter().take(ROWS) {
        let (row, batch, step) = (number(place.row), number(place.batch), number(place.step));
        out.line(format!(
            "  document {}: row {row}, batch {batch}, step {step} of rank {} of {}",
            place.document, place.rank, place.world
        ));
    }
    let more = holder.rows.saturating_sub(holder.places.len().min(ROWS) as u64);
    if more > 0 {
        out.line(format!("  and {}", count(more, "row more", "rows more")));
    }
}

fn print_snapshot(snapshot: &SnapshotHolder, asked: u64, out: &mut Output) {
    let keeps = if snapshot.certain { "keeps" } else { "may have kept, before a purge," };
    out.line(format!(
        "snapshot {} (commit {}): {keeps} {} of {}",
        snapshot.name,
        snapshot.commit,
        number(snapshot.documents),
        count(asked, "document", "documents")
    ));
}
