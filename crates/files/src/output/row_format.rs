//! The interface of a format of epochs: facts for recipes and plans, and how its files are written and read.
//!
//! Each format is one file of `formats`, which writes and reads it.

use super::compression::OutputCompression;
use super::destination::FileRename;
use super::error::WriteError;
use super::files::ManifestFile;
use super::rows::{BatchColumn, IdType, LossLevel, RowColumn};
use super::token_batch::TokenBatch;
use arrow::buffer::Buffer;
use model::IoError;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

/// What is known of the rows that are written or read, besides the rows.
#[derive(Clone, Debug)]
pub struct RowSpec {
    /// Columns besides ids and segments, ascending.
    pub columns: Vec<RowColumn>,
    /// How shards are compressed.
    pub compression: OutputCompression,
    /// Whether content cuts the pages of Parquet, so that equal rows have equal bytes in other shards.
    pub content_defined_chunks: bool,
    /// Largest size of a shard in bytes.
    pub shard_bytes: u64,
    /// The type of ids in files.
    pub id_type: IdType,
    /// Vocabulary size of the tokenizer.
    pub vocab: u32,
    /// Name of the tokenizer.
    pub tokenizer: String,
    /// blake3 of the plan, in hexadecimal.
    pub plan: String,
    /// Most tokens of a row.
    pub capacity: u32,
    /// Whether rows are packed: to one length in formats that need it. Otherwise a row is one document, or one
    /// fragment of a document.
    pub is_packed: bool,
    /// Whether documents say what is trained on: segment tables hold it.
    pub has_loss_spans: bool,
    /// Whether that is what is trained on: other files and columns hold it.
    pub has_loss_masks: bool,
    /// Bytes of samples that may be held in memory.
    pub memory: u64,
}

impl RowSpec {
    /// Tokens of every row in formats that need rows of one length, where the rows are packed.
    pub(crate) fn equal_row_tokens(&self) -> Option<usize> {
        self.is_packed.then_some(self.capacity as usize)
    }
}

/// The size of a row, in what formats count.
#[derive(Clone, Copy, Debug)]
pub struct RowSize {
    /// Its tokens.
    pub tokens: usize,
    /// Its segments.
    pub segments: usize,
    /// Bytes of the name of its source.
    pub source: usize,
}

/// What a format cannot hold, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatLimit {
    pub why: String,
    pub instead: &'static str,
}

/// How a format names and begins its files of bare ids: what stands before and behind the number of the shard, and
/// the bytes before the first id of a file of so many rows.
pub struct BareIdLayout {
    pub before: &'static str,
    pub behind: &'static str,
    pub header: fn(u64) -> u64,
}

/// Rows ready to be appended: the rows, and what was made of them on any thread.
pub struct EncodedRows {
    /// The rows.
    pub rows: TokenBatch,
    /// Their bytes, where the format makes them ahead.
    pub bytes: Buffer,
    /// Bytes of each row in `bytes`, where a format needs them.
    pub sizes: Vec<usize>,
}

impl EncodedRows {
    /// Rows of a format that encodes them as it appends them.
    pub fn plain(rows: TokenBatch) -> Self {
        Self { rows, bytes: Buffer::from(Vec::<u8>::new()), sizes: Vec::new() }
    }
}

/// A format of epochs.
pub trait RowFormat: Sync {
    /// The columns besides ids and segments that its files have if a recipe names none; nothing where they have ids
    /// alone. `has_loss_masks`: documents say what is trained on.
    fn default_columns(&self, _has_loss_masks: bool) -> Option<&'static [RowColumn]> {
        None
    }

    /// The compressions that a recipe may ask for; the first is the default.
    fn compressions(&self) -> &'static [OutputCompression] {
        &[]
    }

    /// Whether engines read a directory of its files as one table, and take every file in it for a part of that.
    fn is_read_as_table(&self) -> bool {
        false
    }

    /// Whether packed rows must all have the same length, as in files of bare ids.
    fn needs_equal_rows(&self) -> bool {
        self.bare_ids().is_some()
    }

    /// Whether a recipe may choose the type of ids.
    fn has_id_choice(&self) -> bool {
        false
    }

    /// The type of ids of a vocabulary, where the recipe asks for `asked`.
    fn id_type(&self, _vocab: u32, _asked: Option<IdType>) -> IdType {
        IdType::I32
    }

    /// How much of what documents say is trained on it holds in files with these columns.
    fn loss(&self, columns: &[RowColumn]) -> LossLevel {
        let any = |of: &[RowColumn]| columns.iter().any(|column| of.contains(column));
        if any(&[RowColumn::LossWeights]) {
            LossLevel::Weighted
        } else if any(&[RowColumn::Labels, RowColumn::LossMask]) {
            LossLevel::Masked
        } else {
            LossLevel::Plain
        }
    }

    /// Its files of bare ids, where it has such.
    fn bare_ids(&self) -> Option<BareIdLayout> {
        None
    }

    /// Whether ids take up their bytes in its files, so that the least room for an epoch is known.
    fn has_ids_as_they_are(&self, _compression: OutputCompression) -> bool {
        self.bare_ids().is_some()
    }

    /// The error is what the rows of a plan would need and the format cannot hold.
    fn check(&self, _spec: &RowSpec) -> Result<(), FormatLimit> {
        Ok(())
    }

    /// The columns of rows that are written, in the order of its files, and read back.
    fn columns(&self, spec: &RowSpec) -> Vec<BatchColumn>;

    /// Bytes of a shard without rows, where the limit of a shard counts them.
    fn shard_overhead(&self, _spec: &RowSpec) -> u64 {
        0
    }

    /// Bytes that a row adds to what the limit of a shard counts, in files of bare ids those of its ids; nothing where
    /// only encoding tells.
    fn row_bytes(&self, spec: &RowSpec, row: RowSize) -> Option<u64> {
        self.bare_ids().map(|_| (row.tokens * spec.id_type.bytes()) as u64)
    }

    /// Encodes rows, on any thread.
    ///
    /// # Errors
    /// [`WriteError::Bug`] for rows that the format was never to get.
    fn encode(&self, _spec: &RowSpec, rows: TokenBatch) -> Result<EncodedRows, WriteError> {
        Ok(EncodedRows::plain(rows))
    }

    /// Begins shard `number` in `dir`.
    fn create(
        &self,
        spec: &RowSpec,
        dir: &Path,
        number: u32,
    ) -> Result<Box<dyn RowShard>, WriteError>;

    /// The files that get other names once the number of shards is known, given those of each shard.
    fn renames(&self, _shards: &[Vec<ManifestFile>]) -> Vec<FileRename> {
        Vec::new()
    }

    /// Writes the files of the whole directory, given those of each shard; lists all, by their last names.
    fn conclude(
        &self,
        _spec: &RowSpec,
        _dir: &Path,
        shards: Vec<Vec<ManifestFile>>,
    ) -> Result<Vec<ManifestFile>, WriteError> {
        Ok(shards.concat())
    }

    /// Opens a directory of its files. What stands there once for all shards is read once.
    fn open(&self, spec: &RowSpec, dir: &Path) -> Result<Box<dyn DirectoryReader>, ShardReadError>;
}

