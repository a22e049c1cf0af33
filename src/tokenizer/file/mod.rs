//! A `tokenizer.json`: read, put together, brought to another version.

pub(in crate::tokenizer) mod pattern;
pub(in crate::tokenizer) mod unigram;
pub(in crate::tokenizer) mod version2;
pub(in crate::tokenizer) mod write;
