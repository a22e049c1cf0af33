//! Reads MDS shards by the byte table of the format, and checks what `index.json` says of them.

use super::{FileLayout, ReadRow, Reader, ShardReadError, gather, malformed, number, read_json};
use crate::epoch::build::Values;
use crate::epoch::recipe::{Column, ColumnKind, Compression};
use crate::model::IoError;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

pub(super) struct MdsShard {
    path: PathBuf,
    samples: BufReader<Box<dyn Read>>,
    columns: Vec<Named>,
    /// Bytes of a token id.
    id_bytes: usize,
    /// Offsets of the samples not read yet, and of the end.
    offsets: std::iter::Peekable<std::vec::IntoIter<u64>>,
}

impl MdsShard {
    pub fn open(dir: &Path, shard: usize, layout: &FileLayout) -> Result<Self, ShardReadError> {
        let compressed = layout.compression != Compression::None;
        let index_path = dir.join("index.json");
        let index = read_json(&index_path)?;
        let name = layout.name(shard, "mds");
        let stored = layout.name(shard, if compressed { "mds.zstd" } else { "mds" });
        let path = dir.join(&stored);
        let failed = || IoError::of("reading", &path);
        let file = File::open(&path).map_err(failed())?;
        let stored_bytes = file.metadata().map_err(failed())?.len();
        let (size, bytes): (u64, Box<dyn Read>) = if compressed {
            // What is inside is counted as it is read.
            let said = index.pointer(&format!("/shards/{shard}/raw_data/bytes"));
            let frame = zstd::Decoder::new(file).map_err(failed())?.single_frame();
            (said.and_then(Value::as_u64).unwrap_or_default(), Box::new(frame))
        } else {
            (stored_bytes, Box::new(file))
        };
        let mut samples = BufReader::with_capacity(1 << 20, bytes);
        let mut next = |bytes: u64| {
            let mut found = Vec::new();
            (&mut samples).take(bytes).read_to_end(&mut found).map(|_| found)
        };
        let count = number(&next(4).map_err(failed())?);
        let table = next(4 * (count + 1)).map_err(failed())?;
        let offsets: Vec<u64> = table.chunks_exact(4).map(number).collect();
        let start = offsets.first().copied().unwrap_or_default();
        if offsets.len() as u64 != count + 1
            || !offsets.is_sorted()
            || offsets.last() != Some(&size)
            || start < 4 * (count + 2)
        {
            return malformed(&path, format!("has no table of {count} samples within its size"));
        }
        let about = next(start - 4 * (count + 2)).map_err(failed())?;
        let about: Value = match serde_json::from_slice(&about) {
            Ok(about) => about,
            Err(error) => return malformed(&path, error),
        };
        let mut expected = description(layout);
        if about != expected {
            return malformed(&path, format!("does not describe itself as {expected}"));
        }
        if let Some(expected) = expected.as_object_mut() {
            let part = |name, bytes| json!({ "basename": name, "bytes": bytes, "hashes": {} });
            let zip = if compressed { part(stored, stored_bytes) } else { Value::Null };
            expected.insert("raw_data".to_owned(), part(name, size));
            expected.insert("samples".to_owned(), count.into());
            expected.insert("zip_data".to_owned(), zip);
        }
        if index.pointer(&format!("/shards/{shard}")) != Some(&expected)
            || index.pointer("/version") != Some(&json!(2))
        {
            return malformed(&index_path, format!("does not describe shard {shard} as it is"));
        }
        let shards = index.pointer("/shards").and_then(Value::as_array).map_or(0, Vec::len);
        let following = layout.name(shard + 1, if compressed { "mds.zstd" } else { "mds" });
        if shards != shard + 1 && !dir.join(following).exists() {
            let why = format!("has {shards} shards, the directory {}", shard + 1);
            return malformed(&index_path, why);
        }
        Ok(Self {
            path,
            samples,
            columns: columns(layout),
            id_bytes: layout.id_bytes,
            offsets: offsets.into_iter().peekable(),
        })
    }
}

/// A column of a shard: its name, its encoding, and what it is besides ids and segments.
type Named = (&'static str, &'static str, Option<Column>);

/// The columns, by name.
fn columns(layout: &FileLayout) -> Vec<Named> {
    let more = layout.columns.iter().map(|column| {
        let encoding = match column.kind() {
            ColumnKind::I8 => "ndarray:int8",
            ColumnKind::I32 => "ndarray:int32",
            ColumnKind::F32 => "ndarray:float32",
        };
        (column.name(), encoding, Some(*column))
    });
    let always = [
        ("doc_ids", "ndarray:int64", None),
        ("doc_offsets", "ndarray:int64", None),
        ("seq_lengths", "ndarray:int32", None),
        ("source", "str", None),
        ("tokens", if layout.id_bytes == 2 { "ndarray:uint16" } else { "ndarray:int32" }, None),
    ];
    let mut all: Vec<Named> = always.into_iter().chain(more).collect();
    all.sort_unstable();
    all
}

