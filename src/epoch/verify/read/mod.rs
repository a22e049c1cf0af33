//! Readers of what the writers wrote, sharing no code with them: verification is worth what its
//! independence is worth. One module a format; each gives a shard's rows in chunks, in order, and checks
//! what the format says besides: indexes, headers, the files of the whole directory.

mod arrow;
mod bare_ids;
mod datatrove;
mod jsonl;
mod litdata;
mod llmc;
mod mds;
mod megatron;
mod olmo;
mod parquet;
mod raw;
mod segments;
mod table;

use crate::epoch::build::Values;
use crate::epoch::error::EpochError;
use crate::epoch::recipe;
use crate::epoch::recipe::{Column, Compression, Format};
use crate::epoch::run::Opened;
use crate::model::IoError;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A row as read from the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::epoch) struct ReadRow {
    /// Number of the row in the epoch, where the format has it.
    pub number: Option<u64>,
    pub ids: Vec<u32>,
    pub source: String,
    pub seq_lengths: Vec<i32>,
    pub doc_ids: Vec<i64>,
    pub doc_offsets: Vec<i64>,
    /// The columns of the row that it has besides.
    pub columns: BTreeMap<Column, Values>,
    /// A byte a token, 1 where it is trained.
    pub loss: Option<Vec<u8>>,
    /// A byte a token, 1 where its label counts.
    pub label_mask: Option<Vec<u8>>,
    /// Start, end and weight of what a segment table says is trained.
    pub trained: Option<Vec<(i32, i32, f32)>>,
}

/// Why a file is not what its format says. The file system's own errors are apart.
#[derive(Debug)]
pub(in crate::epoch) enum ShardReadError {
    /// The bytes are wrong; where and how.
    Malformed(String),
    /// The file could not be read at all.
    Failed(EpochError),
}

impl From<EpochError> for ShardReadError {
    fn from(error: EpochError) -> Self {
        Self::Failed(error)
    }
}

impl From<IoError> for ShardReadError {
    fn from(error: IoError) -> Self {
        Self::Failed(error.into())
    }
}

/// Rows read at a time, at most.
const ROWS: usize = 512;
/// Tokens of rows read at a time, about, unless a row has more: what a row is read into and compared with
/// takes some hundred bytes a token.
const TOKENS: usize = 1 << 19;

/// As many rows of those that `next` gives as are read at a time; fewer only at the end.
fn gather(
    mut next: impl FnMut() -> Result<Option<ReadRow>, ShardReadError>,
) -> Result<Vec<ReadRow>, ShardReadError> {
    let mut rows = Vec::new();
    let mut tokens = 0;
    while rows.len() < ROWS && tokens < TOKENS {
        let Some(row) = next()? else { break };
        tokens += row.ids.len();
        rows.push(row);
    }
    Ok(rows)
}

/// The rows of one shard.
pub(in crate::epoch) trait Reader {
    /// The next rows, at most about a thousand, of about [`TOKENS`] or one; empty at the end.
    fn next_rows(&mut self) -> Result<Vec<ReadRow>, ShardReadError>;
}

/// What a reader needs to know: what the files do not say themselves.
#[derive(Clone, Debug)]
pub(in crate::epoch) struct FileLayout {
    pub format: Format,
    /// What stands around raw ids.
    pub layout: recipe::Layout,
    pub compression: Compression,
    /// Length of every row, where rows have one; none when it is the sum of its segments.
    pub row_tokens: Option<usize>,
    /// Bytes of an id in files of bare ids.
    pub id_bytes: usize,
    /// Whether pads stand before the tokens.
    pub pads_left: bool,
    /// Places that a segment takes are a multiple of this.
    pub multiple: usize,
    /// Places at the end of a row that no segment takes up.
    pub spare: usize,
    /// Whether every pad is a run of its own.
    pub pads_apart: bool,
    /// Whether rows are documents, or fragments of documents.
    pub unpacked: bool,
    /// Largest size of a shard.
    pub shard_bytes: u64,
    /// Name of the tokenizer.
    pub tokenizer: String,
    /// blake3 of the plan, in hexadecimal.
    pub plan: String,
    /// Columns beside ids and segments.
    pub columns: Vec<Column>,
    /// Whether segment tables say what is trained on.
    pub said: bool,
    /// Whether masks beside the ids do.
    pub masked: bool,
}

impl FileLayout {
    /// The layout of the files of a plan.
    pub fn of(opened: &Opened) -> Self {
        let plan = &opened.plan;
        let output = &plan.recipe.output;
        let options = &plan.recipe.pack.options;
        let equal = plan.fixed_length() && output.format.has_equal_rows();
        Self {
            format: output.format,
            layout: output.layout(),
            compression: output.compression(),
            row_tokens: Some(plan.capacity as usize).filter(|_| equal),
            id_bytes: bare_ids::bytes(output, plan.tokenizer.vocab_size),
            pads_left: options.pad_side == recipe::PadSide::Left,
            multiple: if plan.pad().is_some() { options.doc_multiple.max(1) as usize } else { 1 },
            spare: if plan.pad().is_some() { plan.spare() as usize } else { 0 },
            pads_apart: options.pad_view == recipe::PadView::Each,
            unpacked: !plan.fixed_length(),
            shard_bytes: output.shard_bytes,
            tokenizer: plan.tokenizer.name.clone(),
            plan: plan.hash_hex(),
            columns: output.columns(opened.masked(), plan.pads_batches()),
            said: opened.trained.any(),
            masked: opened.masked(),
        }
    }

