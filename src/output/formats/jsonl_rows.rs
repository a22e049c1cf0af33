//! Rows of epochs as JSON lines: one line a row, `input_ids`, `labels`, `seq_lengths`, `source`, `doc_ids` and
//! `doc_offsets`, and the other columns where they are asked for; as they are, or as one zstd frame a shard. Both ways.

use super::parquet_rows::asked;
use crate::model::IoError;
use crate::output::compression::{CompressedFile, OutputCompression};
use crate::output::error::WriteError;
use crate::output::files::ManifestFile;
use crate::output::row_format::{
    DirectoryReader, EncodedRows, RowFormat, RowShard, RowSpec, ShardDirectory, ShardReadError,
    ShardReader, damaged, or_damaged, shard_name,
};
use crate::output::rows::{BatchColumn, RowColumn};
use crate::output::token_batch::{
    RowListBuilder, TokenBatch, TokenBatchBuilder, TokenColumnBuilder, TokenRow, ViewValues,
};
use arrow::buffer::Buffer;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Shards of JSON lines.
pub(super) struct JsonlFormat;

/// Columns after `input_ids`, and behind those of segments.
const BEFORE: [RowColumn; 3] = [RowColumn::Labels, RowColumn::LossMask, RowColumn::PositionIds];
const AFTER: [RowColumn; 7] = [
    RowColumn::SeqStartId,
    RowColumn::LossWeights,
    RowColumn::AttentionMask,
    RowColumn::CuSeqlens,
    RowColumn::MaxSeqlen,
    RowColumn::SegmentIds,
    RowColumn::SeqIdx,
];
/// Rows that are compressed at a time: how many bytes of a frame are written, by which shards end, follows from it.
const PIECE_ROWS: usize = 32;
/// Bytes that a number of a line takes at most, with its comma: those of weights and of ids of documents.
const NUMBER: u64 = 24;
/// Bytes that names take in a line.
const NAMES: u64 = 1 << 16;

/// The columns of rows, in the order of JSON lines.
pub(crate) fn jsonl_columns(spec: &RowSpec) -> Vec<BatchColumn> {
    let mut columns = vec![BatchColumn::Ids];
    columns.extend(asked(spec, &BEFORE));
    columns.extend([
        BatchColumn::SeqLengths,
        BatchColumn::Source,
        BatchColumn::DocIds,
        BatchColumn::DocOffsets,
    ]);
    columns.extend(asked(spec, &AFTER));
    columns
}

fn name(spec: &RowSpec, shard: u64) -> String {
    let plain = spec.compression == OutputCompression::None;
    shard_name(shard, if plain { "jsonl" } else { "jsonl.zst" })
}

impl RowFormat for JsonlFormat {
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
            put_row(&columns, row, None, &mut bytes)?;
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
#[derive(Clone, Copy)]
pub(crate) struct StreamRowNumber {
    /// The row in the epoch; none: the batch has no row.
    pub row: Option<u64>,
    pub batch: u64,
}

/// Appends the line of a row, with its number in a stream.
///
/// # Errors
/// [`WriteError::Bug`] for a row without one of the columns.
pub(crate) fn put_row(
    columns: &[BatchColumn],
    row: TokenRow<'_>,
    number: Option<StreamRowNumber>,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let mut serializer = serde_json::Serializer::new(&mut *out);
    let written = serializer.serialize_map(None).and_then(|mut map| {
        if let Some(StreamRowNumber { row, batch }) = number {
            map.serialize_entry("row", &row)?;
            map.serialize_entry("batch", &batch)?;
        }
        for column in columns {
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
    });
    written.map_err(|error| WriteError::Bug(error.to_string()))?;
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
