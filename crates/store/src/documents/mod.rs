//! The rows of documents, one file for each family or two that belong together: their bytes, reads, writes and changes.

pub(crate) mod erase;
pub(crate) mod fields;
pub(crate) mod headers;
pub(crate) mod indexed_values;
pub(crate) mod loss;
pub(crate) mod metadata;
pub(crate) mod numbers;
pub(crate) mod postings;
pub(crate) mod terms;
pub(crate) mod texts;
pub(crate) mod tokens;