/// A shard under way.
pub trait RowShard: Send {
    /// Appends a group of rows.
    fn append(&mut self, group: EncodedRows) -> Result<(), WriteError>;
    /// Whether another group would make it larger than `limit`, where only encoding tells.
    fn is_full(&self, _limit: u64) -> bool {
        false
    }
    /// Completes its files and lists them, the largest first.
    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, WriteError>;
}

/// A directory that is read back.
pub trait DirectoryReader {
    /// Names of the files of a shard, whether they are there or not; where names tell the number of shards, of those
    /// that are there.
    fn shard_files(&self, shard: usize) -> Vec<String>;
    /// Opens a shard, and checks what its files and those of the directory say of it.
    fn open_shard(&self, shard: usize) -> Result<Box<dyn ShardReader>, ShardReadError>;
}

/// The rows of a shard.
pub trait ShardReader {
    /// The next rows, in order; nothing at the end.
    fn next_batch(&mut self) -> Result<Option<TokenBatch>, ShardReadError>;
}

/// Why a file is not what its format says. The file system's own errors are apart.
#[derive(Debug)]
pub enum ShardReadError {
    /// The bytes are wrong; where and how.
    Malformed(String),
    /// The file could not be read at all.
    Failed(IoError),
}

impl From<IoError> for ShardReadError {
    fn from(error: IoError) -> Self {
        Self::Failed(error)
    }
}

/// The error of a file that is not what its format says.
pub(crate) fn damaged<T>(path: &Path, what: impl Display) -> Result<T, ShardReadError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Err(ShardReadError::Malformed(format!("{name}: {what}")))
}

/// The error of [`damaged`] where a batch of the file's rows is not what the format says.
pub(crate) fn or_damaged<T>(path: &Path, found: Result<T, String>) -> Result<T, ShardReadError> {
    found.or_else(|why| damaged(path, why))
}

/// A directory that is read, and the names in it, listed once.
#[derive(Clone, Debug)]
pub(crate) struct ShardDirectory {
    pub path: PathBuf,
    pub spec: RowSpec,
    names: BTreeSet<String>,
}

impl ShardDirectory {
    pub fn list(path: &Path, spec: &RowSpec) -> Result<Self, ShardReadError> {
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(path).map_err(IoError::of("reading", path))? {
            let entry = entry.map_err(IoError::of("reading", path))?;
            names.extend(entry.file_name().into_string());
        }
        Ok(Self { path: path.to_path_buf(), spec: spec.clone(), names })
    }

    /// The names that begin with `prefix`, in order.
    pub fn beginning<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a String> {
        self.names.range(prefix.to_owned()..).take_while(move |name| name.starts_with(prefix))
    }

    /// A file of JSON in it.
    pub fn json(&self, name: &str) -> Result<serde_json::Value, ShardReadError> {
        let path = self.path.join(name);
        let bytes = fs::read(&path).map_err(IoError::of("reading", &path))?;
        serde_json::from_slice(&bytes).or_else(|error| damaged(&path, error))
    }
}

/// The little-endian number in `bytes`, of eight at most.
pub(crate) fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Name of shard `shard` of formats that give theirs no other.
pub(crate) fn shard_name(shard: impl Into<u64>, ending: &str) -> String {
    format!("shard-{:05}.{ending}", shard.into())
}
