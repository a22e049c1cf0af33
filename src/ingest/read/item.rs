//! What a reader is asked, and what it gives.

use crate::model::{Origin, ReadRecord, Reject, RejectReason};

/// How an input is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    /// By content, then by name.
    #[default]
    Auto,
    /// One JSON object a line.
    Jsonl,
    /// Parquet; one record a row.
    Parquet,
    /// The file is one document.
    Text,
}

/// What the user says about the inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// How inputs are read.
    pub format: Format,
    /// The field that holds the text; guessed when absent.
    pub text_field: Option<String>,
    /// The field that identifies a record; its key supersedes.
    pub id_field: Option<String>,
    /// The field that holds all others as a JSON object, or as a text with one: those in it are kept, and no others.
    pub meta_field: Option<String>,
    /// Fields that are not kept.
    pub drop_fields: Vec<String>,
    /// Records stay whole: no field is the text, which is made of their fields later.
    pub whole: bool,
    /// Longest text, in bytes; longer ones are rejected. A line may be four times as long.
    pub max_doc_bytes: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: Format::Auto,
            text_field: None,
            id_field: None,
            meta_field: None,
            drop_fields: Vec::new(),
            whole: false,
            max_doc_bytes: 64 << 20,
        }
    }
}

/// What stands next in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A record that could be read.
    Record(ReadRecord),
    /// Something that should have been one.
    Reject(Reject),
}

/// A place between two records from which a later reading can go on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ResumePoint {
    /// Bytes of the decompressed stream before it; rows for Parquet.
    pub offset: u64,
    /// Records and rejects before it.
    pub records: u64,
    /// blake3 of the decompressed bytes before it; zeros for Parquet.
    pub prefix: [u8; 32],
}

/// A length as reports and limits have it.
pub(super) fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// A reject with as much of its raw bytes as is kept.
pub(super) fn reject(reason: RejectReason, origin: Origin, raw: &[u8], raw_bytes: u64) -> Item {
    let raw = raw.get(..Reject::MAX_RAW).unwrap_or(raw).to_vec();
    Item::Reject(Reject { reason, origin, raw, raw_bytes })
}
