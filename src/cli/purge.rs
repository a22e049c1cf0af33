//! `corpusdb purge`: documents are erased, and it is proved that nothing of them is left.

use super::remove::{Block, removal};
use super::setup::{self, CommandSession, on_disk};
use super::{Outcome, find, print};
use corpusdb::curate::{BlockReach, Certificate, PurgeReport, PurgeSelection};
use corpusdb::query::Selection;
use corpusdb::{Corpus, DocId, ShownBy};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Erase documents: texts, tokens, fields, keys and whatever quotes them are gone from the disk
///
/// Removes the documents first, as `corpusdb remove` does; what was removed before is erased likewise. A key stands for
/// every version that was stored under it. A text that others have too stays theirs. Equal texts, and what comes under
/// the same keys, are not stored again. Nothing brings the documents back; their numbers are not given again. Goes on
/// where it was stopped, also without any document named.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb purge crawl https://example.org/page --reason \"request 2026-117\" --prove proof.json\n  corpusdb purge crawl --where \"standing = 'removed' AND source = 'web'\" --force\n  corpusdb purge crawl --prove proof.json"
)]
pub(super) struct Args {
    /// The corpus
    pub(super) corpus: PathBuf,
    /// Ids or keys of documents; none: finish what was stopped
    #[arg(value_name = "ID|KEY")]
    pub(super) documents: Vec<String>,
    /// All documents of a SQL condition
    #[arg(long = "where", value_name = "SQL", conflicts_with = "documents")]
    pub(super) condition: Option<String>,
    /// What is not stored again from now on, beside anything under the same keys
    #[arg(long, value_enum, default_value_t = Block::Exact)]
    pub(super) block: Block,
    /// Let the same texts and keys come in again
    #[arg(long, conflicts_with = "block")]
    pub(super) no_block: bool,
    /// Why: kept with the commits, and in the certificate
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
    /// Also where snapshots or plans show the documents, or words in use quote them: the snapshots lose
    /// them, the plans cannot be opened any more, expressions and recipes that quote them are redacted
    #[arg(long)]
    pub(super) force: bool,
    /// Search every row and every file for all that was ever purged, and write the certificate of it to this file
    #[arg(long, value_name = "FILE.json", value_parser = on_disk())]
    pub(super) prove: Option<PathBuf>,
    /// Say what would change, and change nothing (works on a copy that is removed)
    #[arg(long, conflicts_with = "prove")]
    pub(super) dry_run: bool,
}

/// What was done, and what showed the documents before.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    report: &'a PurgeReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    selection: Option<Selection>,
    shown_by: &'a ShownBy,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<Proof<'a>>,
}

/// What the search came to, but for the lists that the certificate has.
#[derive(Serialize)]
struct Proof<'a> {
    clean: bool,
    certificate: &'a Path,
    purged: u64,
    runs: u64,
    shared_runs: u64,
    found: u64,
    files: usize,
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let (documents, selection, shown_by, unended) = {
        let corpus = session.read(&args.corpus)?;
        let (documents, selection) = select(&args, &corpus)?;
        let shown_by = corpus.shown_by(&documents.documents)?;
        (documents, selection, shown_by, unended(&corpus)?)
    };
    tell_shown(&shown_by);
    if let Some(unended) = &unended {
        print::talk(unended);
    }
    let target = session.target(&args.corpus, args.dry_run)?;
    let reach = if args.no_block { BlockReach::Nothing } else { args.block.reach() };
    let asked = removal(reach, args.reason.clone(), args.condition.as_deref());
    let mut writer = session.write(target.path())?;
    let report = writer.purge(documents, asked, args.force, &session.context())?;
    let mut writer = writer.reopen()?;
    let certificate = match &args.prove {
        None => None,
        Some(file) => Some(writer.prove_purge(Some(file), setup::now(), &session.context())?),
    };
    drop(writer);
    let proof = args.prove.as_deref().zip(certificate.as_ref());
    let is_clean = certificate.as_ref().is_none_or(Certificate::is_clean);
    if session.json {
        let proof = proof.map(|(file, found)| of_certificate(file, found));
        let told = Told { report: &report, selection, shown_by: &shown_by, proof };
        print::report("purge", &told, args.dry_run)?;
    } else {
        show(&report, args.dry_run)?;
        if let Some((file, found)) = proof {
            show_proof(file, found)?;
        }
    }
    Ok(if is_clean { Outcome::Good } else { Outcome::Bad })
}

