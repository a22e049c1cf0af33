//! Bytes to records: finds the inputs, decompresses, recognises the format and parses, streaming and in bounded memory.
//!
//! [`expand`] turns path arguments into [`InputFile`]s; an [`InputReader`] cuts one input into undecoded records in
//! order, with the [`ResumePoint`] after each; a [`RecordBuilder`] on any thread makes records and rejects of them.
//! * `inputs` one of them; `expand` files, directories, patterns, standard input; `folders` what of these is data, by
//!   `file_names`, `leftovers` (copies and parts of files) and `table_formats` (Iceberg, Delta, Hudi, Lance)
//! * `decompress` by content, counting the bytes of the file
//! * `pipe` standard input and pipes, where a request to stop is heard
//! * `stream` lines of the decompressed bytes, their position and their hash
//! * `item` the options of a reader, and what it gives
//! * `detect` the format, by what `csv_rows` sees in the beginning; `foreign` files that are neither records nor a text
//! * `input_reader` hands on to `columnar_reader` (Parquet, by its `parquet_footer`), or to a reader of records of a stream (`block`):
//!   `json_reader`, `csv_reader` of rows of `csv_rows`, `warc_reader` of archives, `text_reader`
//! * `ipc` the messages of Arrow files and streams; `arrow_rows` rows of record batches as records, by `arrow_json`,
//!   their columns in the types of `arrow_types`
//! * `records` records that a program hands over, one by one or as record batches
//! * `text_field` which field is the text where none is named; `field_roles` new names of fields, and the source that
//!   a record names
//! * `keys` what identifies a record: one rule for all of them
//! * `builder` makes records of what readers cut out, by `json_record` and `csv_header`: keeps the fields that are asked for, in canonical form

mod arrow_contents;
mod arrow_json;
mod arrow_rows;
mod arrow_types;
mod block;
mod builder;
mod columnar_reader;
mod csv_header;
mod csv_reader;
mod csv_rows;
mod decompress;
mod detect;
mod error;
mod expand;
mod field_roles;
mod file_names;
mod folders;
mod foreign;
mod input_reader;
mod inputs;
mod ipc;
mod item;
mod json_reader;
mod json_record;
mod keys;
mod leftovers;
mod parquet_footer;
mod pipe;
mod records;
mod stream;
mod table_formats;
mod text_field;
mod text_reader;
mod warc_reader;

pub use arrow_json::rows_as_json;
pub use arrow_rows::is_row_number;
pub use arrow_types::as_type;
pub use block::RawRecord;
pub use builder::{RecordBuilder, split_members};
pub use csv_header::{CsvHeader, CsvValue};
pub use csv_rows::CsvOddities;
pub use decompress::without_compression;
pub use error::ReadError;
pub use expand::expand;
#[doc(hidden)]
pub use expand::expand_local;
pub use folders::{LeftFile, LeftRole, path_fields};
pub use input_reader::InputReader;
pub use inputs::{InputFile, path_on_record};
pub use item::{
    CsvOptions, InputFormat, ReadItem, ReadOptions, ResumePoint, SkippedContent, TextUnit,
};
pub use json_record::may_have_half_pairs;
pub use parquet_footer::{ParquetDecoding, ParquetFooter};
pub use records::{Record, Records};
#[doc(hidden)]
pub use stream::HASHED_AGAIN;
pub use warc_reader::{CAPTURE_DATE, CAPTURE_FIELDS};

#[cfg(test)]
mod arrow_tests;
#[cfg(test)]
mod columnar_tests;
#[cfg(test)]
mod folder_tests;
#[cfg(test)]
mod format_tests;
#[cfg(test)]
mod tests;
