//! The options of a reader, the records and rejects that it gives, and the point from which a later reading resumes.

use crate::remote::ObjectStores;
use model::{FieldKind, ReadRecord, RecordOrigin, Reject, RejectReason, is_zero};

/// A line may be this many times longer than the longest text: escapes and other fields.
const LINE_SLACK: u64 = 4;

/// How an input is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum InputFormat {
    /// By content, then by name
    #[default]
    Auto,
    /// One JSON object a line
    Jsonl,
    /// JSON objects in an array, or one after the other, over any number of lines
    Json,
    /// Values separated by commas, or by the delimiter, below a header row
    Csv,
    /// Values separated by tabs, below a header row
    Tsv,
    /// A web archive (WARC, WET); one record for each text
    Warc,
    /// An Arrow file (Feather) or stream; one record a row
    Arrow,
    /// Parquet; one record a row
    Parquet,
    /// Plain text; a file is one document, or several
    Text,
}

/// What becomes one document of a plain text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum TextUnit {
    /// The whole file
    #[default]
    File,
    /// Every line that is not blank
    Line,
    /// Each block of lines between blank lines
    Paragraph,
}

/// How rows of separated values are taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct CsvOptions {
    /// The character between the values of a table: one ASCII character, or tab. By default it is found from the header
    /// row.
    #[cfg_attr(feature = "cli", arg(long, value_name = "CHARACTER", value_parser = CsvOptions::parse_delimiter))]
    pub delimiter: Option<u8>,
    /// Skip rows of a table that begin with this character, such as #.
    #[cfg_attr(feature = "cli", arg(long, value_name = "CHARACTER", value_parser = CsvOptions::parse_delimiter))]
    pub comment: Option<u8>,
    /// Double quotes around values that contain delimiters and line ends. By default they are recognised.
    #[cfg_attr(feature = "cli", arg(long = "no-quotes", action = clap::ArgAction::SetFalse))]
    pub quotes: bool,
    /// The character before a quote that is part of a quoted value. By default a quote is doubled, unless the first rows
    /// of a table have a backslash before quotes.
    #[cfg_attr(feature = "cli", arg(long, value_name = "CHARACTER", value_parser = CsvOptions::parse_escape))]
    pub escape: Option<u8>,
    /// Whether an empty value without quotes is null; else it is an empty text, and all values are texts.
    #[cfg_attr(feature = "cli", arg(skip = true))]
    pub nulls: bool,
    /// Whether a value without quotes that is spelled as a number is one for who reads the values of rows; a record has
    /// texts, but where [`ReadOptions::declared`] says otherwise.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub numbers: bool,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            delimiter: None,
            quotes: true,
            comment: None,
            escape: None,
            nulls: true,
            numbers: false,
        }
    }
}

impl CsvOptions {
    /// Whether a character can stand between values: ASCII, and not one that quotes values or ends lines.
    #[must_use]
    pub const fn is_delimiter(character: u8) -> bool {
        character.is_ascii() && !matches!(character, b'"' | b'\n' | b'\r')
    }

    /// Reads a delimiter: one character, or `tab`.
    ///
    /// # Errors
    /// In words, when it is not one.
    pub fn parse_delimiter(text: &str) -> Result<u8, String> {
        match text.as_bytes() {
            b"tab" | b"\\t" => Ok(b'\t'),
            [byte] if Self::is_delimiter(*byte) => Ok(*byte),
            _ => Err("write one ASCII character, such as `;`, or tab".to_owned()),
        }
    }

    /// Reads an escape: one character; the quote itself where quotes are doubled.
    ///
    /// # Errors
    /// In words, when it is not one.
    pub fn parse_escape(text: &str) -> Result<u8, String> {
        match text.as_bytes() {
            [byte] if byte.is_ascii_graphic() => Ok(*byte),
            _ => Err("write one ASCII character, such as `\\`".to_owned()),
        }
    }
}

