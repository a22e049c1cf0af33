//! Readers of what the writers wrote, sharing no code with them: verification is worth what its
//! independence is worth. One module a format; each gives a shard's rows in chunks, in order.

mod megatron;
mod parquet;
mod raw;
mod segments;
mod table;

use super::error::EpochError;
use super::recipe::Format;
use std::path::{Path, PathBuf};

/// A row as read from the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadRow {
    /// Number of the row in the epoch, where the format has it.
    pub number: Option<u64>,
    pub ids: Vec<u32>,
    pub source: String,
    pub seq_lengths: Vec<i32>,
    pub doc_ids: Vec<i64>,
    pub doc_offsets: Vec<i64>,
    pub views: Option<ReadViews>,
}

/// The columns of a row that follow from its ids and segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadViews {
    pub labels: Vec<i32>,
    pub loss_mask: Vec<i8>,
    pub position_ids: Vec<i32>,
    pub seq_start_id: Vec<i32>,
}

/// Why a file is not what its format says. The file system's own errors are apart.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The bytes are wrong; where and how.
    Malformed(String),
    /// The file could not be read at all.
    Failed(EpochError),
}

impl From<EpochError> for ReadError {
    fn from(error: EpochError) -> Self {
        Self::Failed(error)
    }
}

/// The rows of one shard.
pub(super) trait Reader {
    /// The next rows, at most about a thousand; empty at the end.
    fn next_rows(&mut self) -> Result<Vec<ReadRow>, ReadError>;
}

/// What a reader needs to know: the row's length where the files do not say it, and the id's type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub format: Format,
    /// Length of every row; none when it is the sum of its segments.
    pub row_tokens: Option<usize>,
    /// Bytes of an id in raw files.
    pub id_bytes: usize,
}

/// Names of the files of shard `shard`.
pub(super) fn shard_files(format: Format, shard: usize) -> Vec<String> {
    let extensions: &[&str] = match format {
        Format::Parquet => &["parquet"],
        Format::Megatron => &["bin", "idx", "segments.parquet"],
        Format::Raw => &["bin", "segments.parquet"],
    };
    extensions.iter().map(|extension| format!("shard-{shard:05}.{extension}")).collect()
}

/// Opens shard `shard` in `dir`.
pub(super) fn open(dir: &Path, shard: usize, layout: Layout) -> Result<Box<dyn Reader>, ReadError> {
    let path = |extension: &str| -> PathBuf { dir.join(format!("shard-{shard:05}.{extension}")) };
    Ok(match layout.format {
        Format::Parquet => Box::new(parquet::ParquetShard::open(&path("parquet"))?),
        Format::Megatron => Box::new(megatron::MegatronShard::open(
            &path("bin"),
            &path("idx"),
            &path("segments.parquet"),
        )?),
        Format::Raw => {
            Box::new(raw::RawShard::open(&path("bin"), &path("segments.parquet"), layout)?)
        }
    })
}

fn malformed<T>(path: &Path, what: impl std::fmt::Display) -> Result<T, ReadError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Err(ReadError::Malformed(format!("{name}: {what}")))
}
