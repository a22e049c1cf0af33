//! The integration tests: one binary, one module a subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::too_many_lines,
    missing_docs,
    reason = "a test that goes wrong should stop there and say so, and it tells its whole case in one place"
)]

mod cli;
mod contamination;
mod curate;
mod decide;
mod docs;
mod epoch;
mod house;
mod ingest;
mod inspect;
mod load;
mod output;
mod signals;
mod sql;
mod store;
mod support;
mod tokenizer;
