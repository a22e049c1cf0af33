//! `corpusdb snapshot`: names moments durably, shows what they hold, and compares two.

use crate::cli::output::{self, Output};
use crate::cli::verb::{
    ListReport, ListRow, Manners, PythonMethod, Report, ShowReport, Verb, VerbCall,
};
use corpusdb::inspect::{
    ChangedDocument, DocumentCounts, LossCounts, SnapshotChanges, SnapshotDetails, SnapshotDiff,
    SnapshotInfo,
};
use corpusdb::show::{number, size};
use corpusdb::store::SnapshotRecord;
use corpusdb::{Corpus, CorpusWriter};
use serde::Serialize;
use std::collections::BTreeMap;

/// Create a snapshot of the last commit.
///
/// A snapshot has every document that the corpus keeps. To name a selection of them, store it as a field with
/// `field compute`, and use the field as the condition on the snapshot.
#[derive(clap::Args)]
pub(super) struct SnapshotCreateArgs {
    /// The name.
    name: String,
}

/// A snapshot: its name, commit and counts.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Snapshot")]
pub(super) struct SnapshotRow {
    /// The name.
    name: String,
    /// The commit that it shows.
    commit: u64,
    /// Documents stored then.
    documents: u64,
    /// Documents kept then, without those purged since.
    kept: u64,
    /// Documents kept then that were purged since.
    #[serde(skip_serializing_if = "is_zero")]
    purged: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<SnapshotRecord> for SnapshotRow {
    fn from(record: SnapshotRecord) -> Self {
        let SnapshotRecord { name, commit, documents, kept, purged, .. } = record;
        Self { name, commit, documents, kept, purged }
    }
}

impl Verb for SnapshotCreateArgs {
    const PATH: &str = "snapshot create";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Writer.snapshots.create", &["name"]);
    const EXAMPLES: &[&str] = &["corpusdb snapshot create crawl june"];
    const MANNERS: Manners = Manners::WAITS;
    type On = CorpusWriter;
    type Report = SnapshotRow;

    fn run(self, writer: &mut CorpusWriter, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(writer.create_snapshot(&self.name)?.into())
    }
}

impl Report for SnapshotRow {
    const TYPE: &'static str = "snapshot";

    fn print(&self, out: &mut Output) {
        let (kept, documents) = (number(self.kept), number(self.documents));
        let purged = match self.purged {
            0 => String::new(),
            purged => format!(", {} purged since", number(purged)),
        };
        let (name, commit) = (&self.name, self.commit);
        out.line(format!("{name}: commit {commit}, {kept} kept of {documents} documents{purged}"));
    }
}

impl ListRow for SnapshotRow {
    const TYPE: &'static str = "snapshot";

    fn print_all(snapshots: &[Self], out: &mut Output) {
        if snapshots.is_empty() {
            out.note("there is no snapshot; `corpusdb snapshot create` makes one");
        }
        snapshots.iter().for_each(|snapshot| snapshot.print(out));
    }
}

/// List the snapshots, or show how much one keeps of every source, and the plans that draw from it.
#[derive(clap::Args)]
pub(super) struct SnapshotShowArgs {
    /// The snapshot. By default all are listed.
    name: Option<String>,
}

impl Verb for SnapshotShowArgs {
    const PATH: &str = "snapshot show";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Corpus.snapshots.show", &["name"]);
    const EXAMPLES: &[&str] =
        &["corpusdb snapshot show crawl", "corpusdb snapshot show crawl june"];
    type On = Corpus;
    type Report = ShowReport<SnapshotRow, SnapshotDetails>;

    fn run(self, corpus: &Corpus, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        if let Some(name) = self.name {
            return Ok(ShowReport::One(Box::new(corpus.show_snapshot(&name)?)));
        }
        let records = corpus.view().snapshots().map_err(corpusdb::Error::from)?;
        Ok(ShowReport::All(ListReport(records.into_iter().map(SnapshotRow::from).collect())))
    }
}

impl Report for SnapshotDetails {
    const TYPE: &'static str = "snapshot_details";

    fn print(&self, out: &mut Output) {
        let (kept, documents) = (number(self.kept), number(self.documents));
        let (name, commit, bytes) = (&self.name, self.commit, size(self.kept_bytes));
        out.line(format!("{name}: commit {commit}, {kept} kept of {documents} documents, {bytes}"));
        if !self.sources.is_empty() {
            let rows = self.sources.iter().map(|source| row(&source.source, &source.kept));
            print_table(["source", "kept"], &self.tokens, rows, out);
        }
        let plans: Vec<String> = self.plans.iter().map(u32::to_string).collect();
        out.line(match plans.as_slice() {
            [] => "no stored plan draws from it".to_owned(),
            [plan] => format!("plan {plan} draws from it"),
            plans => format!("plans {} draw from it", plans.join(", ")),
        });
    }
}

/// Show what changed from one snapshot to a later one, or to now: added and removed documents with reasons, in total
/// and by group.
#[derive(clap::Args)]
pub(super) struct SnapshotDiffArgs {
    /// The earlier snapshot.
    #[arg(value_name = "A")]
    earlier: String,
    /// The later snapshot, or now for the last commit (unless a snapshot has this name). By default the last commit.
    #[arg(value_name = "B")]
    later: Option<String>,
    /// Group by a declared field (not a float), such as a month, or by language, instead of by source.
    #[arg(long, value_name = "FIELD", default_value = "source", conflicts_with = "list")]
    by: String,
    /// List every changed document with the reason, and its witness or successor.
    #[arg(long)]
    list: bool,
}

/// What changed between two states.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum SnapshotDiffAnswer {
    /// Counts, in total and by group.
    Counted(Box<SnapshotDiff>),
    /// The documents went to standard output.
    Streamed {},
}

