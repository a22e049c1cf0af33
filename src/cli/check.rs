//! `corpusdb check`: is everything as it must be?

use super::setup::CommandSession;
use super::{Outcome, print};
use corpusdb::store::{CheckDepth, CheckFault};
use corpusdb::{Corpus, RepairReport, SalvageReport};
use std::path::PathBuf;

/// Check a corpus: journal, bitmaps and counters; every file's checksums; with --deep every derived thing. Repair what is
/// damaged and follows from other rows; copy what is whole
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb check crawl\n  corpusdb check crawl --deep\n  corpusdb check crawl --digest\n  corpusdb check crawl --repair\n  corpusdb check crawl --salvage rescued\n\nExit code 1 when faults are found, or something is lost."
)]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// Recompute everything that is derived from the documents
    #[arg(long)]
    deep: bool,
    /// Journal, bitmaps and counters only
    #[arg(long, conflicts_with = "deep")]
    quick: bool,
    /// Print one hash over what the corpus means, instead of checking
    #[arg(long, conflicts_with_all = ["deep", "quick"])]
    digest: bool,
    /// Make again what is damaged and follows from other rows; goes on where a repair was stopped
    #[arg(long, conflicts_with_all = ["deep", "quick", "digest"])]
    repair: bool,
    /// Copy what is whole into a new corpus, and list what is not
    #[arg(long, value_name = "NEW", conflicts_with_all = ["deep", "quick", "digest", "repair"])]
    salvage: Option<PathBuf>,
}

impl Args {
    /// Whether it stops where nothing is lost when it is asked to.
    pub(super) const fn has_safe_points(&self) -> bool {
        self.repair || self.salvage.is_some()
    }
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let options = Corpus::options().memory(session.memory).threads(session.threads);
    if args.repair {
        let report = options.repair(&args.corpus, &session.context())?;
        return print_repair(&report, session.json);
    }
    if let Some(target) = &args.salvage {
        let report = options.salvage(&args.corpus, target, &session.context())?;
        return print_salvage(&report, session.json);
    }
    let corpus = session.read(&args.corpus)?;
    let (documents, commit) = (corpus.view().documents(), corpus.view().commit().0);
    if args.digest {
        let digest = corpus.digest(&session.context())?;
        if session.json {
            print::json(
                &serde_json::json!({ "type": "digest", "digest": digest, "commit": commit, "documents": documents }),
            )?;
        } else {
            print::line(&digest)?;
        }
        return Ok(Outcome::Good);
    }
    let depth = match (args.deep, args.quick) {
        (true, _) => CheckDepth::Deep,
        (_, true) => CheckDepth::Quick,
        _ => CheckDepth::Full,
    };
    let faults = corpus.check(depth, &session.context())?;
    let crowded = corpus.view().crowded()?.len();
    if session.json {
        print::json(
            &serde_json::json!({ "type": "check", "commit": commit, "documents": documents, "crowded": crowded, "faults": faults }),
        )?;
    } else {
        print_faults(&faults)?;
        if crowded > 0 {
            print::line(&format!(
                "note: {} documents have candidates that were not compared; `corpusdb dedup settle` compares them",
                print::number(crowded)
            ))?;
        }
        let verdict =
            if faults.is_empty() { "sound".to_owned() } else { format!("{} faults", faults.len()) };
        print::line(&format!(
            "{verdict}: commit {commit}, {} documents",
            print::number(documents)
        ))?;
    }
    Ok(if faults.is_empty() { Outcome::Good } else { Outcome::Bad })
}

fn print_faults(faults: &[CheckFault]) -> anyhow::Result<()> {
    for fault in faults {
        print::line(&format!("{}: {}", fault.place, fault.what))?;
    }
    Ok(())
}

fn print_repair(report: &RepairReport, as_json: bool) -> anyhow::Result<Outcome> {
    let outcome = if report.is_sound() { Outcome::Good } else { Outcome::Bad };
    if as_json {
        print::typed("repair", report)?;
        return Ok(outcome);
    }
    for rows in &report.lost {
        print::line(&format!("lost: {}: {}", rows.family, rows.what))?;
    }
    if !report.lost.is_empty() {
        print::line(
            "beyond repair, and nothing was changed: restore a backup, or copy what is whole: `corpusdb check CORPUS --salvage NEW`",
        )?;
        return Ok(outcome);
    }
    print_faults(&report.faults)?;
    let made = match report.repaired.as_slice() {
        [] => "nothing to repair".to_owned(),
        families => format!("made again: {}", families.join(", ")),
    };
    print::line(&made)?;
    let verdict = match report.faults.len() {
        0 => "sound".to_owned(),
        count => format!("{count} faults are beyond repair"),
    };
    let (commit, documents) = (report.commit, print::number(report.documents));
    print::line(&format!("{verdict}: commit {commit}, {documents} documents"))?;
    Ok(outcome)
}

fn print_salvage(report: &SalvageReport, as_json: bool) -> anyhow::Result<Outcome> {
    let outcome = if report.lost == 0 { Outcome::Good } else { Outcome::Bad };
    if as_json {
        print::typed("salvage", report)?;
        return Ok(outcome);
    }
    for document in &report.listed {
        let key = document.key.as_ref().map_or_else(String::new, |key| format!(" ({key})"));
        print::line(&format!("lost: document {}{key}: {}", document.document, document.why))?;
    }
    if report.lost > 0 {
        let (count, which) = (print::number(report.lost), &report.lost_documents);
        print::line(&format!("lost in all: {count} documents: {which}"))?;
    }
    for what in &report.left {
        print::line(&format!("not copied: {what}"))?;
    }
    let (copied, all) = (print::number(report.copied), print::number(report.documents));
    let (removed, purged) = (print::number(report.removed), print::number(report.purged));
    print::line(&format!(
        "copied {copied} of {all} documents; {removed} were removed and are again, of {purged} purged ones nothing is left"
    ))?;
    Ok(outcome)
}
