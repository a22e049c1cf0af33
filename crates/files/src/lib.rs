//! Reads and writes files of training corpora: formats, compressions, folders, buckets.

pub mod input;
pub mod output;
pub mod remote;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