/// What the user says about the inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args), command(next_help_heading = "How inputs are read"))]
pub struct ReadOptions {
    /// The field with the source of a record; records without it get `source`.
    #[cfg_attr(
        feature = "cli",
        arg(id = "source_from", long = "source-from", value_name = "FIELD")
    )]
    pub source_field: Option<String>,
    /// Fields under other names, as OURS=THEIRS.
    ///
    /// text=FIELD, id=FIELD and source=FIELD say which fields have these; any other pair renames a field.
    #[cfg_attr(
        feature = "cli",
        arg(id = "map", long = "map", value_name = "OURS=THEIRS,...", value_delimiter = ',', value_parser = model::parse_pair)
    )]
    pub renamed: Vec<(String, String)>,
    /// How files are read.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t))]
    pub format: InputFormat,
    /// What becomes one document of a plain text file.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t))]
    pub text_by: TextUnit,
    /// How rows of separated values are taken apart.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub table: CsvOptions,
    /// The field with the text. By default the first of text, content, raw_content, document, body.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FIELD"))]
    pub text_field: Option<String>,
    /// The field that identifies a record: new content under the same id supersedes the old.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FIELD"))]
    pub id_field: Option<String>,
    /// The field with the metadata as a JSON object, as `export` writes it; fields outside it are not kept.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FIELD"))]
    pub meta_field: Option<String>,
    /// Fields to leave out.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FIELDS", value_delimiter = ','))]
    pub drop_fields: Vec<String>,
    /// Files of directories to leave out: patterns of their names, or of their paths below the directory.
    #[cfg_attr(feature = "cli", arg(long, value_name = "PATTERN"))]
    pub exclude: Vec<String>,
    /// Longest text accepted, in bytes; a line may be four times as long.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = model::parse_bytes))]
    pub max_doc_bytes: u64,
    /// Longest key accepted, in bytes.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", default_value = "8KiB", value_parser = model::parse_bytes))]
    pub max_key_bytes: u64,
    /// Longest metadata accepted (all other fields of a record together), in bytes of JSON.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", default_value = "16MiB", value_parser = model::parse_bytes))]
    pub max_meta_bytes: u64,
    /// Records stay whole: no field is the text, which is made of their fields later. A line may then be four times as
    /// long as a text.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub whole: bool,
    /// Records can be given back as they came: their id is a field like any other, and numbers are as they are spelled.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub verbatim: bool,
    /// Declared fields under their names in the records: a value of a table without quotes is a number or a truth only
    /// where its field is declared as one.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub declared: Vec<(String, FieldKind)>,
    /// Whether records come with what earlier releases read of the input too, where that is something else.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub earlier: bool,
    /// Most bytes of a record batch of an Arrow file, which is held as a whole.
    #[cfg_attr(feature = "cli", arg(skip = 512_u64 << 20))]
    pub max_batch_bytes: u64,
    /// Whether folders such as `lang=de/` say fields of the records below.
    #[cfg_attr(feature = "cli", arg(skip = true))]
    pub partitions: bool,
    /// How objects of stores are reached (`s3://` and the like).
    #[cfg_attr(feature = "cli", arg(skip))]
    pub stores: ObjectStores,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: InputFormat::Auto,
            text_field: None,
            id_field: None,
            meta_field: None,
            drop_fields: Vec::new(),
            renamed: Vec::new(),
            source_field: None,
            whole: false,
            verbatim: false,
            max_doc_bytes: 64 << 20,
            max_key_bytes: 8 << 10,
            max_meta_bytes: 16 << 20,
            text_by: TextUnit::File,
            table: CsvOptions::default(),
            declared: Vec::new(),
            earlier: false,
            max_batch_bytes: 512 << 20,
            partitions: true,
            exclude: Vec::new(),
            stores: ObjectStores::default(),
        }
    }
}

impl ReadOptions {
    /// Most bytes of a record batch where a corpus was opened with so many bytes of memory: an eighth of them, 64 MiB
    /// to 2 GiB.
    #[must_use]
    pub fn max_batch_bytes_within(memory: u64) -> u64 {
        (memory / 8).clamp(64 << 20, 2 << 30)
    }

    /// The name that a field of the records is given.
    #[doc(hidden)]
    pub fn name_of<'n>(&'n self, theirs: &'n str) -> &'n str {
        let renamed = self.renamed.iter().find(|(_, other)| other == theirs);
        renamed.map_or(theirs, |(ours, _)| ours)
    }

    /// What becomes of a record that was read and found bad afterwards, with all that it had under the names of its file.
    #[doc(hidden)]
    pub fn reject(&self, record: ReadRecord, reason: RejectReason) -> Reject {
        let id_field = self.id_field.as_deref().filter(|_| !self.verbatim);
        Reject::of(record, id_field, self.text_field.as_deref(), reason)
    }

