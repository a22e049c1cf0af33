//! What texts are to each other and to themselves, as pure functions: near duplicates, scores, contamination.

pub mod contamination;
pub mod dedup;
pub mod kernel;
pub mod signals;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
