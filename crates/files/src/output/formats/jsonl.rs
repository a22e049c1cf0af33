//! JSON lines, an object a line: of documents, answers, and rows of epochs, which are read back.
//!
//! The fields of a document's record stand as the record spelled them, at top level or as one object.
//!
//! A row of an epoch has `input_ids`, `labels`, `seq_lengths`, `source`, `doc_ids` and `doc_offsets`, and the other
//! columns where they are asked for; a shard is as it is, or one zstd frame.

use super::lines::{LineFile, in_parallel};
use super::parquet::{AFTER, AMONG, BEFORE, asked};
use super::spelling::{Spelled, ValueSpelling, json_on_one_line, json_text};
use crate::output::compression::{CompressedFile, FileOutput, OutputCompression};
use crate::output::error::WriteError;
use crate::output::files::ManifestFile;
use crate::output::format::{
    EncodedGroup, FileSpec, OutputFormat, ShardFile, TableColumns, TableFormat,
};
use crate::output::row_format::{
    DirectoryReader, EncodedRows, RowFormat, RowShard, RowSpec, ShardDirectory, ShardReadError,
    ShardReader, damaged, or_damaged, shard_name,
};
use crate::output::rows::{BatchColumn, RowColumn};
use crate::output::token_batch::{
    RowListBuilder, TokenBatch, TokenBatchBuilder, TokenColumnBuilder, TokenRow, ViewValues,
};
use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use model::IoError;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

pub(super) static JSON_LINES: OutputFormat = OutputFormat {
    name: "jsonl",
    about: "One JSON object a line",
    endings: &["jsonl", "ndjson"],
    compressions: &[OutputCompression::None, OutputCompression::Zstd, OutputCompression::Gzip],
    default_compression: OutputCompression::None,
    is_compressed_whole: true,
    streams: true,
    columns: TableColumns::Members,
    loss: Some("not finite, written as null"),
    table: Some(&JsonLines),
};

pub(super) struct JsonLines;

impl TableFormat for JsonLines {
    fn check(&self, spec: &FileSpec) -> Result<(), WriteError> {
        ValueSpelling::check(&spec.schema)
    }

    fn encode(&self, spec: &FileSpec, rows: &[RecordBatch]) -> Result<EncodedGroup, WriteError> {
        in_parallel(rows, |rows, out| lines(rows, spec.object, spec.spread, out))
    }

    fn create<'a>(
        &self,
        spec: &FileSpec,
        out: FileOutput<'a>,
    ) -> Result<Box<dyn ShardFile + 'a>, WriteError> {
        Ok(Box::new(LineFile::new(CompressedFile::of(out, spec.compression, None)?)))
    }
}

/// The lines of a batch of plain columns, and how many values of each column are not finite.
pub fn json_rows(rows: &RecordBatch, out: &mut Vec<u8>) -> Result<Vec<u64>, WriteError> {
    lines(rows, None, None, out)
}

/// `object` and `spread` are columns with a JSON object in text: one stands as an object under its name, the members
/// of the other at top level.
fn lines(
    rows: &RecordBatch,
    object: Option<usize>,
    spread: Option<usize>,
    out: &mut Vec<u8>,
) -> Result<Vec<u64>, WriteError> {
    let spelling = ValueSpelling::new(rows.num_columns());
    let mut columns = spelling.columns(rows).map_err(|error| WriteError::Bug(error.to_string()))?;
    let mut keys = Vec::with_capacity(columns.len());
    for field in rows.schema_ref().fields() {
        let mut key = Vec::new();
        json_text(field.name(), &mut key);
        key.push(b':');
        keys.push(key);
    }
    for row in 0..rows.num_rows() {
        out.push(b'{');
        let mut is_first = true;
        for (at, (column, key)) in columns.iter_mut().zip(&keys).enumerate() {
            if Some(at) == spread {
                put_members(column.text(row).unwrap_or_default(), &mut is_first, out);
                continue;
            }
            put_comma(&mut is_first, out);
            out.extend_from_slice(key);
            match column.value(row) {
                Spelled::Null => out.extend_from_slice(b"null"),
                Spelled::Text(json) if Some(at) == object => json_on_one_line(json, out),
                Spelled::Text(text) => json_text(text, out),
                Spelled::Json(values) => values.encode(row, out),
            }
        }
        out.extend_from_slice(b"}\n");
    }
    Ok(spelling.lost())
}

/// Appends the members of an object without its braces.
fn put_members(object: &str, is_first: &mut bool, out: &mut Vec<u8>) {
    let inside = object.trim().strip_prefix('{').and_then(|object| object.strip_suffix('}'));
    let inside = inside.unwrap_or_default().trim();
    if !inside.is_empty() {
        put_comma(is_first, out);
        json_on_one_line(inside, out);
    }
}

