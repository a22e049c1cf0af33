//! Reads JSON lines.

use super::{EpochError, Layout, ReadError, ReadRow, Reader, malformed};
use crate::epoch::recipe::Compression;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

const ROWS: usize = 512;

struct Jsonl {
    path: PathBuf,
    lines: BufReader<Box<dyn Read>>,
}

/// Opens shard `shard`.
pub(super) fn open(
    dir: &Path,
    shard: usize,
    layout: &Layout,
) -> Result<Box<dyn Reader>, ReadError> {
    let plain = layout.compression == Compression::None;
    let path = dir.join(layout.name(shard, if plain { "jsonl" } else { "jsonl.zst" }));
    let file = File::open(&path).map_err(EpochError::io("opening", &path))?;
    let bytes: Box<dyn Read> = if plain {
        Box::new(file)
    } else {
        Box::new(zstd::Decoder::new(file).map_err(EpochError::io("reading", &path))?)
    };
    Ok(Box::new(Jsonl { path, lines: BufReader::with_capacity(1 << 20, bytes) }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    input_ids: Vec<u32>,
    labels: Vec<i32>,
    seq_lengths: Vec<i32>,
    source: String,
    doc_ids: Vec<i64>,
    doc_offsets: Vec<i64>,
}

impl Reader for Jsonl {
    fn next_rows(&mut self) -> Result<Vec<ReadRow>, ReadError> {
        let mut rows = Vec::new();
        let mut text = Vec::new();
        while rows.len() < ROWS {
            text.clear();
            if let Err(error) = self.lines.read_until(b'\n', &mut text) {
                return malformed(&self.path, error);
            }
            if text.is_empty() {
                break;
            }
            if text.last() != Some(&b'\n') {
                return malformed(&self.path, "ends within a line");
            }
            let line: Line = match serde_json::from_slice(&text) {
                Ok(line) => line,
                Err(error) => return malformed(&self.path, error),
            };
            let row = ReadRow {
                number: None,
                ids: line.input_ids,
                source: line.source,
                seq_lengths: line.seq_lengths,
                doc_ids: line.doc_ids,
                doc_offsets: line.doc_offsets,
                labels: Some(line.labels),
                ..ReadRow::default()
            };
            rows.push(row);
        }
        Ok(rows)
    }
}
