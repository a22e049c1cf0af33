//! The options of an export: which documents, which columns, in which form, where.

use files::output::{FormatName, OutputCompression};
use files::remote::ObjectStores;
use std::path::Path;

/// Which documents go out, and as what. By default all kept documents with everything that is known of their records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ExportOptions {
    /// Only the kept documents for which this SQL condition over the table documents is true.
    #[cfg_attr(
        feature = "cli",
        arg(id = "where", long = "where", value_name = "SQL", allow_hyphen_values = true)
    )]
    pub condition: Option<String>,
    /// Write documents of any standing, not only kept ones.
    #[cfg_attr(feature = "cli", arg(long))]
    pub all: bool,
    /// The documents that this snapshot keeps, instead of those kept now.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub snapshot: Option<String>,
    /// Write pairs instead of documents: removed duplicates beside their witnesses; `where` selects the removed ones.
    #[cfg_attr(feature = "cli", arg(long))]
    pub duplicates: bool,
    /// The format of the files. By default the ending of the name decides: .jsonl, .parquet, .arrow, .csv, .txt.
    #[cfg_attr(feature = "cli", arg(long, value_enum, value_name = "FORMAT"))]
    pub format: Option<FormatName>,
    /// Columns of the table documents, in this order. By default key, source, text and all fields.
    ///
    /// The column meta has all fields of a record as JSON; `meta.*` writes each of them at top level (jsonl only).
    #[cfg_attr(feature = "cli", arg(long, value_delimiter = ',', value_name = "NAMES"))]
    pub columns: Option<Vec<String>>,
    /// The compression of the files. By default the ending of the name decides (.zst, .gz); for Parquet zstd.
    ///
    /// Parquet may have any, Arrow zstd and lz4, the others zstd and gzip.
    #[cfg_attr(feature = "cli", arg(long, value_enum, value_name = "NAME"))]
    pub compression: Option<OutputCompression>,
    /// Cut the pages of Parquet by their content: a later export of mostly the same documents shares most of its bytes.
    ///
    /// Stores that keep equal chunks of bytes once (Xet of Hugging Face, restic, borg) then keep and send the rest only.
    #[cfg_attr(feature = "cli", arg(long))]
    pub content_defined_chunks: bool,
    /// Size at which a file of a directory is closed and the next one begins. By default 256 MiB.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", value_parser = model::parse_bytes))]
    pub shard_bytes: Option<u64>,
    /// Columns by whose values files are partitioned into directories, as in Hive.
    ///
    /// Their names and values are in the names of the directories, not in the files.
    #[cfg_attr(feature = "cli", arg(long, value_delimiter = ',', value_name = "NAMES"))]
    pub partition_by: Vec<String>,
    /// The text after each document, for the text format. By default a line break.
    #[cfg_attr(feature = "cli", arg(long, value_name = "TEXT", allow_hyphen_values = true))]
    pub separator: Option<String>,
    /// A field of the tests alone: no other line of the tree names it, and every face has it.
    #[cfg(test)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", value_parser = model::parse_bytes))]
    pub test_only_bytes: Option<u64>,
}

/// Where an export goes.
#[derive(Clone, Copy)]
pub struct ExportJob<'a> {
    /// The file or directory to make. A directory where [`ExportOptions`] part it or cut it, where there is one
    /// already, and where the name has no ending or a stroke behind it.
    pub to: &'a Path,
    /// How objects of stores are reached, where [`ExportJob::to`] is an address (`s3://` and the like).
    pub stores: Option<&'a ObjectStores>,
    /// Replace a file that is there, or a directory that an export wrote.
    pub force: bool,
}

impl<'a> ExportJob<'a> {
    /// A job that replaces nothing.
    #[must_use]
    pub const fn new(to: &'a Path) -> Self {
        Self { to, stores: None, force: false }
    }
}
