//! Bytes to records: finds the inputs, decompresses, recognises the format, parses. Streaming, in bounded memory.
//!
//! [`expand`] turns path arguments into [`Input`]s; a [`Reader`] gives one input's records and
//! rejects in order, and the [`ResumePoint`] after each.
//! * `paths` files, directories, patterns, standard input
//! * `decompress` gzip and Zstandard by content, counting the bytes of the file
//! * `stream` lines of the decompressed bytes, their position and their hash
//! * `item` what a reader is asked, and what it gives
//! * `reader` recognises the format and hands on to `jsonl`, `text` or `parquet`
//! * `memory` records that a program hands over, one by one or as record batches
//! * `table` rows of Arrow's form, which `parquet` and `memory` share
//! * `foreign` files that are neither records nor a text
//! * `kept_fields` which fields of a record are kept
//! * `tagged` texts with the marks of another program between their lines
//! * `guess` the text field when none is named

mod decompress;
mod error;
mod foreign;
mod guess;
mod item;
mod jsonl;
mod kept_fields;
mod memory;
mod parquet;
mod paths;
mod reader;
mod stream;
mod table;
mod tagged;
mod text;

pub use error::ReadError;
pub use item::{Format, Item, ReadOptions, ResumePoint};
pub use memory::{Record, Records};
pub use paths::{Input, expand};
pub use reader::Reader;
#[cfg(test)]
pub(super) use stream::HASHED_AGAIN;

#[cfg(test)]
mod tests;
