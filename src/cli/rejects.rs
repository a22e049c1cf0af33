//! `corpusdb rejects`: the records that could not be read, listed and forgotten.

use super::setup::CommandSession;
use super::{Outcome, print};
use corpusdb::curate::RejectSelection;
use std::path::{Path, PathBuf};

/// List the records that could not be read, with reason, position and raw bytes
///
/// A record that can be read when its file is ingested again is listed no more. `corpusdb rejects drop` forgets those
/// that nobody will mend. A corpus whose directory is called `drop` is given as `./drop`.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  corpusdb rejects crawl\n  corpusdb rejects crawl --json | jq -r .raw"
)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The corpus
    #[arg(required = true)]
    corpus: Option<PathBuf>,
    /// At most so many
    #[arg(long, default_value_t = 1000, value_name = "N")]
    limit: usize,
}

#[derive(clap::Subcommand)]
enum Verb {
    Drop(Drop),
}

/// Forget records that could not be read: all, or those of a source or of files
///
/// What the files still give comes back when they are read again (`ingest --reread`).
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb rejects drop crawl --dry-run\n  corpusdb rejects drop crawl --source web\n  corpusdb rejects drop crawl --path /data/2024"
)]
struct Drop {
    /// The corpus
    corpus: PathBuf,
    /// Those of this source
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Those of this file, or of the files in this directory; what is not there any more as `corpusdb rejects` lists it
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Say what would change, and change nothing (works on a copy that is removed)
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    /// Whether Ctrl-C is looked for, to stop where nothing is lost.
    pub(super) const fn has_safe_points(&self) -> bool {
        self.verb.is_some()
    }
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    match (args.verb, args.corpus) {
        (Some(Verb::Drop(args)), _) => drop_rejects(args, session),
        (None, corpus) => list(&corpus.unwrap_or_default(), args.limit, session),
    }
}

fn drop_rejects(args: Drop, session: &CommandSession) -> anyhow::Result<Outcome> {
    let target = session.target(&args.corpus, args.dry_run)?;
    let mut writer = session.write(target.path())?;
    let path = args.path.map(as_listed);
    let selection = RejectSelection { source: args.source, path };
    let report = writer.drop_rejects(&selection, &session.context())?;
    if session.json {
        print::report("rejects_drop", &report, args.dry_run)?;
        return Ok(Outcome::Good);
    }
    let verb = if args.dry_run { "would forget" } else { "forgot" };
    let (dropped, left) = (print::number(report.dropped), print::number(report.left));
    let size = print::size(report.bytes);
    print::line(&format!("{verb} {dropped} rejected records ({size}); {left} are left"))?;
    Ok(Outcome::Good)
}

/// A path as an ingest calls it, where something is there.
fn as_listed(path: String) -> String {
    let there = Path::new(&path);
    let (Some(parent), Some(name)) = (there.parent(), there.file_name()) else { return path };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    match parent.canonicalize() {
        Ok(parent) if there.exists() => parent.join(name).to_string_lossy().into_owned(),
        _ => path,
    }
}

fn list(path: &Path, limit: usize, session: &CommandSession) -> anyhow::Result<Outcome> {
    let corpus = session.read(path)?;
    let total = corpus.view().state().rejects;
    let mut shown = 0_u64;
    for reject in corpus.rejects(limit)? {
        let reject = reject?;
        shown += 1;
        let raw = String::from_utf8_lossy(&reject.raw);
        if session.json {
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
    } else if total == 0 && !session.json {
        print::talk("no rejected records");
    }
    Ok(Outcome::Good)
}
