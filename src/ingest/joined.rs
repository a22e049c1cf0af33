//! What a join takes and answers.

use crate::input::ReadOptions;
use serde::Serialize;

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
    /// Records joined in one commit where nothing else is said.
    pub const BATCH: usize = 1 << 13;

    /// A join into one declared field, of the field of the records of that name.
    #[must_use]
    pub fn of(field: &str, by: JoinBy) -> Self {
        let columns = vec![JoinColumn { field: field.to_owned(), column: field.to_owned() }];
        Self { columns, by, source: None, read: ReadOptions::default(), batch: Self::BATCH }
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
#[non_exhaustive]
pub struct JoinReport {
    /// The declared fields whose values were set.
    pub fields: Vec<String>,
    /// How many records the files hold.
    pub records: u64,
    /// Records that have a value and name a stored document.
    pub matched: u64,
    /// Documents of which a value changed, counted once a commit.
    pub changed: u64,
    /// Documents that had those values already, counted once a commit.
    pub unchanged: u64,
    /// Records without a value: passed over.
    pub without_value: u64,
    /// Records that name no stored document.
    pub unknown: u64,
    /// Some of what they name.
    pub unknown_examples: Vec<String>,
    /// How many commits were made.
    pub commits: u64,
}
