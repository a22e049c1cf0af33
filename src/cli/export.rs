//! `corpusdb export`: documents as files that other programs read.

use super::setup::{CommandSession, bytes, stores};
use super::{Outcome, print};
use corpusdb::export::{
    ExportCompression, ExportEstimate, ExportFormat, ExportJob, ExportManifest, ExportOptions,
};
use serde::Serialize;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Write documents to a file or a directory: JSON lines, Parquet, Arrow, CSV or text
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  corpusdb export crawl --to kept.jsonl.zst
  corpusdb export crawl --where \"language = 'en' AND quality > 0.5\" --to english.parquet
  corpusdb export crawl --to shards --format parquet --partition-by source,language
  corpusdb export crawl --columns key,text --to - --format csv | head
  corpusdb export crawl --snapshot v1 --columns key,text,meta --to v1.arrow
  corpusdb export crawl --duplicates --to removed.parquet
  corpusdb export crawl --to s3://bucket/kept/ --format parquet
  corpusdb ingest other kept.jsonl.zst --source web --id-field key

The same corpus and options give the same bytes. After an interrupt run the same command again: it
goes on behind the last finished file.")]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// The file or directory to make, also in a store (s3://, gs://, az://); `-` for standard output (jsonl, csv, text,
    /// arrow)
    #[arg(long, value_name = "FILE|DIR")]
    to: PathBuf,
    /// A SQL boolean expression over `documents`, which narrows the kept documents down
    #[arg(long = "where", value_name = "SQL")]
    condition: Option<String>,
    /// Documents of any standing, not only kept ones
    #[arg(long)]
    all: bool,
    /// The documents that this snapshot has as kept, instead of those kept now
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
    /// Pairs instead of documents: removed duplicates beside their witnesses; --where is on the removed ones
    #[arg(long)]
    duplicates: bool,
    /// The form of the files [default: by the ending of --to: .jsonl, .parquet, .arrow, .csv, .txt]
    #[arg(long, value_parser = format, value_name = "jsonl|parquet|arrow|csv|text")]
    format: Option<ExportFormat>,
    /// Columns of `documents`, separated by commas; `meta` is all fields of a record as JSON, `meta.*` each of them at
    /// top level, for jsonl [default: key, source, text and all fields]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    columns: Option<Vec<String>>,
    /// none, zstd or gzip; for Parquet also snappy or lz4 [default: by the ending of --to (.zst, .gz); Parquet: zstd]
    #[arg(long, value_parser = compression, value_name = "NAME")]
    compression: Option<ExportCompression>,
    /// Size at which a file of a directory ends [default: 256MiB]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    shard_bytes: Option<u64>,
    /// Directories by the values of these columns, as Hive has them: source, language, declared keywords
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    partition_by: Vec<String>,
    /// What stands behind each text of --format text [default: a line break]
    #[arg(long, value_name = "TEXT")]
    separator: Option<String>,
    /// Replace the file, or the directory that an export wrote
    #[arg(long)]
    force: bool,
    /// Say how many documents and bytes of text it would be, and write nothing
    #[arg(long)]
    dry_run: bool,
}

fn format(name: &str) -> Result<ExportFormat, String> {
    ExportFormat::from_name(name)
        .ok_or_else(|| "there is jsonl, parquet, arrow, csv and text".to_owned())
}

fn compression(name: &str) -> Result<ExportCompression, String> {
    ExportCompression::from_name(name)
        .ok_or_else(|| "there is none, zstd, gzip, snappy and lz4".to_owned())
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let options = ExportOptions {
        condition: args.condition,
        all: args.all,
        snapshot: args.snapshot,
        duplicates: args.duplicates,
        format: args.format,
        columns: args.columns,
        compression: args.compression,
        shard_bytes: args.shard_bytes,
        partition_by: args.partition_by,
        separator: args.separator,
    };
    let corpus = session.read(&args.corpus)?;
    let stream = args.to == Path::new("-");
    if args.dry_run {
        estimated(corpus.export_estimate(&options)?, session)?;
    } else if stream {
        let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout());
        corpus.export_stream(&options, &mut out, &session.context())?;
        out.flush()?;
    } else {
        let to = args.to.as_path();
        let stores = stores();
        let job = ExportJob { to, stores: Some(&stores), force: args.force };
        let started = Instant::now();
        let manifest = corpus.export(&options, &job, &session.context())?;
        written(&manifest, to, started.elapsed().as_secs_f64(), session)?;
    }
    Ok(Outcome::Good)
}

fn estimated(estimate: ExportEstimate, session: &CommandSession) -> anyhow::Result<()> {
    if session.json {
        return print::report("export", &estimate, true);
    }
    print::line(&format!(
        "{} documents with {} of text",
        print::number(estimate.documents),
        print::size(estimate.text_bytes)
    ))
}

fn written(
    manifest: &ExportManifest,
    to: &Path,
    seconds: f64,
    session: &CommandSession,
) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Report<'a> {
        #[serde(flatten)]
        manifest: &'a ExportManifest,
        to: std::borrow::Cow<'a, str>,
        seconds: f64,
        dry_run: bool,
    }
    if session.json {
        let report = Report { manifest, to: to.to_string_lossy(), seconds, dry_run: false };
        return print::typed("export", &report);
    }
    let files = match manifest.files.len() {
        1 => "1 file".to_owned(),
        more => format!("{} files", print::number(more as u64)),
    };
    print::line(&format!(
        "{}: {} rows, {} in {files} ({:.1} s)",
        to.display(),
        print::number(manifest.rows),
        print::size(manifest.bytes),
        seconds
    ))
}
