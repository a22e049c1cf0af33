//! Bytes to records: finds the inputs, decompresses, recognises the format, parses. Streaming, in bounded memory.
//!
//! [`expand`] turns path arguments into [`InputFile`]s; a [`InputReader`] gives one input's records and
//! rejects in order, and the [`ResumePoint`] after each.
//! * `paths` files, directories, patterns, standard input; `datasets` folders of them
//! * `decompress` by content, counting the bytes of the file
//! * `stream` lines of the decompressed bytes, their position and their hash
//! * `item` what a reader is asked, and what it gives
//! * `recognise` the format, by what `sniff` sees in the beginning
//! * `reader` hands on to `parquet`, or to a `sequence` of records of a stream: `lines` and `json` of `objects`
//!   (`jsonl` reads one), `csv` of rows of `cells` (`metadata` puts their fields together), `warc` of archives
//!   (`http` the answers in them), `text`
//! * `places` any place of a file, on disk or in a store, which `parquet` asks for
//! * `ipc` the messages of Arrow files and streams
//! * `mapped` other names for fields, and the source that a record names
//! * `memory` records that a program hands over, one by one or as record batches
//! * `batches` record batches as records, which `ipc` and `memory` share, of the rows of `table`, as `parquet`
//! * `foreign` files that are neither records nor a text
//! * `kept_fields` which fields of a record are kept
//! * `tagged` texts with the marks of another program between their lines
//! * `guess` the text field when none is named

mod batches;
mod cells;
mod csv;
mod datasets;
mod decompress;
mod error;
mod foreign;
mod guess;
mod http;
mod ipc;
mod item;
mod json;
mod jsonl;
mod kept_fields;
mod lines;
mod mapped;
mod memory;
mod metadata;
mod objects;
mod parquet;
mod paths;
mod places;
mod reader;
mod recognise;
mod sequence;
mod sniff;
mod stream;
mod table;
mod tagged;
mod text;
mod warc;

pub use error::ReadError;
pub use item::{
    CsvOptions, InputFormat, ReadItem, ReadOptions, ResumePoint, SkippedContent, TextUnit,
};
pub use kept_fields::split_members;
pub use memory::{Record, Records};
#[cfg(test)]
pub use paths::expand_local;
pub use paths::{InputFile, expand};
pub use reader::InputReader;
#[cfg(test)]
pub(crate) use stream::HASHED_AGAIN;

#[cfg(test)]
mod format_tests;
#[cfg(test)]
mod tests;
