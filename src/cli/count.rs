//! `corpusdb count`: how many documents satisfy a condition.

use super::setup::Context;
use super::{Outcome, print};
use std::path::PathBuf;

/// Count documents
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb count crawl\n  corpusdb count crawl --where \"kept AND language = 'en' AND tokens > 1000\""
)]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// A SQL boolean expression over `documents`; without one all stored documents count, kept or not
    #[arg(long = "where", value_name = "SQL")]
    condition: Option<String>,
}

pub(super) fn run(args: Args, context: &Context) -> anyhow::Result<Outcome> {
    let count = context.read(&args.corpus)?.count(args.condition.as_deref())?;
    if context.json {
        print::json(
            &serde_json::json!({ "type": "count", "where": args.condition, "documents": count }),
        )?;
    } else {
        print::line(&count.to_string())?;
    }
    Ok(Outcome::Good)
}
