//! `corpusdb sample`: a few documents, at random but reproducibly.

use super::setup::Context;
use super::{Outcome, print};
use std::path::PathBuf;

/// Show N documents, drawn uniformly; the same selection and seed give the same ones
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb sample crawl -n 3 --where \"kept AND source = 'web'\"\n  corpusdb sample crawl -n 1000 --seed 7 --json > sample.jsonl"
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
    /// A SQL boolean expression over `documents`
    #[arg(long = "where", value_name = "SQL", default_value = "kept")]
    condition: String,
}

pub(super) fn run(args: Args, context: &Context) -> anyhow::Result<Outcome> {
    let corpus = context.read(&args.corpus)?;
    for document in corpus.sample(Some(&args.condition), args.n, args.seed)? {
        let shown = corpus.show(document)?;
        if context.json {
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
