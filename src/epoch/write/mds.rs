//! MDS version 2, which MosaicML Streaming and LLM Foundry read: `shard.NNNNN.mds` and `index.json`.
//!
//! A sample is the u32 size of each column, then the columns, in the order of their names. An array
//! `ndarray:DTYPE` is one byte, 4 x dimensions + log2 of the bytes of a length; the length; the values.
//! MDS has no empty arrays: a row of pads has one segment, of 0 tokens of document -1.

use super::blocks::{BlockShard, table_bytes};
use super::files::write_whole;
use super::json::python;
use super::{Format, Options, Shard};
use crate::epoch::error::EpochError;
use crate::epoch::ids::Row;
use crate::epoch::manifest::ManifestFile;
use serde_json::{Value, json};

/// Columns and their encodings, by name.
const COLUMNS: [(&str, &str); 5] = [
    ("doc_ids", "ndarray:int64"),
    ("doc_offsets", "ndarray:int64"),
    ("seq_lengths", "ndarray:int32"),
    ("source", "str"),
    ("tokens", "ndarray:int32"),
];

struct Mds {
    options: Options,
    about: Vec<u8>,
    shard_bytes: u64,
}

pub(super) fn format(options: Options, shard_bytes: u64) -> impl Format {
    let about = python(&about(shard_bytes)).into_bytes();
    Mds { options, about, shard_bytes }
}

/// What every shard says of itself.
fn about(shard_bytes: u64) -> Value {
    json!({
        "column_encodings": COLUMNS.map(|(_, encoding)| encoding),
        "column_names": COLUMNS.map(|(name, _)| name),
        "column_sizes": COLUMNS.map(|_| Value::Null),
        "compression": null,
        "format": "mds",
        "hashes": [],
        "size_limit": shard_bytes,
        "version": 2,
    })
}

impl Format for Mds {
    fn overhead(&self) -> u64 {
        table_bytes(0) + self.about.len() as u64
    }

    fn weigh(&self, row: &Row) -> u64 {
        let array = |values: usize, width: usize| 1 + length_bytes(values) + values * width;
        let segments = row.segments.len().max(1);
        let bytes = 4 * COLUMNS.len()
            + 2 * array(segments, 8)
            + array(segments, 4)
            + self.options.source(row).len()
            + array(row.ids.len(), 4);
        // And its offset in the table.
        bytes as u64 + 4
    }

    fn open(&self, number: u32, _: u64) -> Result<Box<dyn Shard>, EpochError> {
        let name = format!("shard.{number:05}.mds");
        Ok(BlockShard::create(&self.options, name, self.about.clone(), sample, None))
    }

    fn conclude(&self, shards: Vec<Vec<ManifestFile>>) -> Result<Vec<ManifestFile>, EpochError> {
        let mut files = shards.concat();
        let mut shards = Vec::new();
        for file in &files {
            let mut shard = about(self.shard_bytes);
            if let Some(shard) = shard.as_object_mut() {
                let data = json!({ "basename": file.name, "bytes": file.bytes, "hashes": {} });
                shard.insert("raw_data".to_owned(), data);
                shard.insert("samples".to_owned(), file.rows.into());
                shard.insert("zip_data".to_owned(), Value::Null);
                shard.sort_keys();
            }
            shards.push(shard);
        }
        let index = python(&json!({ "shards": shards, "version": 2 }));
        files.push(write_whole(&self.options.dir, "index.json", index.as_bytes(), 0)?);
        Ok(files)
    }
}

fn sample(options: &Options, row: &Row, out: &mut Vec<u8>) -> Result<(), EpochError> {
    let segments = row.segments.len().max(1);
    let tokens = options.signed(row)?;
    let source = options.source(row).as_bytes();
    let sizes = [
        1 + length_bytes(segments) + 8 * segments,
        1 + length_bytes(segments) + 8 * segments,
        1 + length_bytes(segments) + 4 * segments,
        source.len(),
        1 + length_bytes(tokens.len()) + 4 * tokens.len(),
    ];
    for size in sizes {
        let size = u32::try_from(size).map_err(|_| EpochError::bug("an MDS column of 4 GiB"))?;
        out.extend(size.to_le_bytes());
    }
    begin_array(segments, out);
    if row.segments.is_empty() {
        out.extend((-1_i64).to_le_bytes());
    }
    out.extend(row.segments.iter().flat_map(|segment| segment.document.0.to_le_bytes()));
    begin_array(segments, out);
    if row.segments.is_empty() {
        out.extend(0_i64.to_le_bytes());
    }
    out.extend(row.segments.iter().flat_map(|segment| u64::from(segment.offset).to_le_bytes()));
    begin_array(segments, out);
    if row.segments.is_empty() {
        out.extend(0_i32.to_le_bytes());
    }
    out.extend(row.segments.iter().flat_map(|segment| segment.length.to_le_bytes()));
    out.extend_from_slice(source);
    begin_array(tokens.len(), out);
    out.extend(tokens.iter().flat_map(|id| id.to_le_bytes()));
    Ok(())
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
