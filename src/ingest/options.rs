//! The options of ingests and joins, and the report of a join.

use super::chat::ChatOptions;
use super::report::FieldMisfits;
use files::input::{CsvOptions, InputFormat, ReadOptions, TextUnit};
use model::is_zero;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What happens with a record that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum OnError {
    /// Store it as a reject, with reason, position and raw bytes (`rejects` lists them), and continue
    #[default]
    Reject,
    /// Stop there; what came before is committed
    Fail,
}

/// What kind of records come in.
#[derive(Clone, Debug, Default)]
pub enum RecordForm {
    /// One field is the text.
    #[default]
    Text,
    /// Records hold conversations, which a chat template makes into texts.
    Chat(ChatOptions),
    /// Token ids (`input_ids`), perhaps with `labels`, by the registered tokenizer of that name.
    Pretokenized(String),
}

/// What happens with a file that is cut off, damaged or cannot be read, or that has no records of the kind that is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum OnDamagedFile {
    /// Store the records before the damage, report the file, and continue with the next one; if no file could be read
    /// to its end, the ingest fails
    #[default]
    Skip,
    /// Stop there
    Stop,
}

/// How to ingest.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cli", derive(clap::Args), command(next_help_heading = "What comes in"))]
pub struct IngestOptions {
    /// The source the documents belong to: the unit of mixing.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub source: String,
    /// A SQL condition: only records for which it is true come in.
    ///
    /// Its columns are the fields of a record as stored (absent ones are null), and key, source, text, bytes, chars and
    /// meta (all fields as JSON). Other records are counted, not stored. A changed condition reads a file from its
    /// start again; stored documents stay.
    #[cfg_attr(
        feature = "cli",
        arg(id = "where", long = "where", value_name = "SQL", allow_hyphen_values = true)
    )]
    pub condition: Option<String>,
    /// What to do with a record that cannot be read.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t))]
    pub on_error: OnError,
    /// What to do with a file that is truncated, damaged, or has no records of the expected form.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t))]
    pub on_damaged_file: OnDamagedFile,
    /// Read files from their start even if size and time are unchanged.
    #[cfg_attr(feature = "cli", arg(long))]
    pub reread: bool,
    /// Write one JSON line a record to this file: key, id, standing, kind, witness, similarity.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "FILE", value_parser = model::parse_disk_path)
    )]
    pub decisions: Option<PathBuf>,
    /// Stop before a batch that raises the share of documents removed as duplicates above this.
    ///
    /// Checked from 10,000 documents on; a share above 0.5 always raises an alarm.
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE", value_parser = model::parse_share))]
    pub max_removed: Option<f64>,
    /// Stop before a batch that raises the share of rejected records above this.
    ///
    /// Checked from 1,000 records on, and at the end; a share above 0.1 of at least 100 records always raises an alarm.
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE", value_parser = model::parse_share))]
    pub max_rejected: Option<f64>,
    /// Raise an alarm when a cluster has more documents than this.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = 1000))]
    pub max_cluster: u64,
    /// Bytes of text and fields after which a batch is committed; changes no decision.
    #[cfg_attr(feature = "cli", arg(skip = 16_u64 << 20))]
    pub batch_bytes: u64,
    /// How files are read.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub read: ReadOptions,
    /// What kind of records they hold.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub form: RecordForm,
    /// Require that this tokenizer is registered; all registered ones encode the kept documents.
    #[cfg_attr(feature = "cli", arg(id = "tokenizer", long = "tokenizer", value_name = "NAME"))]
    pub tokenizers: Vec<String>,
}