    /// What the field of a column is declared as, if it is.
    pub(super) fn declared_kind(&self, column: &str) -> Option<FieldKind> {
        let renamed = self.renamed.iter().find(|(_, theirs)| theirs == column);
        let field = renamed.map_or(column, |(ours, _)| ours);
        self.declared.iter().find(|(name, _)| name == field).map(|(_, kind)| *kind)
    }

    /// Says which field of the records is one of ours: `text`, `id` and `source` are [`ReadOptions::text_field`],
    /// [`ReadOptions::id_field`] and [`ReadOptions::source_field`], any other name is given to the field.
    ///
    /// ```
    /// # mod corpusdb { pub use files::input as ingest; }
    /// use corpusdb::ingest::ReadOptions;
    ///
    /// let mut read = ReadOptions::default();
    /// read.map_field("text", "body")?;
    /// read.map_field("language", "lang")?;
    /// assert_eq!(read.text_field.as_deref(), Some("body"));
    /// assert!(read.map_field("text", "title").is_err());
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// In words, when one of the two is mapped already.
    pub fn map_field(&mut self, ours: &str, theirs: &str) -> Result<(), String> {
        let slot = match ours {
            "text" => &mut self.text_field,
            "id" => &mut self.id_field,
            "source" => &mut self.source_field,
            _ => {
                let is_said = |(one, other): &(String, String)| one == ours || other == theirs;
                if let Some((one, other)) = self.renamed.iter().find(|pair| is_said(pair)) {
                    return Err(format!(
                        "{ours}={theirs} beside {one}={other}: a field is mapped once"
                    ));
                }
                self.renamed.push((ours.to_owned(), theirs.to_owned()));
                return Ok(());
            }
        };
        if let Some(before) = slot.as_deref().filter(|before| *before != theirs) {
            return Err(format!("{ours}={theirs}: it is said to be `{before}` already"));
        }
        *slot = Some(theirs.to_owned());
        Ok(())
    }
}

/// What stands next in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadItem {
    /// A record that could be read.
    Record(ReadRecord),
    /// Something that should have been one.
    Reject(Reject),
}

/// A place between two records from which a later reading can continue.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ResumePoint {
    /// Bytes of the decompressed stream before it; rows for Parquet.
    pub offset: u64,
    /// Records and rejects before it.
    pub records: u64,
    /// blake3 of the decompressed bytes before it; zeros for Parquet.
    pub prefix: [u8; 32],
}

/// Contents of an input that are neither documents nor rejects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct SkippedContent {
    /// HTML pages of web archives, whose text is to be extracted first.
    pub html: u64,
    /// Responses in web archives that say a page is missing or gone (404, 410).
    #[serde(skip_serializing_if = "is_zero")]
    pub gone: u64,
    /// Captures of an address that are older than the stored one, which stays; they count as unchanged too.
    #[serde(skip_serializing_if = "is_zero")]
    pub older: u64,
    /// Responses in web archives that hold a part of a page (206), and records that continue an earlier one.
    #[serde(skip_serializing_if = "is_zero")]
    pub partial: u64,
    /// Other contents of web archives that are not text: images, programs, answers that report an error.
    pub other: u64,
}

impl std::ops::AddAssign for SkippedContent {
    fn add_assign(&mut self, other: Self) {
        self.html += other.html;
        self.gone += other.gone;
        self.older += other.older;
        self.partial += other.partial;
        self.other += other.other;
    }
}

impl SkippedContent {
    /// Whether there was nothing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Bytes of an object of a store that are read ahead, at most, or held of a Parquet file.
pub(super) fn read_ahead_bytes(options: &ReadOptions) -> u64 {
    (options.max_batch_bytes / 8).clamp(1 << 20, 64 << 20)
}

/// How long a line or a row may be.
pub(super) fn line_limit(options: &ReadOptions) -> usize {
    to_usize(options.max_doc_bytes.saturating_mul(LINE_SLACK))
}

pub(super) fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// A length as reports and limits have it.
pub(super) fn byte_len(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// A reject with as much of its raw bytes as is kept.
pub(super) fn reject(
    reason: RejectReason,
    origin: RecordOrigin,
    raw: &[u8],
    raw_bytes: u64,
) -> ReadItem {
    let raw = raw.get(..Reject::MAX_RAW).unwrap_or(raw).to_vec();
    ReadItem::Reject(Reject { reason, origin, raw, raw_bytes })
}
