//! Reads JSON lines.

use super::{FileLayout, ReadRow, Reader, ShardReadError, gather, malformed};
use crate::epoch::build::Values;
use crate::epoch::recipe::{Column, ColumnKind, Compression};
use crate::model::IoError;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

struct Jsonl {
    path: PathBuf,
    layout: FileLayout,
    lines: BufReader<Box<dyn Read>>,
}

/// Opens shard `shard`.
pub(super) fn open(
    dir: &Path,
    shard: usize,
    layout: &FileLayout,
) -> Result<Box<dyn Reader>, ShardReadError> {
    let plain = layout.compression == Compression::None;
    let path = dir.join(layout.name(shard, if plain { "jsonl" } else { "jsonl.zst" }));
    let file = File::open(&path).map_err(IoError::of("opening", &path))?;
    let bytes: Box<dyn Read> = if plain {
        Box::new(file)
    } else {
        Box::new(zstd::Decoder::new(file).map_err(IoError::of("reading", &path))?)
    };
    Ok(Box::new(Jsonl {
        path,
        layout: layout.clone(),
        lines: BufReader::with_capacity(1 << 20, bytes),
    }))
}

#[derive(Deserialize)]
struct JsonRow {
    input_ids: Vec<u32>,
    seq_lengths: Vec<i32>,
    source: String,
    doc_ids: Vec<i64>,
    doc_offsets: Vec<i64>,
    /// Everything else.
    #[serde(flatten)]
    more: Map<String, Value>,
}

impl JsonRow {
    /// Its other columns, which must be `expected` and nothing else.
    fn columns(&self, expected: &[Column]) -> Result<BTreeMap<Column, Values>, String> {
        let mut found = BTreeMap::new();
        for (name, value) in &self.more {
            let column = expected.iter().find(|column| column.name() == name);
            let column = column.ok_or_else(|| format!("has a key {name} too many"))?;
            let value = if column.is_one() { &Value::from(vec![value.clone()]) } else { value };
            let values = match column.kind() {
                ColumnKind::I8 => Vec::deserialize(value).map(Values::I8),
                ColumnKind::I32 => Vec::deserialize(value).map(Values::I32),
                ColumnKind::F32 => Vec::deserialize(value).map(Values::F32),
            };
            found.insert(*column, values.map_err(|error| format!("{name}: {error}"))?);
        }
        match expected.iter().find(|column| !found.contains_key(column)) {
            Some(column) => Err(format!("has a line without {}", column.name())),
            None => Ok(found),
        }
    }
}

impl Jsonl {
    /// The next line's row; `text` is room for the line.
    fn next_row(&mut self, text: &mut Vec<u8>) -> Result<Option<ReadRow>, ShardReadError> {
        text.clear();
        if let Err(error) = self.lines.read_until(b'\n', text) {
            return malformed(&self.path, error);
        }
        if text.is_empty() {
            return Ok(None);
        }
        if text.last() != Some(&b'\n') {
            return malformed(&self.path, "ends within a line");
        }
        let line: JsonRow = match serde_json::from_slice(text) {
            Ok(line) => line,
            Err(error) => return malformed(&self.path, error),
        };
        let columns = match line.columns(&self.layout.columns) {
            Ok(columns) => columns,
            Err(why) => return malformed(&self.path, why),
        };
        Ok(Some(ReadRow {
            number: None,
            ids: line.input_ids,
            source: line.source,
            seq_lengths: line.seq_lengths,
            doc_ids: line.doc_ids,
            doc_offsets: line.doc_offsets,
            columns,
            ..ReadRow::default()
        }))
    }
}

impl Reader for Jsonl {
    fn next_rows(&mut self) -> Result<Vec<ReadRow>, ShardReadError> {
        let mut text = Vec::new();
        gather(|| self.next_row(&mut text))
    }
}
