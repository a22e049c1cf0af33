//! The description of an output format: its names, its abilities, and the interface of the code that writes it.
//!
//! A format is one static [`OutputFormat`] in a file of `formats`, and everybody else asks its fields. A format for
//! tables of any columns, as documents and answers are, brings a [`TableFormat`].

use super::compression::{FileOutput, OutputCompression};
use super::error::WriteError;
use super::files::ManifestFile;
use super::parquet_columns::ColumnChunk;
use arrow::array::{ArrayRef, RecordBatch, new_empty_array};
use arrow::compute::concat;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use std::sync::Arc;

/// A format of files.
pub struct OutputFormat {
    /// The word in options and manifests.
    pub name: &'static str,
    /// What it is, for help.
    pub about: &'static str,
    /// How names of its files end, the first one in a directory; others are recognised.
    pub endings: &'static [&'static str],
    /// The compressions that its readers know.
    pub compressions: &'static [OutputCompression],
    /// The one that files have unless another one is asked for.
    pub default_compression: OutputCompression,
    /// Whether a compressed file is compressed as a whole, from outside, and its name says so.
    pub is_compressed_whole: bool,
    /// Whether it can be written to a stream, which cannot be read back.
    pub streams: bool,
    /// Which columns of documents its files have.
    pub columns: TableColumns,
    /// What becomes of values that it cannot hold, such as "not finite, written as null".
    pub loss: Option<&'static str>,
    /// Writes tables of any columns; `None` for a format of token ids alone.
    pub table: Option<&'static dyn TableFormat>,
}

/// Which columns of documents a format has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableColumns {
    /// Columns, each of one type.
    Typed,
    /// Members of objects, which may differ from row to row: fields of a record may stand at top level.
    Members,
    /// Texts alone.
    Texts,
}

/// What is known of files before their first row.
#[derive(Clone, Debug)]
pub struct FileSpec {
    /// The columns.
    pub schema: SchemaRef,
    /// How the file, or what is in it, is compressed.
    pub compression: OutputCompression,
    /// Whether content cuts the pages of Parquet, so that equal rows have equal bytes in other files.
    pub content_defined_chunks: bool,
    /// The text after each row, for formats of texts alone.
    pub separator: String,
    /// The column that is a JSON object in text, written as an object where the format has objects.
    pub object: Option<usize>,
    /// The column that is such an object whose members stand at top level.
    pub spread: Option<usize>,
}

impl FileSpec {
    /// Files of plain columns.
    pub const fn new(schema: SchemaRef, compression: OutputCompression) -> Self {
        Self {
            schema,
            compression,
            content_defined_chunks: false,
            separator: String::new(),
            object: None,
            spread: None,
        }
    }
}

/// Writes tables of any columns: documents and answers.
///
/// A group is encoded as a pure function of its rows, on any thread and ahead of its file, and is appended in order.
pub trait TableFormat: Send + Sync {
    /// Refuses columns that the format cannot hold.
    fn check(&self, spec: &FileSpec) -> Result<(), WriteError>;
    /// Encodes a group, whose rows may come in several batches: the bytes do not depend on where these end. Texts may
    /// be views where the columns of the files are none.
    fn encode(&self, spec: &FileSpec, rows: &[RecordBatch]) -> Result<EncodedGroup, WriteError>;
    /// Begins a file or a stream.
    fn create<'a>(
        &self,
        spec: &FileSpec,
        out: FileOutput<'a>,
    ) -> Result<Box<dyn ShardFile + 'a>, WriteError>;
}

/// A group of rows that is ready to be appended to a file.
pub struct EncodedGroup {
    /// Rows in it.
    pub rows: u64,
    /// How many values of each column the format cannot hold; empty where it holds all.
    pub lost: Vec<u64>,
    pub content: GroupContent,
}

/// A group as its format appends it.
pub enum GroupContent {
    /// Bytes in order.
    Bytes(Vec<Vec<u8>>),
    /// Column chunks of a row group of Parquet.
    Chunks(Vec<ColumnChunk>),
    /// A batch, for formats that encode while they write.
    Batch(RecordBatch),
}

impl EncodedGroup {
    /// The error of a group that another format encoded.
    pub(crate) fn mismatch() -> WriteError {
        WriteError::Bug("a group in the form of another format".to_owned())
    }
}

/// A file, or the files of a shard, under way.
pub trait ShardFile: Send {
    /// Appends a group.
    fn append(&mut self, group: EncodedGroup) -> Result<(), WriteError>;
    /// Bytes so far of the file whose size is bounded.
    fn bytes(&self) -> u64;
    /// Completes the files and lists them; a stream is not listed.
    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, WriteError>;
}

/// A column of a group, whose rows may come in several batches; no copy where it is one array already.
pub(crate) fn whole_column(
    rows: &[RecordBatch],
    at: usize,
    kind: &DataType,
) -> Result<ArrayRef, ArrowError> {
    let arrays: Vec<&ArrayRef> = rows.iter().filter_map(|rows| rows.columns().get(at)).collect();
    match arrays.as_slice() {
        [] => Ok(new_empty_array(kind)),
        [array] => Ok(Arc::clone(array)),
        _ => concat(&arrays.iter().map(|array| array.as_ref()).collect::<Vec<_>>()),
    }
}
