//! `corpusdb check`: is everything as it must be?

use super::setup::CommandSession;
use super::{Outcome, print};
use corpusdb::store::CheckDepth;
use std::path::PathBuf;

/// Check a corpus: journal, bitmaps and counters; every file's checksums; with --deep every derived thing
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb check crawl\n  corpusdb check crawl --deep\n  corpusdb check crawl --digest\n\nExit code 1 when faults are found."
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
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
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
        for fault in &faults {
            print::line(&format!("{}: {}", fault.place, fault.what))?;
        }
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
