//! `corpusdb count`: how many documents satisfy a condition.

use super::setup::CommandSession;
use super::{Outcome, print};
use corpusdb::query::DocumentFilter;
use std::path::PathBuf;

/// Count documents
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb count crawl\n  corpusdb count crawl --where \"kept AND language = 'en' AND tokens > 1000\"\n  corpusdb count crawl --snapshot june --where \"source = 'web'\""
)]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// A SQL boolean expression over `documents`; without one all stored documents count, kept or not
    #[arg(long = "where", value_name = "SQL")]
    condition: Option<String>,
    /// Only documents that this snapshot keeps; the columns of the condition are today's, `kept` too
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let corpus = session.read(&args.corpus)?;
    let (condition, snapshot) = (args.condition.clone(), args.snapshot.clone());
    let count = corpus.count(DocumentFilter { condition, snapshot, source: None })?;
    if session.json {
        let mut answer =
            serde_json::json!({ "type": "count", "where": args.condition, "documents": count });
        if let (Some(snapshot), Some(answer)) = (args.snapshot, answer.as_object_mut()) {
            answer.insert("snapshot".to_owned(), snapshot.into());
        }
        print::json(&answer)?;
    } else {
        print::line(&count.to_string())?;
    }
    Ok(Outcome::Good)
}
