//! corpusdb.
pub mod decide;
pub mod dedup;
pub mod ingest;
pub mod model;
pub mod store;
pub mod tokenizer;
