//! `corpusdb ingest`: reads files into a corpus.

use super::chat::ChatArgs;
use super::setup::{Context, bytes};
use super::{Outcome, print};
use clap::ValueEnum;
use corpusdb::ingest::{
    Alarm, AlarmPair, Format, OnError, Passed, ReadOptions, TableOptions, TextBy,
};
use corpusdb::{CorpusWriter, IngestOptions, IngestReport};
use std::path::{Path, PathBuf};

/// Read files into a corpus; what is there already is recognised
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  corpusdb ingest crawl pages.jsonl.zst --source web
  corpusdb ingest crawl 'dump/*.parquet' --source books --text-field body --id-field isbn
  corpusdb ingest crawl reviews.csv --source reviews --text-field review
  corpusdb ingest crawl sentences.txt --source sentences --text-by line
  zcat old.gz | corpusdb ingest crawl - --source old
  corpusdb ingest sft chats.jsonl --source chats --chat messages --chat-template Qwen3/
  corpusdb ingest sft alpaca.parquet --source alpaca --chat alpaca
  corpusdb ingest sft ids.jsonl --source ids --pretokenized gpt2
  corpusdb ingest crawl notes/ --source notes --format text --decisions decisions.jsonl

Run the same command again after an interrupt: it goes on where it stopped.
The content that came last under an id wins, also of a file that comes again after another.")]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// Files, directories (recursive), patterns, or `-` for standard input; compression is recognised by content
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// The source the documents belong to: the unit of mixing
    #[arg(long, value_name = "NAME")]
    source: String,
    /// How files are read
    #[arg(long, value_enum, default_value_t = FileFormat::Auto)]
    format: FileFormat,
    /// What is a document of a plain text
    #[arg(long, value_enum, default_value_t = Parts::File)]
    text_by: Parts,
    /// What stands between the values of a table: one character, or `tab` [default: told from the row of names]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Read `"` in a table as any other character
    #[arg(long)]
    no_quotes: bool,
    /// The field with the text [default: the first of text, content, raw_content, document, body]
    #[arg(long, value_name = "FIELD")]
    text_field: Option<String>,
    /// The field that identifies a record: new content under the same id supersedes the old
    #[arg(long, value_name = "FIELD")]
    id_field: Option<String>,
    /// The field that holds all others as a JSON object, as `corpusdb export` writes them: no others are kept
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["chat", "pretokenized"])]
    meta_field: Option<String>,
    /// Fields that are not kept, separated by commas
    #[arg(long, value_name = "FIELDS", value_delimiter = ',')]
    drop_fields: Vec<String>,
    #[command(flatten)]
    chat: ChatArgs,
    /// A tokenizer that must be registered (all registered ones encode what is kept)
    #[arg(long = "tokenizer", value_name = "NAME")]
    tokenizers: Vec<String>,
    /// What to do with a record that cannot be read
    #[arg(long, value_enum, default_value_t = BadRecord::Reject)]
    on_error: BadRecord,
    /// Longest text accepted
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = bytes)]
    max_doc_bytes: u64,
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
    #[arg(long, value_name = "FILE")]
    decisions: Option<PathBuf>,
    /// Stop before the batch with which more than this share of the documents would be removed as
    /// duplicates (from 10,000 documents on); a share over 0.5 is reported in any case
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_removed: Option<f64>,
    /// Raise an alarm when a cluster has more documents than this
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_cluster: u64,
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "write a share between 0 and 1, like 0.5")?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("not between 0 and 1".to_owned()) }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err("write one ASCII character, such as `;`, or `tab`".to_owned()),
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Parts {
    /// The whole file
    File,
    /// Every line that is not blank
    Line,
    /// Lines without a blank one between them
    Paragraph,
}

#[derive(Clone, Copy, ValueEnum)]
enum FileFormat {
    /// By content, then by name
    Auto,
    /// One JSON object a line
    Jsonl,
    /// JSON objects in an array, or over several lines
    Json,
    /// Values between commas (or see --delimiter) below a row of names
    Csv,
    /// Values between tabs below a row of names
    Tsv,
    /// A web archive (WARC, WET)
    Warc,
    /// An Arrow file (Feather) or stream
    Arrow,
    /// Parquet
    Parquet,
    /// A file is a document, or see --text-by
    Text,
}

#[derive(Clone, Copy, ValueEnum)]
enum BadRecord {
    /// Set it aside (`corpusdb rejects`) and go on
    Reject,
    /// Stop there
    Fail,
}

pub(super) fn run(args: Args, context: &Context) -> anyhow::Result<Outcome> {
    let format = match args.format {
        FileFormat::Auto => Format::Auto,
        FileFormat::Jsonl => Format::Jsonl,
        FileFormat::Json => Format::Json,
        FileFormat::Csv => Format::Csv,
        FileFormat::Tsv => Format::Tsv,
        FileFormat::Warc => Format::Warc,
        FileFormat::Arrow => Format::Arrow,
        FileFormat::Parquet => Format::Parquet,
        FileFormat::Text => Format::Text,
    };
    let text_by = match args.text_by {
        Parts::File => TextBy::File,
        Parts::Line => TextBy::Line,
        Parts::Paragraph => TextBy::Paragraph,
    };
    let on_error = match args.on_error {
        BadRecord::Reject => OnError::Reject,
        BadRecord::Fail => OnError::Fail,
    };
    let options = IngestOptions {
        source: args.source,
        read: ReadOptions {
            format,
            text_field: args.text_field,
            id_field: args.id_field,
            meta_field: args.meta_field,
            drop_fields: args.drop_fields,
            whole: false,
            max_doc_bytes: args.max_doc_bytes,
            max_batch_bytes: (context.memory / 8).clamp(64 << 20, 2 << 30),
            text_by,
            table: TableOptions {
                delimiter: args.delimiter,
                quotes: !args.no_quotes,
                ..TableOptions::default()
            },
        },
        form: args.chat.form()?,
        on_error,
        threads: context.threads,
        batch_bytes: args
            .batch_bytes
            .unwrap_or_else(|| IngestOptions::batch_bytes_within(context.memory)),
        reread: args.reread,
        decisions: args.decisions,
        max_removed: args.max_removed,
        max_cluster: args.max_cluster,
    };
    let target = context.target(&args.corpus, args.dry_run)?;
    let report = ingest(target.path(), &args.paths, &options, &args.tokenizers, context)?;
    if context.json {
        print::report("ingest", &report, args.dry_run)?;
    } else {
        show(&report, args.dry_run)?;
    }
    let is_lost = report.alarms.iter().any(|alarm| matches!(alarm, Alarm::AllRejected { .. }));
    Ok(if is_lost { Outcome::Bad } else { Outcome::Good })
}