/// What a shard says of itself.
fn description(layout: &FileLayout) -> Value {
    let of = |named: &Named| (named.0, named.1);
    let (names, encodings): (Vec<&str>, Vec<&str>) = columns(layout).iter().map(of).unzip();
    json!({
        "column_encodings": encodings,
        "column_names": names,
        "column_sizes": vec![Value::Null; names.len()],
        "compression": (layout.compression != Compression::None).then_some("zstd"),
        "format": "mds",
        "hashes": [],
        "size_limit": layout.shard_bytes,
        "version": 2,
    })
}

impl MdsShard {
    fn next_row(&mut self) -> Result<Option<ReadRow>, ShardReadError> {
        let (Some(start), Some(end)) = (self.offsets.next(), self.offsets.peek()) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        (&mut self.samples)
            .take(end - start)
            .read_to_end(&mut bytes)
            .map_err(IoError::of("reading", &self.path))?;
        match sample(&bytes, &self.columns, self.id_bytes) {
            Some(row) => Ok(Some(row)),
            None => malformed(&self.path, format!("has no sample at byte {start}")),
        }
    }
}

impl Reader for MdsShard {
    fn next_rows(&mut self) -> Result<Vec<ReadRow>, ShardReadError> {
        let rows = gather(|| self.next_row())?;
        // Nothing may follow the last sample.
        let more = rows.is_empty() && {
            let read = self.samples.read(&mut [0]).map_err(IoError::of("reading", &self.path))?;
            read > 0
        };
        match more {
            true => malformed(&self.path, "goes on after its last sample"),
            false => Ok(rows),
        }
    }
}

/// A sample: the sizes of the columns, then the columns, by name.
fn sample(bytes: &[u8], columns: &[Named], id_bytes: usize) -> Option<ReadRow> {
    let (sizes, mut rest) = bytes.split_at_checked(4 * columns.len())?;
    let mut row = ReadRow::default();
    for ((name, _, column), size) in columns.iter().zip(sizes.chunks_exact(4).map(number)) {
        let (field, after) = rest.split_at_checked(usize::try_from(size).ok()?)?;
        rest = after;
        let long =
            || -> Option<Vec<i64>> { Some(array(field, 8)?.map(u64::cast_signed).collect()) };
        let of_width = |width| -> Option<Vec<u32>> {
            array(field, width)?.map(|value| u32::try_from(value).ok()).collect()
        };
        let short = || of_width(4);
        if let Some(column) = column {
            row.columns.insert(*column, column_of(field, *column)?);
            continue;
        }
        match *name {
            "doc_ids" => row.doc_ids = long()?,
            "doc_offsets" => row.doc_offsets = long()?,
            "seq_lengths" => row.seq_lengths = short()?.into_iter().map(u32::cast_signed).collect(),
            "source" => row.source = std::str::from_utf8(field).ok()?.to_owned(),
            // Signed in the file, where no id is negative.
            _ => row.ids = of_width(id_bytes)?,
        }
    }
    // No array may be empty, so this is how a row of pads is written.
    let of_pads = (row.doc_ids.as_slice(), row.doc_offsets.as_slice(), row.seq_lengths.as_slice());
    if of_pads == (&[-1], &[0], &[0]) {
        row.doc_ids.clear();
        row.doc_offsets.clear();
        row.seq_lengths.clear();
        if let Some(starts) = row.columns.get_mut(&Column::SeqStartId) {
            *starts = Values::I32(Vec::new());
        }
    }
    let sound = rest.is_empty() && row.ids.iter().all(|id| id.cast_signed() >= 0);
    sound.then_some(row)
}

/// The values of another column.
fn column_of(field: &[u8], column: Column) -> Option<Values> {
    let bits = |width| array(field, width)?.map(|bits| u32::try_from(bits).ok()).collect();
    let wide = || -> Option<Vec<u32>> { bits(4) };
    Some(match column.kind() {
        ColumnKind::I8 => {
            let bits: Vec<u32> = bits(1)?;
            Values::I8(bits.into_iter().map(i8::try_from).collect::<Result<_, _>>().ok()?)
        }
        ColumnKind::I32 => Values::I32(wide()?.into_iter().map(u32::cast_signed).collect()),
        ColumnKind::F32 => Values::F32(wide()?.into_iter().map(f32::from_bits).collect()),
    })
}

/// The values of an array of one dimension.
fn array(bytes: &[u8], width: usize) -> Option<impl Iterator<Item = u64>> {
    let (kind, rest) = bytes.split_first()?;
    let log = *kind ^ 1 << 2;
    let (length, values) = rest.split_at_checked(1 << log.min(3))?;
    let found = (values.len() / width) as u64;
    let narrowest = match found {
        0..=0xff => 0,
        0x100..=0xffff => 1,
        _ => 2,
    };
    let sound = log == narrowest && number(length) == found && values.len().is_multiple_of(width);
    sound.then(|| values.chunks_exact(width).map(number))
}
