//! `corpusdb migrate`: brings a corpus of an older release up to this one's store format.

use super::setup::CommandSession;
use super::{Outcome, print};
use std::path::PathBuf;

/// Bring a corpus of an older release up to the store format of this one
///
/// Any verb that writes does so too; readers ask for it. Before the first step a copy made of hard links is left in the
/// corpus as `before-format-N`: remove it when all is well.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  corpusdb migrate crawl")]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let writer = session.write(&args.corpus)?;
    let format = corpusdb::store::format_version();
    if session.json {
        let documents = writer.view().documents();
        print::json(
            &serde_json::json!({ "type": "migrate", "format": format, "documents": documents }),
        )?;
    } else {
        print::line(&format!("{} has store format {format}", args.corpus.display()))?;
    }
    Ok(Outcome::Good)
}