fn put_comma(is_first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::take(is_first) {
        out.push(b',');
    }
}

/// Rows that are compressed at a time: how many bytes of a frame are written, by which shards end, follows from it.
const PIECE_ROWS: usize = 32;
/// Bytes that a number of a line takes at most, with its comma: those of weights and of ids of documents.
const NUMBER: u64 = 24;
/// Bytes that names take in a line.
const NAMES: u64 = 1 << 16;

/// The columns of rows, in the order of JSON lines.
pub fn jsonl_columns(spec: &RowSpec) -> Vec<BatchColumn> {
    let mut columns = vec![BatchColumn::Ids];
    columns.extend(asked(spec, &BEFORE));
    columns.extend([
        BatchColumn::SeqLengths,
        BatchColumn::Source,
        BatchColumn::DocIds,
        BatchColumn::DocOffsets,
    ]);
    columns.extend(asked(spec, &AMONG));
    columns.extend(asked(spec, &AFTER));
    columns
}

fn name(spec: &RowSpec, shard: u64) -> String {
    let plain = spec.compression == OutputCompression::None;
    shard_name(shard, if plain { "jsonl" } else { "jsonl.zst" })
}

impl RowFormat for JsonLines {
    fn is_read_as_table(&self) -> bool {
        true
    }

    fn default_columns(&self, _has_loss_masks: bool) -> Option<&'static [RowColumn]> {
        Some(&[RowColumn::Labels])
    }

    fn compressions(&self) -> &'static [OutputCompression] {
        &[OutputCompression::None, OutputCompression::Zstd]
    }

    fn columns(&self, spec: &RowSpec) -> Vec<BatchColumn> {
        jsonl_columns(spec)
    }

    fn encode(&self, spec: &RowSpec, rows: TokenBatch) -> Result<EncodedRows, WriteError> {
        let columns = self.columns(spec);
        let mut bytes = Vec::with_capacity(rows.ids().len() * 6 * (columns.len() - 4));
        let mut sizes = Vec::new();
        for (at, row) in rows.rows().enumerate() {
            if at.is_multiple_of(PIECE_ROWS) {
                sizes.push(0);
            }
            let before = bytes.len();
            put_row(&columns, row, None::<&StreamRowNumber>, &mut bytes)?;
            if let Some(piece) = sizes.last_mut() {
                *piece += bytes.len() - before;
            }
        }
        Ok(EncodedRows { rows, bytes: Buffer::from(bytes), sizes })
    }

    fn create(
        &self,
        spec: &RowSpec,
        dir: &Path,
        number: u32,
    ) -> Result<Box<dyn RowShard>, WriteError> {
        let name = name(spec, number.into());
        let sink = CompressedFile::create(dir, &name, spec.compression, None)?;
        Ok(Box::new(JsonlRowShard { sink, bytes: 0, largest: 0, rows: 0 }))
    }

    fn open(&self, spec: &RowSpec, dir: &Path) -> Result<Box<dyn DirectoryReader>, ShardReadError> {
        Ok(Box::new(JsonlDirectory(ShardDirectory::list(dir, spec)?)))
    }
}

/// A shard under way.
struct JsonlRowShard {
    sink: CompressedFile<'static>,
    /// Bytes by now, as they are on disk.
    bytes: u64,
    /// Bytes of the largest group so far: what the next one is expected to take.
    largest: u64,
    rows: u64,
}

impl RowShard for JsonlRowShard {
    fn append(&mut self, group: EncodedRows) -> Result<(), WriteError> {
        let mut rest = group.bytes.as_slice();
        for size in group.sizes {
            let (piece, after) = rest.split_at_checked(size).unwrap_or((rest, &[]));
            self.sink.put(piece)?;
            rest = after;
        }
        self.rows += group.rows.len() as u64;
        let bytes = self.sink.bytes();
        self.largest = self.largest.max(bytes - self.bytes);
        self.bytes = bytes;
        Ok(())
    }

    fn is_full(&self, limit: u64) -> bool {
        self.bytes + self.largest > limit
    }

    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, WriteError> {
        Ok(vec![self.sink.finish_file(self.rows)?])
    }
}

/// Where a line of a stream stands.
#[derive(Clone, Copy, Serialize)]
pub struct StreamRowNumber {
    /// The row in the epoch; none: the batch has no row.
    pub row: Option<u64>,
    /// The batch, counted from 0.
    pub batch: u64,
}