impl IngestOptions {
    /// The defaults: formats by content, bad records rejected, one thread a core, 16 MiB a batch.
    #[must_use]
    pub fn new(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            read: ReadOptions::default(),
            form: RecordForm::default(),
            on_error: OnError::Reject,
            on_damaged_file: OnDamagedFile::Skip,
            batch_bytes: 16 << 20,
            reread: false,
            decisions: None,
            max_removed: None,
            max_rejected: None,
            max_cluster: 1000,
            condition: None,
            tokenizers: Vec::new(),
        }
    }

    /// Bytes of text and fields a batch for a corpus that was opened with `memory` bytes: a 256th of them, 4 MiB to 16
    /// MiB.
    #[must_use]
    pub fn batch_bytes_within(memory: u64) -> u64 {
        (memory / 256).clamp(4 << 20, 16 << 20)
    }

    /// How files are read: records that are not text in themselves stay whole.
    pub(super) fn reads(&self) -> ReadOptions {
        let mut read = self.read.clone();
        read.whole = !matches!(self.form, RecordForm::Text);
        read.verbatim = matches!(self.form, RecordForm::Chat(_));
        // What was said in a turn is a text, though it be nothing.
        read.table.nulls &= !matches!(self.form, RecordForm::Chat(_));
        read
    }

    /// How files are read with all fields, also those that are not kept: of a load they say what was decided.
    pub(super) fn reads_all(&self) -> ReadOptions {
        ReadOptions { drop_fields: Vec::new(), ..self.reads() }
    }

    /// The options that decide what the records of a file are: if they change, a file is read again.
    pub(super) fn reading_key(&self) -> String {
        let ReadOptions { format, text_field, id_field, max_doc_bytes, .. } = &self.read;
        let ReadOptions { renamed, source_field, text_by, table, .. } = &self.read;
        let ReadOptions { meta_field, drop_fields, .. } = &self.read;
        let field = |field: &Option<String>| field.clone().unwrap_or_default();
        let format = match format {
            InputFormat::Auto => "auto",
            InputFormat::Jsonl => "jsonl",
            InputFormat::Json => "json",
            InputFormat::Csv => "csv",
            InputFormat::Tsv => "tsv",
            InputFormat::Warc => "warc",
            InputFormat::Arrow => "arrow",
            InputFormat::Parquet => "parquet",
            InputFormat::Text => "text",
        };
        let (text, id) = (field(text_field), field(id_field));
        // Default options are left out, so that the stored texts of older releases still match.
        let by = match text_by {
            TextUnit::File => "",
            TextUnit::Line => ";by=line",
            TextUnit::Paragraph => ";by=paragraph",
        };
        let CsvOptions { delimiter, quotes, comment, escape, nulls, numbers: _ } = table;
        let delimiter = delimiter.map_or_else(String::new, |byte| format!(";delimiter={byte}"));
        let quotes = if *quotes { "" } else { ";quotes=no" };
        // The option's name from when it held for numbers too.
        let nulls = if *nulls { "" } else { ";numbers=no" };
        let renamed = match renamed.as_slice() {
            [] => String::new(),
            renamed => format!(";renamed={renamed:?}"),
        };
        let source =
            source_field.as_ref().map_or_else(String::new, |from| format!(";source={from}"));
        let form = self.form.reading_key();
        // What is not asked for is not said, as of files that were read before it could be.
        let meta = meta_field.as_ref().map(|name| format!(";meta={name:?}")).unwrap_or_default();
        let dropped = (!drop_fields.is_empty()).then(|| format!(";drop={drop_fields:?}"));
        let dropped = dropped.unwrap_or_default();
        let comment = comment.map_or_else(String::new, |byte| format!(";comment={byte}"));
        let escape = escape.map_or_else(String::new, |byte| format!(";escape={byte}"));
        let table = format!("{by}{delimiter}{quotes}{comment}{escape}{nulls}");
        let sifted = self.condition.as_ref().map(|sql| format!(";where={sql:?}"));
        let sifted = sifted.unwrap_or_default();
        let limit = |name: &str, limit: u64, usual: u64| {
            if limit == usual { String::new() } else { format!(";{name}={limit}") }
        };
        let (own, usual) = (&self.read, ReadOptions::default());
        let keys = limit("max-key", own.max_key_bytes, usual.max_key_bytes);
        let fields = limit("max-meta", own.max_meta_bytes, usual.max_meta_bytes);
        format!(
            "format={format};text={text};id={id};max={max_doc_bytes}{keys}{fields}{table}{renamed}{source}{meta}{dropped}{form}{sifted}"
        )
    }
}

impl RecordForm {
    /// The options that decide what a record becomes, in one line.
    fn reading_key(&self) -> String {
        match self {
            Self::Text => String::new(),
            Self::Chat(chat) => format!(";{}", chat.reading_key()),
            Self::Pretokenized(name) => format!(";ids={name}"),
        }
    }
}

