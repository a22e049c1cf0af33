//! The flags that say how inputs are read.

use crate::cli::setup::{bytes, stores};
use clap::ValueEnum;
use corpusdb::ingest::{CsvOptions, InputFormat, ReadOptions, TextUnit};

/// How inputs are read.
#[derive(clap::Args)]
pub(super) struct InputArgs {
    /// The field in which a record names its source; --source is that of records that name none
    #[arg(long, value_name = "FIELD")]
    source_from: Option<String>,
    /// Fields under other names, as OURS=THEIRS: `text`, `id` and `source` say which fields these are, any other
    /// name is given to the field
    #[arg(long, value_name = "OURS=THEIRS,...", value_delimiter = ',', value_parser = pair)]
    map: Vec<(String, String)>,
    /// How files are read
    #[arg(long, value_enum, default_value_t = FileFormat::Auto)]
    format: FileFormat,
    /// What is a document of a plain text
    #[arg(long, value_enum, default_value_t = Parts::File)]
    text_by: Parts,
    /// What stands between the values of a table: one character, or `tab` [default: told from the row of names]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// What the rows of a table begin with that say nothing, such as `#`
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    comment: Option<u8>,
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
    /// Files of directories that are left: a pattern of their names, or of their paths below the directory; may be given
    /// more than once
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Longest text accepted
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = bytes)]
    max_doc_bytes: u64,
    /// Longest key accepted
    #[arg(long, value_name = "BYTES", default_value = "8KiB", value_parser = bytes)]
    max_key_bytes: u64,
    /// Longest other fields accepted, of one record together
    #[arg(long, value_name = "BYTES", default_value = "16MiB", value_parser = bytes)]
    max_meta_bytes: u64,
}

impl InputArgs {
    /// What they come to, with so much memory.
    pub(super) fn options(&self, memory: u64) -> anyhow::Result<ReadOptions> {
        let format = match self.format {
            FileFormat::Auto => InputFormat::Auto,
            FileFormat::Jsonl => InputFormat::Jsonl,
            FileFormat::Json => InputFormat::Json,
            FileFormat::Csv => InputFormat::Csv,
            FileFormat::Tsv => InputFormat::Tsv,
            FileFormat::Warc => InputFormat::Warc,
            FileFormat::Arrow => InputFormat::Arrow,
            FileFormat::Parquet => InputFormat::Parquet,
            FileFormat::Text => InputFormat::Text,
        };
        let text_by = match self.text_by {
            Parts::File => TextUnit::File,
            Parts::Line => TextUnit::Line,
            Parts::Paragraph => TextUnit::Paragraph,
        };
        let (delimiter, quotes) = (self.delimiter, !self.no_quotes);
        let mut options = ReadOptions {
            format,
            text_field: self.text_field.clone(),
            id_field: self.id_field.clone(),
            source_field: self.source_from.clone(),
            meta_field: self.meta_field.clone(),
            drop_fields: self.drop_fields.clone(),
            exclude: self.exclude.clone(),
            max_doc_bytes: self.max_doc_bytes,
            max_key_bytes: self.max_key_bytes,
            max_meta_bytes: self.max_meta_bytes,
            text_by,
            table: CsvOptions { delimiter, quotes, comment: self.comment, ..CsvOptions::default() },
            max_batch_bytes: ReadOptions::max_batch_bytes_within(memory),
            stores: stores(),
            ..ReadOptions::default()
        };
        for (ours, theirs) in &self.map {
            options.map_field(ours, theirs).map_err(|why| anyhow::anyhow!("--map {why}"))?;
        }
        Ok(options)
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((ours, theirs)) if !ours.is_empty() && !theirs.is_empty() => {
            Ok((ours.to_owned(), theirs.to_owned()))
        }
        _ => Err("write OURS=THEIRS, such as text=body".to_owned()),
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if CsvOptions::is_delimiter(*byte) => Ok(*byte),
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
