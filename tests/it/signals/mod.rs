//! Signals of documents: the scores, and the report of them.

mod report;
mod scores;