/// What is joined, and how documents are found.
#[derive(Clone, Debug)]
pub struct JoinOptions {
    /// The declared fields that get values.
    pub columns: Vec<JoinColumn>,
    /// How the records name documents.
    pub by: JoinBy,
    /// Keys are those of this source alone; of all sources when none is given.
    pub source: Option<String>,
    /// How the records are read: format, and the longest that is accepted.
    pub read: ReadOptions,
    /// Records joined in one commit, at most; fewer where they are long.
    pub batch: usize,
    /// Whether a value that the type of its field cannot hold ends the join; otherwise it is skipped and counted.
    pub strict: bool,
}

/// A declared field, and the field of the records that has its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinColumn {
    /// The declared field.
    pub field: String,
    /// The field of the records.
    pub column: String,
}

impl JoinOptions {
    /// Records joined in one commit by default.
    pub const BATCH: usize = 1 << 13;

    /// A join into one declared field, of the field of the records of that name.
    #[must_use]
    pub fn of(field: &str, by: JoinBy) -> Self {
        let columns = vec![JoinColumn { field: field.to_owned(), column: field.to_owned() }];
        let (read, batch) = (ReadOptions::default(), Self::BATCH);
        Self { columns, by, source: None, read, batch, strict: false }
    }
}

/// How records from outside name documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinBy {
    /// This field has the document's number.
    Id(String),
    /// This field has the key that the document was ingested with.
    Key(String),
}

impl JoinBy {
    pub(super) fn field(&self) -> &str {
        match self {
            Self::Id(field) | Self::Key(field) => field,
        }
    }
}

/// What a join did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct JoinReport {
    /// The declared fields whose values were set.
    pub fields: Vec<String>,
    /// How many records the files hold.
    pub records: u64,
    /// Records that have a value and name a stored document.
    pub matched: u64,
    /// Documents with a changed value, counted once per commit.
    pub changed: u64,
    /// If the keep order uses one of the fields: newly kept documents, counted once per commit.
    pub kept_again: u64,
    /// Likewise documents that are no longer kept.
    pub no_longer_kept: u64,
    /// Documents that had those values already, counted once per commit.
    pub unchanged: u64,
    /// Records without a value, which are skipped.
    pub without_value: u64,
    /// Values that the types of the fields cannot hold, by field: they are skipped, and documents keep their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub misfits: BTreeMap<String, FieldMisfits>,
    /// Records that name no stored document.
    pub unknown: u64,
    /// Examples of what they name.
    pub unknown_examples: Vec<String>,
    /// Rows of tables that repeat the row of names, which were skipped.
    #[serde(skip_serializing_if = "is_zero")]
    pub name_rows: u64,
    /// Tables some of whose quotes may be meant otherwise, with the line of the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub odd_quotes: Vec<String>,
    /// How many commits were made.
    pub commits: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_file_was_read_is_spelled_as_older_releases_spelled_it() {
        // Another spelling would have every file of every corpus read again.
        let usual = IngestOptions::new("web");
        assert_eq!(usual.reading_key(), "format=auto;text=;id=;max=67108864");
        let table = CsvOptions {
            delimiter: Some(b';'),
            quotes: false,
            nulls: false,
            ..CsvOptions::default()
        };
        let read = ReadOptions {
            format: InputFormat::Csv,
            text_field: Some("body".to_owned()),
            id_field: Some("url".to_owned()),
            meta_field: Some("meta".to_owned()),
            drop_fields: vec!["a".to_owned(), "b".to_owned()],
            renamed: vec![("language".to_owned(), "lang".to_owned())],
            source_field: Some("site".to_owned()),
            text_by: TextUnit::Line,
            table,
            max_doc_bytes: 1000,
            ..ReadOptions::default()
        };
        let form = RecordForm::Pretokenized("own".to_owned());
        let condition = Some("n > 1".to_owned());
        let all = IngestOptions { read, form, condition, ..IngestOptions::new("web") };
        let spelled = "format=csv;text=body;id=url;max=1000;by=line;delimiter=59;quotes=no;numbers=no;renamed=[(\"language\", \"lang\")];source=site;meta=\"meta\";drop=[\"a\", \"b\"];ids=own;where=\"n > 1\"";
        assert_eq!(all.reading_key(), spelled);
        let read = ReadOptions { max_key_bytes: 7, max_meta_bytes: 8, ..ReadOptions::default() };
        let limits = IngestOptions { read, ..IngestOptions::new("web") };
        assert_eq!(limits.reading_key(), "format=auto;text=;id=;max=67108864;max-key=7;max-meta=8");
    }
}
