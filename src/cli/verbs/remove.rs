//! `corpusdb remove`, `restore` and `purge`: removes documents, takes that back, or erases them.

use super::shell_editor::history_file;
use crate::cli::find::{self, DocumentArgs, DocumentName};
use crate::cli::output::{self, Output};
use crate::cli::session::{now, on_disk, parse_document};
use crate::cli::verb::{
    CorpusPath, DryRun, ExitStatus, Manners, PythonMethod, Report, Verb, VerbCall,
};
use corpusdb::curate::{
    BlockReach, Certificate, PurgeReport, PurgeSelection, RemovalReport, RemovalRequest,
};
use corpusdb::inspect::Selection;
use corpusdb::roaring::RoaringTreemap;
use corpusdb::show::{count, number, size};
use corpusdb::{Corpus, CorpusWriter, Dependents, DocId};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Copies that are named at most.
const COPIES: usize = 20;

/// What a removal blocks, and its reason.
#[derive(clap::Args)]
pub struct RemovalArgs {
    /// Which later texts the removal blocks, besides new content under the same keys.
    #[arg(long, value_enum, default_value_t)]
    block: BlockReach,
    /// Block nothing: the same texts and keys may be ingested again.
    #[arg(long, conflicts_with = "block")]
    no_block: bool,
    /// The reason, stored with the commit, and shown in the table removals of `sql` and in certificates.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}

impl RemovalArgs {
    /// The description of a removal made now, as it is stored.
    pub fn request(self, condition: Option<&str>) -> RemovalRequest {
        let reach = if self.no_block { BlockReach::Nothing } else { self.block };
        let mut removal = RemovalRequest::new(reach);
        if let Some(reason) = self.reason {
            removal = removal.because(reason);
        }
        if let Some(condition) = condition {
            removal = removal.of(condition);
        }
        match now() {
            Some(time) => removal.at(time),
            None => removal,
        }
    }
}

/// Remove documents, so that they do not come back.
///
/// They stay stored, and are no longer kept. Documents that were duplicates of them are decided again. Equal texts, and new content under their keys, are stored
/// as blocked until `restore`; `block` extends this to similar texts. `show` tells what blocks a document.
#[derive(clap::Args)]
pub(super) struct RemoveArgs {
    #[command(flatten)]
    which: DocumentArgs,
    #[command(flatten)]
    removal: RemovalArgs,
    /// Also erase the documents, as `corpusdb purge` does: they cannot be restored.
    #[arg(long)]
    purge: bool,
    /// With `purge`: also every other document that holds the same text.
    #[arg(long, requires = "purge")]
    copies: bool,
    /// With `purge`: even if snapshots or plans have the documents.
    #[arg(long, requires = "purge")]
    force: bool,
    /// With `purge`: search every row and file afterwards, and write a certificate to this file.
    #[arg(long, requires = "purge", conflicts_with = "dry_run", value_name = "FILE.json", value_parser = on_disk())]
    prove: Option<PathBuf>,
}

/// The result of a removal or a purge.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum RemoveAnswer {
    /// It was removed.
    Removed(RemovalOutcome),
    /// It was purged.
    Purged(Box<PurgeAnswer>),
}

/// What was changed, and what the condition selected.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "RemovalReport")]
pub(super) struct RemovalOutcome {
    #[serde(flatten)]
    report: RemovalReport,
    /// The documents that the condition selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    selection: Option<Selection>,
}

