//! `corpusdb sample`: a few documents, at random but reproducibly.

use super::setup::CommandSession;
use super::{Outcome, print};
use corpusdb::query::DocumentFilter;
use std::path::PathBuf;

/// Show N documents, drawn uniformly; the same selection and seed give the same ones
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb sample crawl -n 3 --where \"kept AND source = 'web'\"\n  corpusdb sample crawl -n 1000 --seed 7 --json > sample.jsonl\n  corpusdb sample crawl --snapshot june"
)]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// How many
    #[arg(short, default_value_t = 5, value_name = "N")]
    n: u64,
    /// Seed of the draw
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// A SQL boolean expression over `documents` [default: kept, or all that --snapshot keeps]
    #[arg(long = "where", value_name = "SQL")]
    condition: Option<String>,
    /// Only documents that this snapshot keeps; the columns of the condition are today's, `kept` too
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let corpus = session.read(&args.corpus)?;
    let snapshot = args.snapshot;
    let condition = args.condition.or_else(|| snapshot.is_none().then(|| "kept".to_owned()));
    let filter = DocumentFilter { condition, snapshot, source: None };
    let drawn = corpus.sample(filter, args.n, args.seed)?;
    for document in drawn {
        let shown = corpus.show(document)?;
        if session.json {
            print::typed("document", &shown)?;
        } else {
            print::line(&format!(
                "--- {} {} ({}, {} bytes)",
                shown.id, shown.key, shown.source, shown.bytes
            ))?;
            let head: String = shown.text.chars().take(400).collect();
            let cut = if head.len() < shown.text.len() { " …" } else { "" };
            print::line(&format!("{}{cut}\n", head.trim_end()))?;
        }
    }
    Ok(Outcome::Good)
}
