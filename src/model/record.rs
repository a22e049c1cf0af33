//! A record as read from a file, before it is a document.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Where in the input a record stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Absolute path of the file; `-` for standard input.
    pub path: Arc<PathBuf>,
    /// Records before this one in the file; rejected ones count.
    pub number: u64,
    /// Position of its first byte in the decompressed stream; for Parquet, its row number.
    pub offset: u64,
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
pub struct Record {
    /// What identifies it.
    pub key: RecordKey,
    /// The text to deduplicate and tokenize.
    pub text: String,
    /// All other fields as one JSON object, in the order and the spelling of the input; `{}` if none.
    pub metadata: String,
    /// Where it stood.
    pub origin: Origin,
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
    /// The id field is absent, null, or neither a string nor a number.
    BadId(String),
    /// The bytes are not UTF-8; position of the first bad byte within the record.
    NotUtf8(u64),
    /// Longer than the limit, both in bytes.
    TooLong {
        /// Its length.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(why) => write!(f, "not a JSON object: {why}"),
            Self::NoText(field) => write!(f, "no text: field `{field}` is absent or null"),
            Self::TextNotString(field) => write!(f, "text field `{field}` is not a string"),
            Self::BadId(field) => {
                write!(f, "id field `{field}` is absent or neither a string nor a number")
            }
            Self::NotUtf8(at) => write!(f, "invalid UTF-8 at byte {at} of the record"),
            Self::TooLong { bytes, limit } => {
                write!(f, "{bytes} bytes, over the limit of {limit} (--max-doc-bytes)")
            }
        }
    }
}

/// A record that could not be read, with what is needed to find and repair it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Why.
    pub reason: RejectReason,
    /// Where it stood.
    pub origin: Origin,
    /// Its raw bytes, cut at [`Reject::MAX_RAW`].
    pub raw: Vec<u8>,
    /// Length of the raw bytes before the cut.
    pub raw_bytes: u64,
}

impl Reject {
    /// Raw bytes kept of a rejected record: 1 MiB.
    pub const MAX_RAW: usize = 1 << 20;
}