impl Verb for RemoveArgs {
    const PATH: &str = "remove";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Writer.remove");
    const EXAMPLES: &[&str] = &[
        "corpusdb remove crawl 17 42",
        "corpusdb remove crawl https://example.org/page --reason \"asked for by its author\"",
        "corpusdb remove crawl --where \"source = 'web' AND quality < 0.1\" --dry-run",
        "corpusdb remove crawl --where \"commit > 12\" --no-block",
        "corpusdb remove crawl 17 --block similar",
    ];
    const DRY_RUN: DryRun = DryRun::Copy;
    const MANNERS: Manners = Manners::STOPS;
    type On = CorpusPath;
    type Report = RemoveAnswer;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        if self.purge {
            let (documents, condition) = (self.which.documents, self.which.condition);
            let (removal, force, prove) = (self.removal, self.force, self.prove);
            let copies = self.copies;
            let asked = PurgeArgs { documents, condition, copies, removal, force, prove };
            return Ok(RemoveAnswer::Purged(Box::new(asked.run(path, call)?)));
        }
        let mut writer = call.options.open_writer(path)?;
        let (documents, selection) = self.which.select(&writer.corpus(), call)?;
        let request = self.removal.request(self.which.condition.as_deref());
        let report = writer.remove(&documents, request, &call.context)?;
        Ok(RemoveAnswer::Removed(RemovalOutcome { report, selection }))
    }
}

impl Report for RemoveAnswer {
    const TYPE: &'static str = "remove";

    fn print(&self, out: &mut Output) {
        match self {
            Self::Removed(changed) => print_change(true, &changed.report, out),
            Self::Purged(purged) => purged.print(out),
        }
    }

    fn json(&self, tried: Option<bool>) -> serde_json::Result<String> {
        match self {
            Self::Removed(changed) => output::json_line(Self::TYPE, changed, tried),
            Self::Purged(purged) => purged.json(tried),
        }
    }

    fn status(&self) -> ExitStatus {
        match self {
            Self::Removed(_) => ExitStatus::Done,
            Self::Purged(purged) => purged.status(),
        }
    }
}

/// Undo removals.
///
/// The documents, and those that they blocked, are decided again.
#[derive(clap::Args)]
pub(super) struct RestoreArgs {
    #[command(flatten)]
    which: DocumentArgs,
}

/// Removals that were undone.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(super) struct RestoredDocuments(RemovalOutcome);

impl Verb for RestoreArgs {
    const PATH: &str = "restore";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Writer.restore");
    const EXAMPLES: &[&str] = &[
        "corpusdb restore crawl 17",
        "corpusdb restore crawl --where \"standing = 'removed' AND source = 'web'\"",
    ];
    const DRY_RUN: DryRun = DryRun::Copy;
    type On = CorpusWriter;
    type Report = RestoredDocuments;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let (documents, selection) = self.which.select(&writer.corpus(), call)?;
        let report = writer.restore(&documents, &call.context)?;
        Ok(RestoredDocuments(RemovalOutcome { report, selection }))
    }
}

impl Report for RestoredDocuments {
    const TYPE: &'static str = "restore";

    fn print(&self, out: &mut Output) {
        print_change(false, &self.0.report, out);
    }
}

fn print_change(is_removal: bool, report: &RemovalReport, out: &mut Output) {
    let n = number;
    let verb = match (is_removal, out.is_dry_run()) {
        (true, false) => "removed",
        (true, true) => "would remove",
        (false, false) => "restored",
        (false, true) => "would restore",
    };
    out.line(format!("{verb} {} of {} documents", n(report.changed), n(report.selected)));
    if report.undone > 0 {
        out.line(format!(
            "  {} of an ingest that was undone: undo that (`corpusdb log`), or ingest them again",
            count(report.undone, "document is", "documents are")
        ));
    }
    if report.unchanged > 0 {
        let state = if is_removal { "removed before" } else { "not removed" };
        out.line(format!("  {} were {state}", n(report.unchanged)));
    }
    out.line(format!(
        "  {} are no longer kept, {} are kept again",
        n(report.no_longer_kept),
        n(report.kept_again)
    ));
    if report.copies > 0 {
        out.line(format!(
            "  {} of them, {} of these kept: --block similar removes similar texts, too",
            count(report.copies, "copy remains", "copies remain"),
            n(report.kept_again)
        ));
    }
    if report.spared > 0 {
        let spared = n(report.spared);
        out.line(format!(
            "  {spared} were selected by the interrupted purge, which now leaves them"
        ));
    }
    match (is_removal, report.blocked) {
        (_, 0) => {}
        (true, blocked) => out.line(format!(
            "  {} blocked for a text or key equal to theirs: --no-block leaves such documents alone",
            count(blocked, "other document is", "other documents are")
        )),
        (false, blocked) => out.line(format!(
            "  {} stay blocked by other removed documents of the same text or key",
            n(blocked)
        )),
    }
}

