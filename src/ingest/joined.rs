//! What a join of values from outside did.

use serde::Serialize;

/// What a join did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JoinReport {
    /// The declared field whose values were set.
    pub field: String,
    /// How many records the files hold.
    pub records: u64,
    /// Documents whose value changed.
    pub changed: u64,
    /// Documents that had that value already.
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
