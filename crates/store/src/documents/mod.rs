//! What is stored of documents, one file for families that belong together: their bytes, reads, writes and changes.
//!
//! `pages` has texts, keys and metadata, `grid` places, prints and sketches; `page_writer` puts what a commit changes of
//! them into pages; `document` is all of one document.

pub(crate) mod document;
pub(crate) mod erase;
pub(crate) mod fields;
pub(crate) mod grid;
pub(crate) mod indexed_values;
pub(crate) mod loss;
pub(crate) mod metadata;
pub(crate) mod numbers;
#[cfg(test)]
mod page_tests;
pub(crate) mod page_writer;
pub(crate) mod pages;
pub(crate) mod postings;
pub(crate) mod terms;
pub(crate) mod tokens;
