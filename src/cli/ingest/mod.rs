//! `corpusdb ingest`: reads files into a corpus.

mod inputs;
pub(super) mod report;

use super::chat::ChatArgs;
use super::setup::{CommandSession, bytes, on_disk};
use super::{Outcome, print};
use clap::ValueEnum;
use corpusdb::ingest::{Alarm, OnDamagedFile, OnError};
use corpusdb::{CorpusWriter, IngestOptions, IngestReport};
use inputs::InputArgs;
use std::path::{Path, PathBuf};

/// Read files into a corpus; what is there already is recognised
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  corpusdb ingest crawl pages.jsonl.zst --source web
  corpusdb ingest crawl 'dump/*.parquet' --source books --text-field body --id-field isbn
  corpusdb ingest crawl reviews.csv --source reviews --text-field review
  corpusdb ingest crawl sentences.txt --source sentences --text-by line
  corpusdb ingest crawl all.arrow --source rest --map text=body,id=url,source=origin
  corpusdb ingest crawl scored.parquet --source web --where \"score > 0.5 AND lang = 'de'\"
  zcat old.gz | corpusdb ingest crawl - --source old
  corpusdb ingest sft chats.jsonl --source chats --chat messages --chat-template Qwen3/
  corpusdb ingest sft alpaca.parquet --source alpaca --chat alpaca
  corpusdb ingest sft ids.jsonl --source ids --pretokenized gpt2
  corpusdb ingest crawl notes/ --source notes --format text --decisions decisions.jsonl

Run the same command again after an interrupt: it goes on where it stopped.
The content that came last under an id wins, also of a file that comes again after another.
Exit code 1 when nothing could be read, or a file is damaged, and with --strict when there is an alarm.")]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// Files, directories (recursive), patterns, or `-` for standard input, also in stores (s3://, gs://, az://,
    /// https://); compression is recognised by content
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// The source the documents belong to: the unit of mixing
    #[arg(long, value_name = "NAME")]
    source: String,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    chat: ChatArgs,
    /// A tokenizer that must be registered (all registered ones encode what is kept)
    #[arg(long = "tokenizer", value_name = "NAME")]
    tokenizers: Vec<String>,
    /// A SQL condition: only records for which it is true come in. Over the fields of a record as they are kept
    /// (absent ones are null), and key, source, text, bytes, chars and meta (all fields as JSON)
    #[arg(long = "where", value_name = "SQL")]
    condition: Option<String>,
    /// What to do with a record that cannot be read
    #[arg(long, value_enum, default_value_t = BadRecord::Reject)]
    on_error: BadRecord,
    /// What to do with a file that is cut off, damaged, or without records of the kind that is read
    #[arg(long, value_enum, default_value_t = DamagedFile::Skip)]
    on_damaged_file: DamagedFile,
    /// Text per commit [default: 1/256 of --memory, 4 MiB to 16 MiB]; changes no decision. Batches that would
    /// have many stored documents decided again are committed together
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    batch_bytes: Option<u64>,
    /// Read files from their start also when size and time say that they have not changed
    #[arg(long)]
    reread: bool,
    /// Decide and report, but change nothing (works on a copy that is removed; needs the room of the ingest)
    #[arg(long)]
    dry_run: bool,
    /// Write one JSON line a record to this file: key, id, standing, kind, witness, similarity
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    decisions: Option<PathBuf>,
    /// Stop before the batch with which more than this share of the documents would be removed as
    /// duplicates (from 10,000 documents on); a share over 0.5 is reported in any case
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_removed: Option<f64>,
    /// Stop before the batch with which more than this share of the records would be rejected (from 1,000 records on, or
    /// when all are read); a share over 0.1 of 100 records or more is reported in any case
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_rejected: Option<f64>,
    /// Raise an alarm when a cluster has more documents than this
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_cluster: u64,
    /// End with exit code 1 when the report has an alarm; what was ingested stays
    #[arg(long)]
    strict: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "write a share between 0 and 1, like 0.5")?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("not between 0 and 1".to_owned()) }
}

#[derive(Clone, Copy, ValueEnum)]
enum BadRecord {
    /// Set it aside (`corpusdb rejects`) and go on
    Reject,
    /// Stop there
    Fail,
}

#[derive(Clone, Copy, ValueEnum)]
enum DamagedFile {
    /// Store what stands before the damage, name it, and read the files behind it
    Skip,
    /// Stop there
    Stop,
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let on_error = match args.on_error {
        BadRecord::Reject => OnError::Reject,
        BadRecord::Fail => OnError::Fail,
    };
    let on_damaged_file = match args.on_damaged_file {
        DamagedFile::Skip => OnDamagedFile::Skip,
        DamagedFile::Stop => OnDamagedFile::Stop,
    };
    let options = IngestOptions {
        source: args.source,
        read: args.inputs.options(session.memory)?,
        form: args.chat.form()?,
        on_error,
        on_damaged_file,
        batch_bytes: args
            .batch_bytes
            .unwrap_or_else(|| IngestOptions::batch_bytes_within(session.memory)),
        reread: args.reread,
        decisions: args.decisions,
        max_removed: args.max_removed,
        max_rejected: args.max_rejected,
        max_cluster: args.max_cluster,
        condition: args.condition,
        tokenizers: args.tokenizers,
    };
    let target = session.target(&args.corpus, args.dry_run)?;
    let report = ingest(target.path(), &args.paths, &options, session)?;
    if session.json {
        print::report("ingest", &report, args.dry_run)?;
    } else {
        report::show(&report, args.dry_run)?;
    }
    let is_bad = |alarm: &Alarm| {
        args.strict || matches!(alarm, Alarm::AllRejected { .. } | Alarm::DamagedFiles { .. })
    };
    let is_lost = report.alarms.iter().any(is_bad);
    Ok(if is_lost { Outcome::Bad } else { Outcome::Good })
}

fn ingest(
    corpus: &Path,
    paths: &[String],
    options: &IngestOptions,
    session: &CommandSession,
) -> anyhow::Result<IngestReport> {
    let mut writer: CorpusWriter = session.write(corpus)?;
    Ok(writer.ingest(paths, options, &session.context())?)
}
