//! corpusdb.
fn main() {}