/// A line: the keys of a row, and what stands before them.
#[derive(Serialize)]
struct RowLine<'a, N: Serialize> {
    #[serde(flatten)]
    numbers: Option<&'a N>,
    #[serde(flatten)]
    keys: RowKeys<'a>,
}

struct RowKeys<'a> {
    columns: &'a [BatchColumn],
    row: TokenRow<'a>,
}

impl Serialize for RowKeys<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let row = self.row;
        for column in self.columns {
            let name = column.name();
            match column {
                BatchColumn::Ids => map.serialize_entry(name, row.ids()),
                BatchColumn::SeqLengths => map.serialize_entry(name, row.seq_lengths()),
                BatchColumn::Source => map.serialize_entry(name, row.source()),
                BatchColumn::DocIds => map.serialize_entry(name, row.doc_ids()),
                BatchColumn::DocOffsets => map.serialize_entry(name, row.doc_offsets()),
                BatchColumn::View(view) => match row.view(*view) {
                    Some(ViewValues::I8(values)) => map.serialize_entry(name, values),
                    Some(ViewValues::I32(values)) if view.is_scalar() => {
                        map.serialize_entry(name, &values.first())
                    }
                    Some(ViewValues::I32(values)) => map.serialize_entry(name, values),
                    Some(ViewValues::F32(values)) => map.serialize_entry(name, values),
                    None => Err(serde::ser::Error::custom(format!("a row without {name}"))),
                },
                _ => Err(serde::ser::Error::custom(format!("a key {name}"))),
            }?;
        }
        map.end()
    }
}

/// Appends the line of a row, behind its numbers in a stream.
///
/// # Errors
/// [`WriteError::Bug`] for a row without one of the columns.
pub fn put_row(
    columns: &[BatchColumn],
    row: TokenRow<'_>,
    numbers: Option<&impl Serialize>,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let line = RowLine { numbers, keys: RowKeys { columns, row } };
    serde_json::to_writer(&mut *out, &line).map_err(|error| WriteError::Bug(error.to_string()))?;
    out.push(b'\n');
    Ok(())
}

struct JsonlDirectory(ShardDirectory);

impl DirectoryReader for JsonlDirectory {
    fn shard_files(&self, shard: usize) -> Vec<String> {
        vec![name(&self.0.spec, shard as u64)]
    }

    fn open_shard(&self, shard: usize) -> Result<Box<dyn ShardReader>, ShardReadError> {
        let spec = &self.0.spec;
        let path = self.0.path.join(name(spec, shard as u64));
        let file = File::open(&path).map_err(IoError::of("opening", &path))?;
        let bytes: Box<dyn Read> = if spec.compression == OutputCompression::None {
            Box::new(file)
        } else {
            Box::new(zstd::Decoder::new(file).map_err(IoError::of("reading", &path))?)
        };
        Ok(Box::new(JsonlReader {
            path,
            columns: jsonl_columns(spec),
            longest: longest_line(spec),
            lines: BufReader::with_capacity(1 << 20, bytes),
        }))
    }
}

/// Bytes of the longest line that rows of a plan can take. A compressed file may hold any number of bytes.
fn longest_line(spec: &RowSpec) -> u64 {
    // Ids, views, and three numbers of each segment, of which there are no more than tokens.
    let numbers = spec.columns.len() as u64 + 4;
    u64::from(spec.capacity).saturating_mul(numbers * NUMBER).saturating_add(NAMES)
}

/// The rows of a shard.
struct JsonlReader {
    path: PathBuf,
    columns: Vec<BatchColumn>,
    longest: u64,
    lines: BufReader<Box<dyn Read>>,
}

impl ShardReader for JsonlReader {
    fn next_batch(&mut self) -> Result<Option<TokenBatch>, ShardReadError> {
        let (mut rows, mut line) = (TokenBatchBuilder::new(&self.columns), Vec::new());
        while !rows.is_full() {
            line.clear();
            let read = (&mut self.lines).take(self.longest).read_until(b'\n', &mut line);
            if let Err(error) = read {
                return damaged(&self.path, error);
            }
            if line.is_empty() {
                break;
            }
            if line.last() != Some(&b'\n') {
                let why = match line.len() as u64 >= self.longest {
                    true => format!("has a line of more than {} bytes", self.longest),
                    false => "ends within a line".to_owned(),
                };
                return damaged(&self.path, why);
            }
            let mut parser = serde_json::Deserializer::from_slice(&line);
            if let Err(error) =
                LineSeed(&mut rows).deserialize(&mut parser).and_then(|()| parser.end())
            {
                return damaged(&self.path, error);
            }
        }
        match rows.is_empty() {
            true => Ok(None),
            false => or_damaged(&self.path, rows.finish()).map(Some),
        }
    }
}