/// Erase documents from the disk, and all that quotes them.
///
/// The documents are removed first, as by `remove`; already removed ones are erased, too. A key means every version
/// stored under it. Other documents with the same text keep it. Equal texts and new content under the same keys are not
/// stored again. Purged documents cannot be restored, and their ids are never reused. After an interrupt run the same
/// command again, or name no document: it continues.
#[derive(clap::Args)]
pub(super) struct PurgeArgs {
    /// Ids or keys of documents: digits are an id, `key:5` is the key 5. By default none: an interrupted purge is finished.
    #[arg(value_name = "ID|KEY", value_parser = parse_document)]
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
    /// Also erase every other document that holds the same text: of the same bytes, equal under the normaliser, or a near
    /// duplicate by the policy.
    #[arg(long)]
    copies: bool,
    #[command(flatten)]
    removal: RemovalArgs,
    /// Erase the documents even if snapshots or plans have them, or stored expressions and recipes quote them.
    ///
    /// The snapshots lose them, the plans can no longer be opened, and the quotes are redacted.
    #[arg(long)]
    force: bool,
    /// Search every row and every file for everything that was ever purged, and write a certificate to this file.
    #[arg(long, value_name = "FILE.json", conflicts_with = "dry_run", value_parser = on_disk())]
    prove: Option<PathBuf>,
}

/// What was erased, and the snapshots, plans and quotes that had the documents.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "PurgeReport")]
pub(super) struct PurgeAnswer {
    #[serde(flatten)]
    report: PurgeReport,
    /// The documents that the condition selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    selection: Option<Selection>,
    /// The snapshots, plans and quotes that had the documents.
    shown_by: Dependents,
    /// The result of the search for traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<ProofSummary>,
    #[serde(skip)]
    certificate: Option<Certificate>,
    /// What was typed into the shell on this machine, where there is some: it may quote what was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<PathBuf>,
}

/// What the search came to, but for the lists that the certificate has.
#[derive(Serialize, schemars::JsonSchema)]
struct ProofSummary {
    clean: bool,
    certificate: PathBuf,
    purged: u64,
    runs: u64,
    shared_runs: u64,
    found: u64,
    copies_left: u64,
    files: usize,
}

impl Verb for PurgeArgs {
    const PATH: &str = "purge";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Writer.purge");
    const EXAMPLES: &[&str] = &[
        "corpusdb purge crawl https://example.org/page --reason \"request 2026-117\" --prove proof.json",
        "corpusdb purge crawl https://example.org/page --copies --dry-run",
        "corpusdb purge crawl --where \"standing = 'removed' AND source = 'web'\" --force",
        "corpusdb purge crawl --prove proof.json",
    ];
    const DRY_RUN: DryRun = DryRun::Copy;
    const MANNERS: Manners = Manners::STOPS;
    type On = CorpusPath;
    type Report = PurgeAnswer;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let mut writer = call.options.open_writer(path)?;
        let corpus = writer.corpus();
        let (mut documents, selection) = self.select(&corpus, call)?;
        if self.copies {
            let copies = corpus.copies_of(&documents.documents, &call.context)?.all;
            note_copies(&corpus, &copies, call)?;
            documents.documents |= copies;
        }
        let shown_by = corpus.shown_by(&documents.documents)?;
        note_shown(&shown_by, call);
        if let Some(unended) = unended(&corpus)? {
            call.note(&unended);
        }
        drop(corpus);
        let request = self.removal.request(self.condition.as_deref());
        let report = writer.purge(documents, request, self.force, &call.context)?;
        let mut writer = writer.reopen()?;
        let certificate = match &self.prove {
            None => None,
            Some(file) => Some(writer.prove_purge(Some(file), now(), &call.context)?),
        };
        if let Some(file) = &self.prove {
            call.wrote(file, "the certificate, JSON".to_owned(), "");
        }
        let proof = self.prove.zip(certificate.as_ref()).map(|(file, found)| ProofSummary {
            clean: found.clean,
            certificate: file,
            purged: found.purged,
            runs: found.runs,
            shared_runs: found.shared_runs,
            found: found.found,
            copies_left: found.copies_left,
            files: found.files.len(),
        });
        let is_there = |file: &PathBuf| report.purged > 0 && file.exists();
        let history = history_file().filter(is_there);
        Ok(PurgeAnswer { report, selection, shown_by, proof, certificate, history })
    }
}

