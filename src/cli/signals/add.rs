//! `corpusdb signals add`: scores of all texts as fields, now and of whatever comes.

use super::Which;
use crate::cli::session::CommandSession;
use crate::cli::{Outcome, print};
use corpusdb::curate::{NewField, NewSignals};

/// Store signals as fields: of all documents now, and of every document that comes
///
/// One pass over the texts, in commits that can be interrupted: run the same command again. They are seen from the last
/// commit on. The values stand in the metadata, as `signals.NAME`; a record that comes again without change is still
/// recognised. What is stored already stays as it is.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb signals add crawl --set gopher\n  corpusdb signals add crawl --set all\n  corpusdb signals add crawl lang lang_score compression_ratio"
)]
pub(in crate::cli) struct Add {
    #[command(flatten)]
    which: Which,
    /// Documents of one commit, at most
    #[arg(long, value_name = "N", default_value_t = NewField::BATCH, value_parser = clap::value_parser!(u64).range(1..))]
    batch_rows: u64,
    /// Report what would be stored, but change nothing (works on a copy that is removed)
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Add, session: &CommandSession) -> anyhow::Result<Outcome> {
    let new = NewSignals { signals: args.which.signals(), batch: args.batch_rows };
    let target = session.target(&args.which.corpus, args.dry_run)?;
    let mut writer = session.write(target.path())?;
    let report = writer.add_signals(&new, &session.context())?;
    if session.json {
        print::report("signals_add", &report, args.dry_run)?;
        return Ok(Outcome::Good);
    }
    let added: Vec<&str> =
        report.signals.iter().filter(|name| !report.known.contains(name)).copied().collect();
    if !report.known.is_empty() {
        print::line(&format!("stored already: {}", report.known.join(", ")))?;
    }
    if !added.is_empty() {
        let documents = print::number(report.documents);
        print::line(&format!(
            "{} signals of {documents} documents: {}",
            added.len(),
            added.join(", ")
        ))?;
        print::line("every document that comes is given them")?;
    }
    Ok(Outcome::Good)
}
