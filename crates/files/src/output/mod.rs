//! Writes output files: rows in record batches become groups, groups files, and no file is seen before it is whole.
//!
//! A file is made beside its name and hashed while it is written. `output_file` judges what a name for a single file
//! stands for, and makes the file; `destination` does so for outputs that are resumed, documents and epochs, and says
//! what they may replace. `staging` keeps their finished shards beside the output until all are there, `bucket` in a
//! store, each by a `record`; `naming` renames and replaces nothing. `files` writes and hashes on a thread of its own;
//! `compression` compresses on the way; `format` says what a format is for documents and answers, `row_format` for rows
//! of epochs, and `formats` has each of them in a file; `rows` and `token_batch` say what a row of an epoch has;
//! `shards` cuts rows into groups and files. Where rows come from is not known here: training rows come from `epoch`,
//! documents from `export`, answers from `sql`.
//!
//! The manifest stands beside its output, where `model::directories` finds it. No output may stand in a corpus.

mod bucket;
mod compression;
mod destination;
mod error;
mod files;
mod format;
mod formats;
mod naming;
mod output_file;
mod parquet_columns;
mod record;
mod row_format;
mod rows;
mod shards;
mod staging;
mod token_batch;

pub use compression::{FileOutput, OutputCompression};
pub use destination::{
    FileRename, LocalDestination, OutputMaker, OutputRequest, ShardRecord, Staging, refuse_occupied,
};
pub use error::{OutputError, WriteError};
pub use files::{HashedFile, ManifestFile};
pub use format::{FileSpec, OutputFormat, ShardFile, TableColumns, TableFormat};
pub use formats::FormatName;
#[doc(hidden)]
pub use formats::python_json;
pub use formats::{
    StreamRowNumber, csv_header, csv_rows, json_rows, jsonl_columns, put_row, row_format,
    signed_columns, signed_fields, table_columns,
};
pub use output_file::{OutputFile, OutputWriter};
pub use row_format::{
    DirectoryReader, EncodedRows, RowFormat, RowShard, RowSize, RowSpec, ShardReadError,
    ShardReader,
};
pub use rows::{BatchColumn, IdType, LossLevel, RowColumn, list_column, list_field};
pub use shards::{GroupSize, PositionedRows, ShardOutcome, ShardWriter};
pub use staging::{Destination, LocalStaging};
pub use token_batch::{TokenBatch, TokenRow, ViewValues, row_batch};
