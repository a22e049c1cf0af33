//! `corpusdb compact`: rewrites the files of a corpus into their most compact form.

use super::setup::CommandSession;
use super::{Outcome, print};
use std::path::PathBuf;

/// Rewrite the files of a corpus into their most compact form
///
/// What is stored stays the same. Worth it after a large ingest, a removal or `dedup redo`; takes about twice the
/// room of the largest family while it works. Ctrl-C stops it between pieces of some 256 MiB, and loses nothing.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  corpusdb compact crawl")]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let size = || -> anyhow::Result<u64> {
        let usage = session.read(&args.corpus)?.view().disk_usage();
        Ok(usage.map_err(corpusdb::Error::from)?.iter().map(|(_, bytes)| bytes).sum())
    };
    let before = size()?;
    let mut writer = session.write(&args.corpus)?;
    writer.compact(&session.context())?;
    drop(writer);
    let after = size()?;
    if session.json {
        print::json(&serde_json::json!({ "type": "compact", "before": before, "after": after }))?;
    } else {
        print::line(&format!("{} in tables, {} before", print::size(after), print::size(before)))?;
    }
    Ok(Outcome::Good)
}
