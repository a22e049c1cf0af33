//! A record as read from a file, before it is a document: its origin, its trained tokens, and the filter for it.

use super::id::TokenizerId;
use super::json::{NotFinite, json_string, with_members};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Where in the input a record stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordOrigin {
    /// Absolute path of the file; `-` for standard input.
    pub path: Arc<PathBuf>,
    /// Records before this one in the file; rejected ones count.
    pub number: u64,
    /// Position of its first byte in the decompressed stream; for Parquet, its row number.
    pub offset: u64,
}

impl RecordOrigin {
    /// File and number, as messages say them.
    pub fn record(&self) -> String {
        format!("{}: record {} (counted from 0)", self.path.display(), self.number)
    }

    /// File and number, and the byte, or the row, at which the record begins.
    pub fn record_and_byte(&self) -> String {
        format!("{} at byte {}", self.record(), self.offset)
    }
}

/// What identifies a record within its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordKey {
    /// From the user's id field: new content under it supersedes the old.
    Given(String),
    /// None given: path, number and content identify the record; it never supersedes.
    Position,
}

/// A record as read: text and the user's other fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadRecord {
    /// The key under which the record is stored once.
    pub key: RecordKey,
    /// The key that earlier releases gave it, where that is another.
    pub earlier_key: Option<String>,
    /// The source that it names, where records name theirs.
    pub source: Option<Arc<str>>,
    /// The text to deduplicate and tokenize.
    pub text: String,
    /// All other fields as one JSON object in its canonical form, in the order of the input; `{}` if none.
    pub metadata: String,
    /// The other fields as the input spelled them, where that is another text than `metadata`.
    pub spelled: Option<SpelledMetadata>,
    /// The canonical form of the other fields as earlier releases read the input, where that is another value.
    pub earlier: Option<String>,
    /// Numbers of the other fields that JSON does not know.
    pub not_finite: NotFinite,
    /// The record is a row of a table of texts: whole numbers in a column with a hole are spelled `3.0` there.
    pub is_row: bool,
    /// When it was captured, for a record of a web archive: what says so among its fields is not its content.
    pub capture: Option<Capture>,
    /// Where it stood.
    pub origin: RecordOrigin,
}

/// What a web archive says of one visit to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Microseconds since 1970; none where the archive has no date that can be read.
    pub moment: Option<i64>,
}

/// Metadata as an input spelled it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpelledMetadata {
    /// The JSON object.
    pub json: String,
    /// Whether it says something else than its canonical form: a name twice, other forms of numbers.
    pub is_other_value: bool,
}

impl ReadRecord {
    /// A record whose metadata were not put into their canonical form yet.
    #[must_use]
    pub fn new(key: RecordKey, text: String, metadata: String, origin: RecordOrigin) -> Self {
        let not_finite = NotFinite::default();
        Self {
            key,
            earlier_key: None,
            source: None,
            text,
            metadata,
            spelled: None,
            earlier: None,
            not_finite,
            is_row: false,
            capture: None,
            origin,
        }
    }
}

/// Why a record could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejectReason {
    /// The line is not a JSON object; the parser's words.
    NotJson(String),
    /// The text field is absent or null.
    NoText(String),
    /// The text field is not a string.
    TextNotString(String),
    /// The id field is absent, null, blank, or neither a string nor an integer.
    BadId(String),
    /// The bytes are not UTF-8; position of the first bad byte within the record.
    NotUtf8(u64),
    /// The record is not of the form asked for, or has no text in it that could be trained on; in words.
    Form(String),
    /// A file of a format that is not read; what it is, and the way out.
    NotText(String),
    /// Longer than the limit, both in bytes.
    TooLong {
        /// Its length.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
}

impl RejectReason {
    /// The kind under which rejected records are counted.
    #[doc(hidden)]
    #[must_use]
    pub const fn kind_word(&self) -> &'static str {
        match self {
            Self::NotJson(_) => "json",
            Self::NoText(_) => "no text",
            Self::TextNotString(_) => "text",
            Self::BadId(_) => "id",
            Self::NotUtf8(_) => "utf-8",
            Self::Form(_) => "form",
            Self::NotText(_) => "file",
            Self::TooLong { .. } => "length",
        }
    }
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(why) => write!(f, "not a JSON object: {why}"),
            Self::NoText(field) => write!(f, "no text: field `{field}` is absent or null"),
            Self::TextNotString(field) => write!(f, "text field `{field}` is not a string"),
            Self::BadId(field) => {
                write!(f, "id field `{field}` is absent, blank, or neither a string nor an integer")
            }
            Self::NotUtf8(at) => write!(f, "invalid UTF-8 at byte {at} of the record"),
            Self::Form(why) | Self::NotText(why) => f.write_str(why),
            Self::TooLong { bytes, limit } => {
                write!(f, "{bytes} bytes, over the limit of {limit} (--max-doc-bytes)")
            }
        }
    }
}