/// Names the documents that a purge takes beside those that were asked for.
fn note_copies(
    corpus: &Corpus,
    copies: &RoaringTreemap,
    call: &VerbCall<'_>,
) -> anyhow::Result<()> {
    let mut names = Vec::new();
    for id in copies.iter().take(COPIES) {
        let key = corpus.view().key(DocId(id)).map_err(corpusdb::Error::from)?;
        names.push(key.unwrap_or_else(|| format!("id:{id}")));
    }
    let more = copies.len() - names.len() as u64;
    if more > 0 {
        names.push(format!("and {} more", number(more)));
    }
    let added = count(copies.len(), "document", "documents");
    call.note(&match copies.is_empty() {
        true => "--copies adds no document".to_owned(),
        false => format!("--copies adds {added}: {}", names.join(", ")),
    });
    Ok(())
}

impl PurgeArgs {
    /// The documents that arguments name, or those of a condition.
    fn select(
        &self,
        corpus: &Corpus,
        call: &VerbCall<'_>,
    ) -> anyhow::Result<(PurgeSelection, Option<Selection>)> {
        if let Some(condition) = &self.condition {
            let selection = find::selection(corpus, condition, call)?;
            return Ok((selection.documents.clone().into(), Some(selection)));
        }
        let (mut ids, mut keys) = (Vec::new(), Vec::new());
        for document in &self.documents {
            match DocumentName::unambiguous(corpus, document)? {
                DocumentName::Key(key) => keys.push(key),
                id => ids.extend(id.documents(corpus, call.note)?),
            }
        }
        let mut found = corpus.keys_to_purge(keys)?;
        found.documents.extend(ids.iter().map(|id| id.0));
        Ok((found, None))
    }
}

/// Documents of an unfinished purge that are named, at most.
const NAMED: usize = 5;

/// The note on an interrupted purge, which is finished first; its documents have keys only until then.
fn unended(corpus: &Corpus) -> anyhow::Result<Option<String>> {
    let documents = corpus.unended_purge()?;
    let (view, mut keys) = (corpus.view(), Vec::new());
    for document in documents.iter().take(NAMED).map(DocId) {
        keys.push(view.display_key(document)?);
    }
    let more = if documents.len() as usize > NAMED { ", .." } else { "" };
    Ok((!documents.is_empty()).then(|| {
        format!(
            "an interrupted purge is finished first: {} documents ({}{more}); `corpusdb restore` restores those that are not erased yet",
            number(documents.len()),
            keys.join(", ")
        )
    }))
}

fn note_shown(shown_by: &Dependents, call: &VerbCall<'_>) {
    for (name, documents) in &shown_by.snapshots {
        call.note(&format!("snapshot `{name}` keeps {} of these documents", number(*documents)));
    }
    for (number_of, documents) in &shown_by.plans {
        call.note(&format!("plan {number_of} draws {} of these documents", number(*documents)));
    }
    for words in &shown_by.quoted_by {
        call.note(&format!("{words} quotes one of these documents"));
    }
}

impl Report for PurgeAnswer {
    const TYPE: &'static str = "purge";

    fn print(&self, out: &mut Output) {
        print_purge(&self.report, out);
        if let Some(history) = &self.history {
            let history = history.display();
            out.line(format!("  {history} has what was typed into `corpusdb sql`, and stays"));
        }
        if let Some(certificate) = &self.certificate {
            print_proof(certificate, out);
        }
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::of(self.certificate.as_ref().is_none_or(|found| found.clean))
    }
}