/// The documents that are named; those of the condition.
fn select(args: &Args, corpus: &Corpus) -> anyhow::Result<(PurgeSelection, Option<Selection>)> {
    if let Some(condition) = &args.condition {
        let selection = find::selection(corpus, condition)?;
        return Ok((selection.documents.clone().into(), Some(selection)));
    }
    let (ids, keys): (Vec<_>, Vec<_>) =
        args.documents.iter().partition(|document| document.parse::<u64>().is_ok());
    let mut found = corpus.keys_to_purge(keys.iter().map(|key| key.as_str()))?;
    for id in ids {
        let named = find::documents(corpus, Some(id.as_str()), None)?;
        found.documents.extend(named.iter().map(|id| id.0));
    }
    Ok((found, None))
}

/// Documents named of a purge that was stopped.
const NAMED: usize = 5;

/// What is finished first, whatever is asked for, while its documents still have keys.
fn unended(corpus: &Corpus) -> anyhow::Result<Option<String>> {
    let documents = corpus.unended_purge()?;
    let (view, mut keys) = (corpus.view(), Vec::new());
    for document in documents.iter().take(NAMED).map(DocId) {
        keys.push(view.display_key(document, &view.expect_header(document)?)?);
    }
    let more = if documents.len() as usize > NAMED { ", .." } else { "" };
    Ok((!documents.is_empty()).then(|| {
        format!(
            "a purge that was stopped is finished first: {} documents ({}{more}); `corpusdb restore` takes documents back that are not erased yet",
            print::number(documents.len()),
            keys.join(", ")
        )
    }))
}

fn tell_shown(shown_by: &ShownBy) {
    for (name, documents) in &shown_by.snapshots {
        print::talk(&format!(
            "snapshot `{name}` keeps {} of these documents",
            print::number(*documents)
        ));
    }
    for (number, documents) in &shown_by.plans {
        print::talk(&format!(
            "plan {number} draws {} of these documents",
            print::number(*documents)
        ));
    }
    for words in &shown_by.quoted_by {
        print::talk(&format!("{words} quotes one of these documents"));
    }
}

fn show(report: &PurgeReport, dry_run: bool) -> anyhow::Result<()> {
    let n = print::number;
    let verb = if dry_run { "would purge" } else { "purged" };
    print::line(&format!("{verb} {} documents", n(report.purged)))?;
    for (count, what) in [
        (report.resumed, "are of a purge that had been stopped"),
        (report.unchanged, "were purged before"),
        (report.removed, "were removed for it"),
        (report.kept_again, "others are kept again"),
        (report.blocked, "others have such texts and are blocked"),
        (report.moved_texts, "texts are others' too, and stay theirs"),
        (report.snapshots, "snapshots lost some of them"),
        (report.rejects, "rejected records quoted them and are gone"),
        (report.redacted, "expressions, recipes and records quoted them and are redacted"),
        (report.values, "values of fields that nobody else has are gone"),
        (report.verdicts, "verdicts on texts that nobody else has are gone"),
        (report.texts_rewritten, "texts are compressed by another dictionary"),
    ] {
        if count > 0 {
            print::line(&format!("  {} {what}", n(count)))?;
        }
    }
    if report.held {
        print::line("  the files are not rewritten yet: run the same command again")?;
    }
    for name in &report.checkpoints {
        print::line(&format!("  the checkpoint {name} is removed"))?;
    }
    Ok(())
}

fn of_certificate<'a>(file: &'a Path, found: &Certificate) -> Proof<'a> {
    Proof {
        clean: found.is_clean(),
        certificate: file,
        purged: found.purged,
        runs: found.runs,
        shared_runs: found.shared_runs,
        found: found.found,
        files: found.files.len(),
    }
}

fn show_proof(file: &Path, found: &Certificate) -> anyhow::Result<()> {
    let n = print::number;
    let rows: u64 = found.families.iter().map(|family| family.rows).sum();
    let bytes: u64 = found.files.iter().map(|file| file.bytes).sum();
    print::line(&format!(
        "searched {} rows and {} files ({}) for {} runs of {} purged documents",
        n(rows),
        n(found.files.len() as u64),
        print::size(bytes),
        n(found.runs),
        n(found.purged)
    ))?;
    if found.shared_runs > 0 {
        let shared = n(found.shared_runs);
        print::line(&format!("  {shared} of the runs are of other stored documents too"))?;
    }
    if found.sketches > 0 {
        let sketches = n(found.sketches);
        print::line(&format!("  {sketches} sketches stay, since what is similar is blocked"))?;
    }
    for twin in &found.twins {
        print::line(&format!("  {twin} is a dry run of another process, and is not searched"))?;
    }
    if found.without_runs > 0 {
        let short = n(found.without_runs);
        print::line(&format!("  {short} of the documents are too short to be searched for"))?;
    }
    for finding in &found.findings {
        let (of, document) = (finding.of, finding.document);
        print::line(&format!("  {of} of document {document} in {}", finding.place))?;
    }
    let answer = if found.is_clean() { "nothing of them is left" } else { "not all is gone" };
    print::line(&format!("  {answer}; the certificate is {}", file.display()))
}