/// Appends the row of a line.
struct LineSeed<'a>(&'a mut TokenBatchBuilder);

impl<'de> DeserializeSeed<'de> for LineSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, line: D) -> Result<(), D::Error> {
        line.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LineSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut line: M) -> Result<(), M::Error> {
        let mut found = vec![false; self.0.columns.len()];
        let mut tokens = 0;
        while let Some(name) = line.next_key::<String>()? {
            let columns = self.0.columns.iter_mut().zip(&mut found);
            let column = columns.into_iter().find(|((column, _), _)| column.name() == name);
            let Some(((column, builder), found)) = column else {
                return Err(Error::custom(format!("has a key {name} too many")));
            };
            if std::mem::replace(found, true) {
                return Err(Error::custom(format!("has the key {name} twice")));
            }
            let values = line.next_value_seed(ValueSeed(builder))?;
            if *column == BatchColumn::Ids {
                tokens = values;
            }
        }
        let missing = self.0.columns.iter().zip(found).find(|(_, found)| !found);
        if let Some(((column, _), _)) = missing {
            return Err(Error::custom(format!("has a line without {}", column.name())));
        }
        self.0.end_row(tokens);
        Ok(())
    }
}

/// Appends the value of a key, and says how many numbers it has.
struct ValueSeed<'a>(&'a mut TokenColumnBuilder);

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<usize, D::Error> {
        match self.0 {
            TokenColumnBuilder::Text(values) => values.push(String::deserialize(value)?),
            TokenColumnBuilder::U64(values) => values.push(u64::deserialize(value)?),
            TokenColumnBuilder::I32(values) => values.push(i32::deserialize(value)?),
            TokenColumnBuilder::U8s(list) => return value.deserialize_seq(ListSeed::of(list)),
            TokenColumnBuilder::I8s(list) => return value.deserialize_seq(ListSeed::of(list)),
            TokenColumnBuilder::U32s(list) => return value.deserialize_seq(ListSeed::of(list)),
            TokenColumnBuilder::I32s(list) => return value.deserialize_seq(ListSeed::of(list)),
            TokenColumnBuilder::I64s(list) => return value.deserialize_seq(ListSeed::of(list)),
            TokenColumnBuilder::F32s(list) => return value.deserialize_seq(ListSeed::of(list)),
        }
        Ok(1)
    }
}

/// Appends the numbers of a list.
struct ListSeed<'a, T>(&'a mut RowListBuilder<T>);

impl<'a, T> ListSeed<'a, T> {
    const fn of(list: &'a mut RowListBuilder<T>) -> Self {
        Self(list)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListSeed<'_, T> {
    type Value = usize;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of numbers")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<usize, S::Error> {
        let before = self.0.values.len();
        while let Some(value) = list.next_element()? {
            self.0.values.push(value);
        }
        self.0.end();
        Ok(self.0.values.len() - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, StringArray};
    use std::sync::Arc;

    #[test]
    fn a_line_has_no_character_that_ends_one_elsewhere() {
        let text = "a\u{85}b\u{2028}c\u{2029}d\u{c2}\u{e9}\u{2030}\"\\\u{1}\u{8}\u{c}\n\r\t e";
        let object = "{\"x\":\n\"\u{2028}\u{2030}\",\r\"y\":1}";
        let texts: ArrayRef = Arc::new(StringArray::from(vec![text]));
        let objects: ArrayRef = Arc::new(StringArray::from(vec![object]));
        let rows = RecordBatch::try_from_iter([("t", texts), ("meta", objects)]).unwrap();
        let expected = "{\"t\":\"a\\u0085b\\u2028c\\u2029d\u{c2}\u{e9}\u{2030}\\\"\\\\\\u0001\\b\\f\\n\\r\\t e\"";
        let one = |object, spread| {
            let mut out = Vec::new();
            lines(&rows, object, spread, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let inside = "\"x\": \"\\u2028\u{2030}\", \"y\":1";
        assert_eq!(one(Some(1), None), format!("{expected},\"meta\":{{{inside}}}}}\n"));
        assert_eq!(one(None, Some(1)), format!("{expected},{inside}}}\n"));
        // Escapes are the library's for what both escape.
        for text in ["", "plain", "\u{0}\u{1f}\u{7f}", "é\"日\\本", &"long \"text\" ".repeat(99)]
        {
            let mut own = Vec::new();
            json_text(text, &mut own);
            assert_eq!(own, serde_json::to_vec(text).unwrap());
        }
    }
}