/// The totals: the first of several lines of JSON.
#[derive(Serialize)]
struct ChangesInAll<'a> {
    earlier: &'a SnapshotInfo,
    later: &'a SnapshotInfo,
    by: &'a str,
    #[serde(flatten)]
    all: &'a SnapshotChanges,
}

impl Verb for SnapshotDiffArgs {
    const PATH: &str = "snapshot diff";
    const PYTHON: PythonMethod =
        PythonMethod::Mixed("Corpus.snapshots.diff", &["earlier", "later", "by", "list"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb snapshot diff crawl june",
        "corpusdb snapshot diff crawl june july --by language",
        "corpusdb snapshot diff crawl june july --list --json > changes.jsonl",
    ];
    const NOTES: &str = "\
Changes:
  added        came after A, and B keeps it
  kept again   was stored in A and not kept, and B keeps it
  removed      A keeps it and B does not
  not kept     came after A, and B does not keep it
kept in B = kept in A - removed + kept again + added.

Reasons are those of B: `exact` or `near` to a document that B keeps, `superseded` by new content
under its key, `empty`, `removed` by `corpusdb remove`, `purged` by `corpusdb purge`, `blocked` by
such a removal; `unknown` if the removal was undone since. Values of fields are today's: a snapshot does not store old ones.

With --json: a `snapshot_diff` in total, then a `snapshot_diff_group` for each group, each with
`added`, `kept_again`, `removed`, `removed_by`, `not_kept`, `not_kept_by`; with --list a
`snapshot_diff_document` for each document.";
    type On = Corpus;
    type Report = SnapshotDiffAnswer;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let Self { earlier, later, by, list } = self;
        if list {
            stream_changes(corpus, &earlier, later.as_deref(), call)?;
            return Ok(SnapshotDiffAnswer::Streamed {});
        }
        let found = corpus.snapshot_diff(&earlier, later.as_deref(), Some(&by))?;
        Ok(SnapshotDiffAnswer::Counted(Box::new(found)))
    }
}

/// Writes each document that changed as it is found.
fn stream_changes(
    corpus: &Corpus,
    earlier: &str,
    later: Option<&str>,
    call: &VerbCall<'_>,
) -> anyhow::Result<()> {
    let is_json = call.session()?.json;
    let changed = corpus.snapshot_changes(earlier, later)?;
    let changed = changed.map(|document| Ok(document.map_err(corpusdb::Error::from)?));
    let written = output::stream_rows(("snapshot_diff_document", is_json), changed, print_changed)?;
    if written == 0 && !is_json {
        call.note("no document changed");
    }
    Ok(())
}

fn print_changed(document: &ChangedDocument, out: &mut Output) {
    let change = spelled(document.change);
    let what = match document.reason {
        Some(reason) => format!("{change}: {reason}"),
        None => change.to_owned(),
    };
    let other = match (document.witness, &document.witness_key, document.successor) {
        (Some(witness), Some(key), _) => format!("  of {witness} {key}"),
        (_, _, Some(successor)) => format!("  by {successor}"),
        _ => String::new(),
    };
    let (id, key, source) = (document.id, &document.key, &document.source);
    out.line(format!("{what:20}  {id} {key} ({source}){other}"));
}

impl Report for SnapshotDiffAnswer {
    const TYPE: &'static str = "snapshot_diff";

    fn print(&self, out: &mut Output) {
        let Self::Counted(found) = self else { return };
        let moment = |of: &SnapshotInfo| format!("{} (commit {})", of.name, of.commit);
        out.line(format!("{} to {}", moment(&found.earlier), moment(&found.later)));
        out.line(format!(
            "kept: {} - {} removed + {} kept again + {} added = {}",
            number(found.earlier.kept),
            number(found.all.removed.documents),
            number(found.all.kept_again.documents),
            number(found.all.added.documents),
            number(found.later.kept)
        ));
        if found.groups.is_empty() {
            return out.line("no document changed");
        }
        print_changes("in all", &found.all, out);
        for group in &found.groups {
            print_changes(&format!("{} {}", found.by, group.group), &group.changes, out);
        }
    }

