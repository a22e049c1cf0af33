//! What is stored of documents, one file for each family or two that belong together: how its rows look, how they are
//! read, written and changed.

pub(in crate::store) mod erase;
pub(in crate::store) mod fields;
pub(in crate::store) mod headers;
pub(in crate::store) mod indexed_values;
pub(in crate::store) mod loss;
pub(in crate::store) mod metadata;
pub(in crate::store) mod numbers;
pub(in crate::store) mod postings;
pub(in crate::store) mod terms;
pub(in crate::store) mod texts;
pub(in crate::store) mod tokens;
