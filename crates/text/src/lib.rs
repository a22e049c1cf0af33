//! Near duplicates, quality scores and contamination of texts, as pure functions.

pub mod contamination;
pub mod dedup;
pub mod kernel;
pub mod signals;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