fn print_purge(report: &PurgeReport, out: &mut Output) {
    let n = number;
    let verb = if out.is_dry_run() { "would purge" } else { "purged" };
    let purged = count(report.purged, "document", "documents");
    let copies = &report.copies_left;
    let standings = copies.standings.iter().map(|(name, count)| format!("{} {name}", n(*count)));
    out.line(match copies.count() {
        0 => format!("{verb} {purged}; no other document holds their text"),
        left => format!(
            "{verb} {purged}; {} their text or a near copy ({} of the same bytes, {} normalised, {} near; {}): --copies takes these too",
            count(left, "other document holds", "other documents hold"),
            n(copies.same_bytes),
            n(copies.normalised),
            n(copies.near),
            standings.collect::<Vec<_>>().join(", ")
        ),
    });
    for (count, what) in [
        (report.resumed, "belong to an interrupted purge"),
        (report.unchanged, "were purged before"),
        (report.removed, "are now removed"),
        (report.kept_again, "others are kept again"),
        (report.blocked, "others with such texts are blocked (--no-block leaves them alone)"),
        (report.moved_texts, "texts belong to other documents, too, and stay"),
        (report.snapshots, "snapshots lost some of them"),
        (report.rejects, "rejected records quoted them and are gone"),
        (report.redacted, "expressions, recipes and records quoted them and are redacted"),
        (report.values, "values of fields that no other document has are gone"),
        (
            report.outputs,
            "outputs on record had some of them, or may have: `corpusdb who` lists them",
        ),
        (report.verdicts, "verdicts on texts that no other document has are gone"),
    ] {
        if count > 0 {
            out.line(format!("  {} {what}", n(count)));
        }
    }
    for name in &report.names_left {
        out.line(format!("  {name}"));
    }
    if report.held {
        out.line("  the files are not rewritten yet: run the same command again");
    }
    for name in &report.checkpoints {
        out.line(format!("  the checkpoint {name} is removed"));
    }
}

fn print_proof(found: &Certificate, out: &mut Output) {
    let n = number;
    let rows: u64 = found.families.iter().map(|family| family.rows).sum();
    let bytes: u64 = found.files.iter().map(|file| file.bytes).sum();
    out.line(format!(
        "searched {} rows and {} files ({}) for {} runs of {} purged documents",
        n(rows),
        n(found.files.len() as u64),
        size(bytes),
        n(found.runs),
        n(found.purged)
    ));
    if found.shared_runs > 0 {
        let shared = n(found.shared_runs);
        out.line(format!("  {shared} of the runs also occur in other stored documents"));
    }
    if found.sketches > 0 {
        let sketches = n(found.sketches);
        out.line(format!("  {sketches} sketches stay, since similar texts are blocked"));
    }
    for twin in &found.twins {
        out.line(format!("  {twin} belongs to another process, and is not searched"));
    }
    for table in &found.other_tables {
        out.line(format!("  {table} is no table of the corpus, and its rows are not searched"));
    }
    for output in &found.outputs {
        out.line(format!(
            "  output {} ({} to {}) {} {} of them",
            output.number,
            output.kind.name(),
            output.destination,
            if output.certain { "had" } else { "may have had" },
            n(output.documents)
        ));
    }
    if found.copies_left > 0 {
        out.line(format!(
            "  {} a purged text byte for byte",
            count(found.copies_left, "document holds", "documents hold")
        ));
    }
    if found.without_runs > 0 {
        let short = n(found.without_runs);
        out.line(format!("  {short} of the documents are too short for a search"));
    }
    for finding in &found.findings {
        let (of, document) = (finding.of, finding.document);
        out.line(format!("  {of} of document {document} in {}", finding.place));
    }
    for verb in &found.mended_by {
        let drop = if *verb == "rejects" { " --drop" } else { "" };
        out.line(format!("  `corpusdb {verb}{drop}` mends what holds some of these"));
    }
    let answer = if found.clean { "no trace of them is left" } else { "some traces are left" };
    out.line(format!("  {answer}"));
}