    fn json(&self, _: Option<bool>) -> serde_json::Result<String> {
        let Self::Counted(found) = self else { return Ok(String::new()) };
        let SnapshotDiff { earlier, later, by, all, groups, .. } = &**found;
        let first = ChangesInAll { earlier, later, by, all };
        let first = output::json_line(Self::TYPE, &first, None)?;
        Ok(first + &output::json_lines("snapshot_diff_group", groups)?)
    }

    fn is_streamed(&self) -> bool {
        matches!(self, Self::Streamed {})
    }
}

/// The changes of a group, a row for each kind, with the reasons below.
fn print_changes(name: &str, of: &SnapshotChanges, out: &mut Output) {
    out.line(format!("{name}:"));
    let lost = |change: &'static str, all: &[LossCounts]| {
        let of = all.iter().map(|loss| (format!("{change}: {}", loss.reason), loss.counts.clone()));
        of.collect::<Vec<_>>()
    };
    let mut all = vec![
        (spelled("added").to_owned(), of.added.clone()),
        (spelled("kept_again").to_owned(), of.kept_again.clone()),
    ];
    all.extend(lost(spelled("removed"), &of.removed_by));
    all.extend(lost(spelled("not_kept"), &of.not_kept_by));
    all.retain(|(_, counts)| counts.documents > 0);
    let rows = all.iter().map(|(name, counts)| row(name, counts));
    print_table(["change", "documents"], &of.added.tokens, rows, out);
}

fn spelled(change: &'static str) -> &'static str {
    match change {
        "kept_again" => "kept again",
        "not_kept" => "not kept",
        other => other,
    }
}

fn row(name: &str, of: &DocumentCounts) -> Vec<String> {
    let tokens = of.tokens.values().map(|tokens| number(*tokens));
    [name.to_owned(), number(of.documents), size(of.bytes)].into_iter().chain(tokens).collect()
}

/// Rows under two names, the text, and the tokens of each tokenizer.
fn print_table(
    [first, documents]: [&str; 2],
    tokenizers: &BTreeMap<String, u64>,
    rows: impl Iterator<Item = Vec<String>>,
    out: &mut Output,
) {
    let tokens: Vec<String> = tokenizers.keys().map(|name| format!("tokens {name}")).collect();
    let mut head = vec![first, documents, "text"];
    head.extend(tokens.iter().map(String::as_str));
    out.table(&head, rows);
}

/// Give a snapshot another name; refused while a stored plan draws from it.
#[derive(clap::Args)]
pub(super) struct SnapshotRenameArgs {
    /// Its name.
    old: String,
    /// Its new name.
    new: String,
}

impl Verb for SnapshotRenameArgs {
    const PATH: &str = "snapshot rename";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Writer.snapshots.rename", &["old", "new"]);
    const EXAMPLES: &[&str] = &["corpusdb snapshot rename crawl june 2025-06"];
    const MANNERS: Manners = Manners::WAITS;
    type On = CorpusWriter;
    type Report = SnapshotRow;

    fn run(self, writer: &mut CorpusWriter, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(writer.rename_snapshot(&self.old, &self.new)?.into())
    }
}

/// Delete a snapshot; refused while stored plans draw from it.
///
/// Documents and tokens stay. Plans that draw from it pin their documents: after `force` they are built, streamed and
/// verified as before, but recipes can no longer name the snapshot, `epoch explain` no longer counts the documents on
/// neither side of a holdout, and no other snapshot can get its name.
#[derive(clap::Args)]
pub(super) struct SnapshotDropArgs {
    /// The name.
    name: String,
    /// Drop it even if stored plans draw from it.
    #[arg(long)]
    force: bool,
}

/// A snapshot that was dropped.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct SnapshotDropReport {
    /// Its name.
    name: String,
    /// The stored plans that draw from it, and keep their documents.
    plans: Vec<u32>,
}

impl Verb for SnapshotDropArgs {
    const PATH: &str = "snapshot drop";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Writer.snapshots.drop");
    const EXAMPLES: &[&str] = &["corpusdb snapshot drop crawl 2025-06"];
    const MANNERS: Manners = Manners::WAITS;
    type On = CorpusWriter;
    type Report = SnapshotDropReport;

    fn run(self, writer: &mut CorpusWriter, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let (_, plans) = writer.drop_snapshot(&self.name, self.force)?;
        Ok(SnapshotDropReport { name: self.name, plans })
    }
}

impl Report for SnapshotDropReport {
    const TYPE: &'static str = "snapshot_dropped";

    fn print(&self, out: &mut Output) {
        out.line(format!("snapshot {} is dropped", self.name));
        if !self.plans.is_empty() {
            let plans: Vec<String> = self.plans.iter().map(u32::to_string).collect();
            let plans = plans.join(", ");
            out.line(format!("  plans that draw from it and keep their documents: {plans}"));
        }
    }
}