fn ingest(
    corpus: &Path,
    paths: &[String],
    options: &IngestOptions,
    tokenizers: &[String],
    context: &Context,
) -> anyhow::Result<IngestReport> {
    let mut writer: CorpusWriter = context.write(corpus)?;
    Ok(writer.ingest(paths, options, tokenizers, context.progress.as_ref(), &context.interrupt)?)
}

/// The report for people.
pub(super) fn show(report: &IngestReport, dry_run: bool) -> anyhow::Result<()> {
    let n = print::number;
    let rate = report.bytes as f64 / report.seconds.max(1e-9) / 1e6;
    let verb = if dry_run { "would add" } else { "added" };
    print::line(&format!(
        "{}: read {} records ({}) in {:.1} s, {rate:.1} MB/s",
        report.source,
        n(report.read),
        print::size(report.bytes),
        report.seconds
    ))?;
    print::line(&format!(
        "  {verb} {}: {} kept, {} exact and {} near duplicates, {} empty; {} updates of known keys",
        n(report.added),
        n(report.kept),
        n(report.exact_duplicates),
        n(report.near_duplicates),
        n(report.empty),
        n(report.updated)
    ))?;
    print::line(&format!("  {} unchanged, {} rejected", n(report.unchanged), n(report.rejected)))?;
    let Passed { html, other } = report.passed;
    if html + other > 0 {
        let (html, other) = (n(html), n(other));
        print::line(&format!(
            "  {html} HTML pages and {other} other contents of web archives passed over"
        ))?;
    }
    for (name, tokens) in &report.tokens {
        print::line(&format!("  {} tokens of {name}", n(*tokens)))?;
        for (special, documents) in report.special_tokens_in_text.get(name).into_iter().flatten() {
            let documents = n(*documents);
            print::line(&format!("    {documents} documents spell {special}: encoded as text"))?;
        }
        if let Some(refused) = report.refused.get(name) {
            print::refused(name, refused)?;
        }
    }
    print::line(&format!("  {}", report.policy))?;
    for alarm in &report.alarms {
        print::talk(&alarm_words(alarm));
    }
    print::capped(report.dedup.capped)
}

fn alarm_words(alarm: &Alarm) -> String {
    let pair = |example: &Option<AlarmPair>| match example {
        None => String::new(),
        Some(pair) => format!(
            "\n  for example document {} (similarity {:.3} to {}):\n    removed: {:?}\n    witness: {:?}",
            pair.removed, pair.jaccard, pair.witness, pair.removed_text, pair.witness_text
        ),
    };
    match alarm {
        Alarm::RemovedShare { added, removed, example } => format!(
            "ALARM: {} of {} documents were removed as duplicates{}",
            print::number(*removed),
            print::number(*added),
            pair(example)
        ),
        Alarm::AllRejected { records, first } => format!(
            "ALARM: nothing could be read: all {} records were rejected (`corpusdb rejects` lists them); the first:\n  {first}",
            print::number(*records)
        ),
        Alarm::MarkerAsText { tokenizer, marker, tokens } => format!(
            "ALARM: {tokenizer} reads `{marker}` of the chat template as {tokens} ordinary tokens"
        ),
        Alarm::WholeChats { added, removed, example } => format!(
            "ALARM: {} of {} conversations were removed as similar by their whole text, system prompts included; a corpus made with `init --profile chat` compares what is said in the turns{}",
            print::number(*removed),
            print::number(*added),
            pair(example)
        ),
        Alarm::NotText { files, first } => format!(
            "ALARM: {} files are no text and were not read (`corpusdb rejects` lists them); the first:\n  {first}",
            print::number(*files)
        ),
        Alarm::Html { pages } => format!(
            "ALARM: {} HTML pages of web archives were passed over: extract their text to JSON lines first (trafilatura and resiliparse do), or give the WET files of the crawl",
            print::number(*pages)
        ),
        Alarm::Cluster { witness, size, example } => format!(
            "ALARM: the cluster of document {witness} has {} documents{}",
            print::number(*size),
            pair(example)
        ),
        Alarm::Crowded { documents, example } => {
            let pair = example.as_ref().map_or_else(String::new, |pair| {
                format!(
                    "\n  for example documents {} and {}:\n    {:?}\n    {:?}",
                    pair.document, pair.other, pair.text, pair.other_text
                )
            });
            format!(
                "ALARM: {} documents have candidates that were not compared: their crowd does not fit into memory; `corpusdb dedup settle` compares the rest{pair}",
                print::number(*documents)
            )
        }
        _ => String::new(),
    }
}
