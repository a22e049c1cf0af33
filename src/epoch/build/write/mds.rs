//! MDS version 2, which MosaicML Streaming and LLM Foundry read: `shard.NNNNN.mds`, or `shard.NNNNN.mds.zstd`, and
//! `index.json`.
//!
//! A compressed shard is one zstd frame; limits and what shards say of themselves are of the bytes inside it.
//! A sample is the u32 size of each column, then the columns, in the order of their names. An array
//! `ndarray:DTYPE` is one byte, 4 x dimensions + log2 of the bytes of a length; the length; the values.
//! MDS has no empty arrays: a row of pads has one segment, of 0 tokens of document -1.

use super::blocks::{BlockShard, table_bytes};
use super::columns::values;
use super::json::python;
use super::{Options, Shard, ShardFormat};
use crate::epoch::build::{ManifestFile, Values, Width};
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::epoch::recipe::{Column, ColumnKind, Compression};
use crate::model::IoError;
use crate::output::write_whole;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;

/// What the names of compressed shards end in.
const COMPRESSED: &str = ".zstd";
/// Bytes that the head of a zstd frame has at most.
const FRAME_HEAD: u64 = 18;

/// Columns that every shard has besides the ids, and their encodings.
const COLUMNS: [(&str, &str); 4] = [
    ("doc_ids", "ndarray:int64"),
    ("doc_offsets", "ndarray:int64"),
    ("seq_lengths", "ndarray:int32"),
    ("source", "str"),
];
/// The column of the ids.
const IDS: &str = "tokens";

/// All columns and their encodings, by name.
fn columns(options: &Options) -> Vec<(&'static str, &'static str)> {
    let narrow = options.width == Width::U16;
    let ids = (IDS, if narrow { "ndarray:uint16" } else { "ndarray:int32" });
    let more = options.columns.iter().map(|column| (column.name(), encoding(*column)));
    let mut columns: Vec<_> = COLUMNS.into_iter().chain([ids]).chain(more).collect();
    columns.sort_unstable();
    columns
}

const fn encoding(column: Column) -> &'static str {
    match column.kind() {
        ColumnKind::I8 => "ndarray:int8",
        ColumnKind::I32 => "ndarray:int32",
        ColumnKind::F32 => "ndarray:float32",
    }
}

fn is_compressed(options: &Options) -> bool {
    options.compression == Compression::Zstd
}

struct Mds {
    options: Options,
    about: Vec<u8>,
    shard_bytes: u64,
}

pub(super) fn format(options: Options, shard_bytes: u64) -> impl ShardFormat {
    let about = python(&about(&options, shard_bytes)).into_bytes();
    Mds { options, about, shard_bytes }
}

/// What every shard says of itself.
fn about(options: &Options, shard_bytes: u64) -> Value {
    let (names, encodings): (Vec<&str>, Vec<&str>) = columns(options).into_iter().unzip();
    json!({
        "column_encodings": encodings,
        "column_names": names,
        "column_sizes": vec![Value::Null; names.len()],
        "compression": is_compressed(options).then_some("zstd"),
        "format": "mds",
        "hashes": [],
        "size_limit": shard_bytes,
        "version": 2,
    })
}

impl ShardFormat for Mds {
    fn overhead(&self) -> u64 {
        table_bytes(0) + self.about.len() as u64
    }

    fn weigh(&self, row: &FilledRow) -> u64 {
        let array = |values: usize, width: usize| 1 + length_bytes(values) + values * width;
        let segments = row.segments.len().max(1);
        let width = row.ids.len();
        let more = self.options.columns.iter().map(|column| {
            let values = match column {
                Column::SeqStartId => segments,
                // Every pad may be a segment to it.
                Column::CuSeqlens => width + 1,
                Column::MaxSeqlen => 1,
                _ => width,
            };
            array(values, if column.kind() == ColumnKind::I8 { 1 } else { 4 })
        });
        let bytes = 4 * (COLUMNS.len() + 1 + self.options.columns.len())
            + 2 * array(segments, 8)
            + array(segments, 4)
            + self.options.source(row).len()
            + array(width, self.options.width.bytes())
            + more.sum::<usize>();
        // And its offset in the table.
        bytes as u64 + 4
    }

    fn open(&self, number: u32, _: u64) -> Result<Box<dyn Shard>, EpochError> {
        let mut name = format!("shard.{number:05}.mds");
        if is_compressed(&self.options) {
            name.push_str(COMPRESSED);
        }
        Ok(BlockShard::create(&self.options, name, self.about.clone(), sample, None))
    }

