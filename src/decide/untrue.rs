//! A decision made elsewhere that cannot be true.

use crate::model::DocId;

/// Of which document a decision cannot be true, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrue {
    /// The document.
    pub document: DocId,
    /// What is wrong, in words.
    pub why: String,
}