    /// Where the segments of a row begin and end.
    fn spans(&self, row: &ReadRow) -> Vec<(usize, usize)> {
        let length = |length: &i32| usize::try_from(*length).unwrap_or_default();
        let lengths = || row.seq_lengths.iter().map(length);
        let places: usize = lengths().map(|length| length.next_multiple_of(self.multiple)).sum();
        let mut at =
            if self.pads_left { row.ids.len().saturating_sub(places + self.spare) } else { 0 };
        let mut spans = Vec::new();
        for length in lengths() {
            let places = length.next_multiple_of(self.multiple);
            let start = if self.pads_left { at + places - length } else { at };
            spans.push((start, start + length));
            at += places;
        }
        spans
    }

    /// Name of the file that says what of shard `shard` is trained on, where one does.
    fn mask(&self, shard: usize) -> Option<String> {
        match self.layout {
            _ if !self.masked || self.format != Format::Raw => None,
            recipe::Layout::Datatrove => Some(self.name(shard, "ds.loss")),
            recipe::Layout::Olmo => Some(format!("label-mask-0-{shard:05}.npy")),
            _ => None,
        }
    }

    /// Name of the file of shard `shard` that ends in `extension`.
    fn name(&self, shard: usize, extension: &str) -> String {
        match (self.format, self.layout) {
            (Format::Mds, _) => format!("shard.{shard:05}.{extension}"),
            (Format::Litdata, _) => format!("chunk-0-{shard}.{extension}"),
            (Format::Arrow, _) => format!("data-{shard:05}-of-{extension}"),
            (Format::Raw, recipe::Layout::Datatrove) => {
                format!("{shard:05}_unshuffled.{extension}")
            }
            (Format::Raw, recipe::Layout::Olmo) => format!("part-0-{shard:05}.{extension}"),
            _ => format!("shard-{shard:05}.{extension}"),
        }
    }
}

/// Names of the files of shard `shard` in `dir`, whether they are there or not; of Arrow, whose names
/// tell the number of shards, those that are there.
pub(in crate::epoch) fn shard_files(dir: &Path, layout: &FileLayout, shard: usize) -> Vec<String> {
    let extensions: &[&str] = match (layout.format, layout.layout) {
        (Format::Arrow, _) => return arrow_files(dir, &layout.name(shard, "")),
        (Format::Parquet, _) => &["parquet"],
        (Format::Megatron, _) => &["bin", "idx", "segments.parquet"],
        (Format::Mds, _) if layout.compression == Compression::None => &["mds"],
        (Format::Mds, _) => &["mds.zstd"],
        (Format::Jsonl, _) if layout.compression == Compression::None => &["jsonl"],
        (Format::Jsonl, _) => &["jsonl.zst"],
        (Format::Raw, recipe::Layout::Datatrove) => {
            &["ds", "ds.index", "ds.metadata", "segments.parquet"]
        }
        (Format::Raw, recipe::Layout::Olmo) => &["npy", "csv.gz", "segments.parquet"],
        (Format::Litdata | Format::Raw, _) => &["bin", "segments.parquet"],
    };
    let names = extensions.iter().map(|extension| layout.name(shard, extension));
    names.chain(layout.mask(shard)).collect()
}

fn arrow_files(dir: &Path, prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(prefix) && name.ends_with(".arrow"))
        .collect();
    names.sort();
    names
}

/// Opens shard `shard` in `dir`.
pub(in crate::epoch) fn open(
    dir: &Path,
    shard: usize,
    layout: &FileLayout,
) -> Result<Box<dyn Reader>, ShardReadError> {
    let path = |extension: &str| -> PathBuf { dir.join(layout.name(shard, extension)) };
    let segments = path("segments.parquet");
    let raw = |tokens: &str, skip| raw::RawShard::open(&path(tokens), &segments, layout, skip);
    let mask = layout.mask(shard).map(|name| dir.join(name));
    Ok(match (layout.format, layout.layout) {
        (Format::Parquet, _) => Box::new(parquet::ParquetShard::open(&path("parquet"), layout)?),
        (Format::Arrow, _) => arrow::open(dir, shard, layout)?,
        (Format::Mds, _) => Box::new(mds::MdsShard::open(dir, shard, layout)?),
        (Format::Litdata, _) => litdata::open(dir, shard, layout)?,
        (Format::Jsonl, _) => jsonl::open(dir, shard, layout)?,
        (Format::Megatron, _) => {
            Box::new(megatron::MegatronShard::open(&path("bin"), &path("idx"), &segments, layout)?)
        }
        (Format::Raw, recipe::Layout::Plain | recipe::Layout::Nanogpt) => Box::new(raw("bin", 0)?),
        (Format::Raw, recipe::Layout::LlmC) => {
            llmc::check_header(&path("bin"))?;
            Box::new(raw("bin", llmc::HEADER)?)
        }
        (Format::Raw, recipe::Layout::Datatrove) => {
            let checks = datatrove::Ends::open(&path("ds"), mask.as_deref(), layout)?;
            Box::new(raw("ds", 0)?.checked_by(Box::new(checks)))
        }
        (Format::Raw, recipe::Layout::Olmo) => {
            let checks = olmo::Lines::open(&path("csv.gz"), mask.as_deref(), layout)?;
            Box::new(raw("npy", 0)?.checked_by(Box::new(checks)))
        }
    })
}

fn malformed<T>(path: &Path, what: impl std::fmt::Display) -> Result<T, ShardReadError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Err(ShardReadError::Malformed(format!("{name}: {what}")))
}

/// A file of JSON that is small.
fn read_json(path: &Path) -> Result<serde_json::Value, ShardReadError> {
    let bytes = fs::read(path).map_err(IoError::of("reading", path))?;
    serde_json::from_slice(&bytes).or_else(|error| malformed(path, error))
}

/// The little-endian number in `bytes`, of eight at most.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