    fn conclude(&self, shards: Vec<Vec<ManifestFile>>) -> Result<Vec<ManifestFile>, EpochError> {
        let mut files = shards.concat();
        let mut shards = Vec::new();
        for file in &files {
            let mut shard = about(&self.options, self.shard_bytes);
            if let Some(shard) = shard.as_object_mut() {
                let (raw, zip) = self.parts(file)?;
                shard.insert("raw_data".to_owned(), raw);
                shard.insert("samples".to_owned(), file.rows.into());
                shard.insert("zip_data".to_owned(), zip);
                shard.sort_keys();
            }
            shards.push(shard);
        }
        let index = python(&json!({ "shards": shards, "version": 2 }));
        files.push(write_whole(&self.options.dir, "index.json", index.as_bytes(), 0)?);
        Ok(files)
    }
}

impl Mds {
    /// What `index.json` says of a shard's bytes as they are, and compressed.
    fn parts(&self, file: &ManifestFile) -> Result<(Value, Value), EpochError> {
        let part =
            |name: &str, bytes: u64| json!({ "basename": name, "bytes": bytes, "hashes": {} });
        let whole = part(&file.name, file.bytes);
        match file.name.strip_suffix(COMPRESSED) {
            None => Ok((whole, Value::Null)),
            Some(name) => Ok((part(name, self.inside(file)?), whole)),
        }
    }

    /// Bytes inside a compressed shard, which may be one that an earlier build finished: its frame says it.
    fn inside(&self, file: &ManifestFile) -> Result<u64, EpochError> {
        let path = self.options.dir.join(&file.name);
        let mut head = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(FRAME_HEAD).read_to_end(&mut head))
            .map_err(IoError::of("reading", &path))?;
        let bytes = zstd::zstd_safe::get_frame_content_size(&head).ok().flatten();
        bytes.ok_or_else(|| EpochError::bug(format!("{} does not say its size", file.name)))
    }
}

fn sample(options: &Options, row: &FilledRow, out: &mut Vec<u8>) -> Result<(), EpochError> {
    let columns = columns(options);
    let sizes = out.len();
    out.resize(sizes + 4 * columns.len(), 0);
    for (at, (name, _)) in columns.into_iter().enumerate() {
        let start = out.len();
        put(options, row, name, out)?;
        let size = u32::try_from(out.len() - start);
        let size = size.map_err(|_| EpochError::bug("an MDS column of 4 GiB"))?;
        if let Some(place) = out.get_mut(sizes + 4 * at..sizes + 4 * at + 4) {
            place.copy_from_slice(&size.to_le_bytes());
        }
    }
    Ok(())
}

/// Appends a column of a row.
fn put(
    options: &Options,
    row: &FilledRow,
    name: &str,
    out: &mut Vec<u8>,
) -> Result<(), EpochError> {
    let segments = &row.segments;
    match name {
        "doc_ids" => {
            let documents = segments.iter().map(|segment| segment.document.0.to_le_bytes());
            or_one(documents, (-1_i64).to_le_bytes(), out);
        }
        "doc_offsets" => {
            let offsets = segments.iter().map(|segment| u64::from(segment.offset).to_le_bytes());
            or_one(offsets, 0_u64.to_le_bytes(), out);
        }
        "seq_lengths" => {
            let lengths = segments.iter().map(|segment| segment.length.to_le_bytes());
            or_one(lengths, 0_u32.to_le_bytes(), out);
        }
        "source" => out.extend_from_slice(options.source(row).as_bytes()),
        IDS => {
            begin_array(row.ids.len(), out);
            options.encode(row, out)?;
        }
        _ => {
            let asked = options.columns.iter().find(|column| column.name() == name);
            match asked.map(|column| values(*column, row, options)).transpose()? {
                Some(Values::I8(values)) => {
                    or_one(values.iter().map(|v| v.to_le_bytes()), [0], out)
                }
                Some(Values::I32(values)) => {
                    or_one(values.iter().map(|v| v.to_le_bytes()), [0; 4], out);
                }
                Some(Values::F32(values)) => {
                    or_one(values.iter().map(|v| v.to_le_bytes()), [0; 4], out);
                }
                None => return Err(EpochError::bug(format!("an MDS column {name}"))),
            }
        }
    }
    Ok(())
}

/// An array; of `none` alone where there are no values, since no array may be empty.
fn or_one<const N: usize>(
    values: impl ExactSizeIterator<Item = [u8; N]>,
    none: [u8; N],
    out: &mut Vec<u8>,
) {
    if values.len() == 0 { array([none].into_iter(), out) } else { array(values, out) }
}

fn array<const N: usize>(values: impl ExactSizeIterator<Item = [u8; N]>, out: &mut Vec<u8>) {
    begin_array(values.len(), out);
    out.extend(values.flatten());
}

/// Bytes that the length of an array takes.
const fn length_bytes(values: usize) -> usize {
    match values {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

fn begin_array(values: usize, out: &mut Vec<u8>) {
    let bytes = length_bytes(values);
    let log: u8 = match bytes {
        1 => 0,
        2 => 1,
        4 => 2,
        _ => 3,
    };
    out.push(1 << 2 | log);
    out.extend(values.to_le_bytes().into_iter().take(bytes));
}
