//! `corpusdb field`: values from outside for declared fields.

use super::setup::{Context, bytes};
use super::{Outcome, print};
use corpusdb::ingest::{JoinBy, JoinOptions, JoinReport, ReadOptions};
use std::path::PathBuf;

/// Give declared fields of stored documents values from outside, such as perplexities and quality scores
#[derive(clap::Subcommand)]
pub(super) enum Verb {
    Set(Set),
}

/// Set a declared field of stored documents from a file of ids or keys with values
///
/// Columns and postings follow; a null in JSON takes a value away. With a key, the newest document of it is meant. Of several
/// records for one document the last counts. Each 8,192 records are one commit; run the same command again after an
/// interrupt. A record ingested again without change keeps the value; new content under its key has its own.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb field set crawl perplexity --from scores.parquet --id document\n  corpusdb field set crawl quality --from scores.jsonl.zst --key url --value score --source web\n  corpusdb sql crawl \"SELECT id, key FROM documents WHERE kept\" --format json > to-score.jsonl\n\nExit code 1 when no record names a stored document."
)]
pub(super) struct Set {
    /// The corpus
    corpus: PathBuf,
    /// The field, as declared at `init`
    field: String,
    /// Parquet or JSON lines, plain or compressed; `-` reads JSON lines from standard input
    #[arg(long = "from", required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The field of the records that has the document's id
    #[arg(long, value_name = "FIELD", required_unless_present = "key", conflicts_with = "key")]
    id: Option<String>,
    /// The field of the records that has the key that the document was ingested with
    #[arg(long, value_name = "FIELD")]
    key: Option<String>,
    /// Only documents of this source; a key may stand in several
    #[arg(long, value_name = "NAME", requires = "key")]
    source: Option<String>,
    /// The field of the records that has the value [default: the name of the declared field]
    #[arg(long, value_name = "FIELD")]
    value: Option<String>,
    /// Longest value accepted
    #[arg(long, value_name = "BYTES", default_value = "1MiB", value_parser = bytes)]
    max_value_bytes: u64,
    /// Report what would change, but change nothing (works on a copy that is removed)
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(verb: Verb, context: &Context) -> anyhow::Result<Outcome> {
    let Verb::Set(set) = verb;
    let by = match (set.id, set.key) {
        (Some(field), _) => JoinBy::Id(field),
        (None, Some(field)) => JoinBy::Key(field),
        (None, None) => anyhow::bail!("give --id or --key"),
    };
    let options = JoinOptions {
        field: set.field,
        value: set.value,
        by,
        source: set.source,
        read: ReadOptions { max_doc_bytes: set.max_value_bytes, ..ReadOptions::default() },
    };
    let target = context.target(&set.corpus, set.dry_run)?;
    let mut writer = context.write(target.path())?;
    let progress = context.progress.as_ref();
    let report = writer.set_field(&set.files, &options, progress, &context.interrupt)?;
    if context.json {
        print::report("field_set", &report, set.dry_run)?;
    } else {
        show(&report, set.dry_run)?;
    }
    let is_bad = report.records > 0 && report.changed + report.unchanged == 0;
    Ok(if is_bad { Outcome::Bad } else { Outcome::Good })
}

fn show(report: &JoinReport, dry_run: bool) -> anyhow::Result<()> {
    let n = print::number;
    let would = if dry_run { "would change" } else { "changed" };
    print::line(&format!(
        "{}: {} records; {would} {} documents, {} had the value already",
        report.field,
        n(report.records),
        n(report.changed),
        n(report.unchanged)
    ))?;
    if report.without_value > 0 {
        print::line(&format!(
            "  {} records have no value and were passed over",
            n(report.without_value)
        ))?;
    }
    if report.unknown > 0 {
        print::line(&format!(
            "  {} records name no stored document: {}",
            n(report.unknown),
            report.unknown_examples.join(", ")
        ))?;
    }
    Ok(())
}
