//! Rows to files: `Encoder` makes lines of a piece, or leaves it a record batch; `Shards` cuts what comes into groups
//! and files, the same way for every format; a `Shard` is a file, or a stream, under way.

mod arrow;
mod csv;
mod encode;
mod jsonl;
mod lines;
mod parquet;
mod part;
mod shards;
mod value;

pub(super) use arrow::ArrowShard;
pub(super) use encode::Encoder;
pub(super) use lines::LineShard;
pub(super) use parquet::ParquetShard;
pub(super) use part::{Part, Rows as PartRows};
pub(super) use shards::{Finished, Shards, group_bytes};

use super::error::ExportError;
use crate::output::ManifestFile;

/// A file under way.
pub(super) trait Shard: Send {
    /// Appends a group of parts.
    fn append(&mut self, parts: Vec<Part>) -> Result<(), ExportError>;
    /// Bytes of the file so far.
    fn bytes(&self) -> u64;
    /// Completes it; none for a stream.
    fn finish(self: Box<Self>) -> Result<Option<ManifestFile>, ExportError>;
}
