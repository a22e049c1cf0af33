//! How likely the ids of a document are under an n-gram model of all documents: perplexities for data of any size.
//!
//! The model is interpolated modified Kneser-Ney (Chen & Goodman 1998), as KenLM's `lmplz` estimates it. A document is
//! one sentence: its ids between a beginning, which is context alone, and an end, which is predicted too. It is scored
//! by the model that has counted it, so every n-gram of it is known, and no model has to be looked up in: what is
//! counted, and what is scored, are the same places in a sorted list.
//!
//! `kneser_ney` estimates and scores by two sorts, `record_sort` sorts records that do not fit into memory, and
//! `record_file` keeps them.

mod kneser_ney;
mod record_file;
mod record_sort;
#[cfg(test)]
mod tests;

pub use kneser_ney::{KneserNey, NgramCounts};
