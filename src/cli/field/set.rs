//! `corpusdb field set`: values from outside for declared fields.

use crate::cli::ingest::report::misfits;
use crate::cli::setup::{CommandSession, bytes, stores};
use crate::cli::{Outcome, print};
use corpusdb::ingest::{JoinBy, JoinColumn, JoinOptions, JoinReport, ReadOptions};
use std::path::PathBuf;

/// Set declared fields of stored documents from a file of ids or keys with values
///
/// Columns and postings follow; a null in JSON takes a value away. With a key, the newest document of it is meant. Of
/// several values for one field of a document the last counts. A value of another type (NaN and infinity too) is
/// passed over and counted: what the document has stays. No more is held than the records of one commit; run the same
/// command again after an interrupt. A record ingested again without change keeps the values; new content under its
/// key has its own.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb field set crawl --from scores.parquet --on id --columns perplexity,toxicity\n  corpusdb field set crawl --from scores.parquet --on key=url --columns quality=score --source web\n  corpusdb field set crawl perplexity --from scores.parquet --id document\n  corpusdb field set crawl quality --from scores.jsonl.zst --key url --value score --source web\n  corpusdb sql crawl \"SELECT id, key FROM documents WHERE kept\" --format json > to-score.jsonl\n\nExit code 1 when no record has a value that fits for a stored document."
)]
pub(in crate::cli) struct Set {
    /// The corpus
    corpus: PathBuf,
    /// One declared field; several: `--columns`
    #[arg(conflicts_with = "columns")]
    field: Option<String>,
    /// Parquet or JSON lines, plain or compressed; `-` reads JSON lines from standard input
    #[arg(long = "from", required = true, value_name = "FILE")]
    files: Vec<String>,
    /// How records name documents: `id` or `key`, in the field of that name, or in another one: `key=url`
    #[arg(long, value_name = "key|id[=FIELD]", value_parser = on, required_unless_present_any = ["id", "key"])]
    on: Option<JoinBy>,
    /// The fields of the records that have values for the declared fields of those names; under another name:
    /// `quality=score`
    #[arg(long, value_name = "FIELD[=FIELD],..", value_delimiter = ',', value_parser = column)]
    columns: Vec<JoinColumn>,
    /// The field of the records that has the document's id: as `--on id=FIELD`
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["key", "on"])]
    id: Option<String>,
    /// The field of the records that has the key that the document was ingested with: as `--on key=FIELD`
    #[arg(long, value_name = "FIELD", conflicts_with = "on")]
    key: Option<String>,
    /// Only documents of this source; a key may stand in several
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    source: Option<String>,
    /// The field of the records that has the values of the one field [default: the name of the declared field]
    #[arg(long, value_name = "FIELD", conflicts_with = "columns")]
    value: Option<String>,
    /// Longest record of values accepted
    #[arg(long, value_name = "BYTES", default_value = "1MiB", value_parser = bytes)]
    max_value_bytes: u64,
    /// Records of one commit, at most; fewer where they are long
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..))]
    batch_rows: u32,
    /// Stop at the first value of another type; what was committed before it stays
    #[arg(long)]
    strict: bool,
    /// Report what would change, but change nothing (works on a copy that is removed)
    #[arg(long)]
    dry_run: bool,
}

fn on(text: &str) -> Result<JoinBy, String> {
    let (by, field) = text.split_once('=').unwrap_or((text, text));
    match by {
        "id" => Ok(JoinBy::Id(field.to_owned())),
        "key" => Ok(JoinBy::Key(field.to_owned())),
        _ => Err("write id, key, id=FIELD or key=FIELD".to_owned()),
    }
}

fn column(text: &str) -> Result<JoinColumn, String> {
    let (field, column) = text.split_once('=').unwrap_or((text, text));
    Ok(JoinColumn { field: field.to_owned(), column: column.to_owned() })
}

pub(super) fn run(set: Set, session: &CommandSession) -> anyhow::Result<Outcome> {
    let by = match (set.on, set.id, set.key) {
        (Some(by), _, _) => by,
        (None, Some(field), _) => JoinBy::Id(field),
        (None, None, Some(field)) => JoinBy::Key(field),
        (None, None, None) => anyhow::bail!("give --on id or --on key"),
    };
    if matches!(by, JoinBy::Id(_)) && set.source.is_some() {
        anyhow::bail!("--source is for keys: an id is of one document");
    }
    let columns = match set.field {
        Some(field) => {
            let column = set.value.unwrap_or_else(|| field.clone());
            vec![JoinColumn { field, column }]
        }
        None if set.columns.is_empty() => {
            anyhow::bail!("say which FIELD to set, or several: `--columns perplexity,toxicity`")
        }
        None => set.columns,
    };
    let options = JoinOptions {
        columns,
        by,
        source: set.source,
        read: ReadOptions {
            max_doc_bytes: set.max_value_bytes,
            stores: stores(),
            ..ReadOptions::default()
        },
        batch: usize::try_from(set.batch_rows).unwrap_or(JoinOptions::BATCH),
        strict: set.strict,
    };
    let target = session.target(&set.corpus, set.dry_run)?;
    let mut writer = session.write(target.path())?;
    let report = writer.set_field(&set.files, &options, &session.context())?;
    if session.json {
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
    let values = if report.fields.len() > 1 { "values" } else { "value" };
    print::line(&format!(
        "{}: {} records; {would} {} documents, {} had the {values} already",
        report.fields.join(", "),
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
    super::decided_again(report.kept_again, report.no_longer_kept)?;
    misfits(&report.misfits)?;
    if report.unknown > 0 {
        print::line(&format!(
            "  {} records name no stored document: {}",
            n(report.unknown),
            report.unknown_examples.join(", ")
        ))?;
    }
    Ok(())
}