/// A record that could not be read, with what is needed to find and repair it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Why it could not be stored.
    pub reason: RejectReason,
    /// Where it stood.
    pub origin: RecordOrigin,
    /// Its raw bytes, cut at [`Reject::MAX_RAW`].
    pub raw: Vec<u8>,
    /// Length of the raw bytes before the cut.
    pub raw_bytes: u64,
}

impl Reject {
    /// A record that was read and found bad afterwards. Its raw bytes are a JSON object of all that it had: its key as
    /// `id_field`, its text as `text_field` (`text` without one), its fields.
    #[must_use]
    pub fn of(
        record: ReadRecord,
        id_field: Option<&str>,
        text_field: Option<&str>,
        reason: RejectReason,
    ) -> Self {
        let ReadRecord { key, text, metadata, origin, .. } = record;
        let key = match (&key, id_field) {
            (RecordKey::Given(key), Some(field)) => Some((field, json_string(key).into_bytes())),
            _ => None,
        };
        let text = (!text.is_empty())
            .then(|| (text_field.unwrap_or("text"), json_string(&text).into_bytes()));
        let bytes = with_members(key.into_iter().chain(text), &metadata);
        let kept = bytes.get(..Self::MAX_RAW).unwrap_or(&bytes).to_vec();
        let raw_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Self { reason, origin, raw: kept, raw_bytes }
    }

    /// Raw bytes kept of a rejected record: 1 MiB.
    pub const MAX_RAW: usize = 1 << 20;
}

/// A half-open range that counts in the loss, with its weight. What no span covers is read, not trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossSpan {
    /// First token, or first byte of the text.
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// Above 0; 1 is the plain weight.
    pub weight: f32,
}

/// Which tokens are trained on where a span of trained bytes begins within one. A later tokenizer has the later rule;
/// one that was registered keeps its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum MaskRule {
    /// Tokens that begin within the span.
    #[default]
    Begin,
    /// Tokens that begin within the span, and the token that holds its first byte, unless it is of an earlier span: as
    /// transformers does, so that an answer of one token is trained on though the tokenizer joins it to what stands
    /// before.
    Hold,
}

impl MaskRule {
    /// The rule of tokenizers that are registered now.
    pub const CURRENT: Self = Self::Hold;

    /// Its number in the store.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Begin => 1,
            Self::Hold => 2,
        }
    }

    /// The rule of that number, if this release knows it.
    #[must_use]
    pub fn of_number(number: u32) -> Option<Self> {
        [Self::Begin, Self::Hold].into_iter().find(|rule| rule.number() == number)
    }
}

/// How the text of a document is to be encoded, and which bytes of it are trained on. A document
/// without one is plain text, all of it trained on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextForm {
    /// Special tokens spelled in the text are special tokens: a chat template wrote them.
    pub specials: bool,
    /// The tokenizer whose ids came with the record; no encoder gave them.
    pub given: Option<TokenizerId>,
    /// Bytes of the text in which special tokens are text all the same, ascending: the record said them, not its
    /// template.
    pub plain: Vec<Range<u32>>,
    /// Trained bytes of the text, ascending; none: all of them.
    pub spans: Option<Vec<LossSpan>>,
}

/// Whether one of these ranges, ascending and apart, has a byte of `bytes`.
#[must_use]
pub fn overlaps_any(ranges: &[Range<u32>], bytes: &Range<usize>) -> bool {
    let next = ranges.partition_point(|range| range.end as usize <= bytes.start);
    ranges.get(next).is_some_and(|range| (range.start as usize) < bytes.end)
}

/// A record as it comes: what a filter may look at.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'r> {
    /// The key that it was given; none, it has its place.
    pub key: Option<&'r str>,
    /// The name of its source.
    pub source: &'r str,
    /// Its text; none, it is made of its fields later.
    pub text: Option<&'r str>,
    /// Its other fields as one JSON object.
    pub fields: &'r str,
}

/// What a filter says of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IncomingVerdict {
    /// The record comes in.
    In,
    /// The record does not come in.
    Out,
    /// The filter has no answer for the record; why, in words.
    Unanswered(String),
}

/// Decides which records come in. The verdict on a record depends on that record alone, whichever others are decided
/// with it.
pub trait IncomingFilter: Send + Sync {
    /// The verdict on each record, in their order.
    fn verdicts(&self, records: &[Incoming<'_>]) -> Vec<IncomingVerdict>;

    /// Fields that the filter names and that no record had so far.
    fn unseen(&self) -> Vec<String>;
}
