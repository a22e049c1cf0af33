//! `corpusdb rejects`: the records that could not be read.

use super::setup::Context;
use super::{Outcome, print};
use std::path::PathBuf;

/// List the records that could not be read, with reason, position and raw bytes
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb rejects crawl\n  corpusdb rejects crawl --json | jq -r .raw"
)]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// At most so many
    #[arg(long, default_value_t = 1000, value_name = "N")]
    limit: usize,
}

pub(super) fn run(args: Args, context: &Context) -> anyhow::Result<Outcome> {
    let corpus = context.read(&args.corpus)?;
    let total = corpus.view().state().rejects;
    let mut shown = 0_u64;
    for reject in corpus.rejects(args.limit)? {
        let reject = reject?;
        shown += 1;
        let raw = String::from_utf8_lossy(&reject.raw);
        if context.json {
            print::json(&serde_json::json!({
                "type": "reject", "source": reject.source, "path": reject.path, "number": reject.number,
                "offset": reject.offset, "reason": reject.reason, "bytes": reject.bytes, "raw": raw,
            }))?;
            continue;
        }
        let head: String =
            raw.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
        print::line(&format!(
            "{}: record {} (counted from 0, byte {}, source {}): {}: {head}",
            reject.path, reject.number, reject.offset, reject.source, reject.reason
        ))?;
    }
    if shown < total {
        print::talk(&format!("{shown} of {total} shown; --limit shows more"));
    } else if total == 0 && !context.json {
        print::talk("no rejected records");
    }
    Ok(Outcome::Good)
}
