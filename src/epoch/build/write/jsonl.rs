//! JSON lines: one line a row, `input_ids`, `labels`, `seq_lengths`, `source`, `doc_ids` and
//! `doc_offsets`, and the other columns where they are asked for; as they are, or as one zstd frame a shard.

use super::columns::values;
use super::{Options, Shard, ShardFormat, frame, shard_name};
use crate::epoch::build::{ManifestFile, Values};
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::epoch::recipe::{Column, Compression};
use crate::model::IoError;
use crate::output::CompressedFile;
use rayon::prelude::*;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::io;

/// Rows encoded by one thread at a time.
const PIECE_ROWS: usize = 32;

struct Jsonl(Options);

pub(super) fn format(options: Options) -> impl ShardFormat {
    Jsonl(options)
}

impl ShardFormat for Jsonl {
    fn weigh(&self, _: &FilledRow) -> u64 {
        0
    }

    fn open(&self, number: u32, _: u64) -> Result<Box<dyn Shard>, EpochError> {
        let options = self.0.clone();
        let plain = options.compression == Compression::None;
        let name = shard_name(number, if plain { "jsonl" } else { "jsonl.zst" });
        let sink = CompressedFile::create(&options.dir, &name, frame(options.compression), None)?;
        Ok(Box::new(Lines { options, sink, bytes: 0, largest: 0, rows: 0 }))
    }
}

/// A shard under way.
struct Lines {
    options: Options,
    sink: CompressedFile<'static>,
    /// Bytes by now, as they are on disk.
    bytes: u64,
    /// Bytes of the largest group so far: what the next one is expected to take.
    largest: u64,
    rows: u64,
}

impl Shard for Lines {
    fn append(&mut self, rows: &[FilledRow]) -> Result<(), EpochError> {
        let options = &self.options;
        let piece = |rows: &[FilledRow]| {
            let mut bytes = Vec::new();
            rows.iter().try_for_each(|row| line(options, row, &mut bytes)).map(|()| bytes)
        };
        let pieces: Vec<Vec<u8>> =
            rows.par_chunks(PIECE_ROWS).map(piece).collect::<Result<_, _>>()?;
        for piece in &pieces {
            self.sink.put(piece)?;
        }
        self.rows += rows.len() as u64;
        let bytes = self.sink.bytes();
        self.largest = self.largest.max(bytes - self.bytes);
        self.bytes = bytes;
        Ok(())
    }

    fn is_full(&self, limit: u64) -> bool {
        self.bytes + self.largest > limit
    }

    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, EpochError> {
        Ok(vec![self.sink.finish_file(self.rows)?])
    }
}

/// Where a line of a stream stands.
#[derive(Clone, Copy)]
pub(super) struct Number {
    /// The row in the epoch; none: the batch has no row.
    pub row: Option<u64>,
    pub batch: u64,
}

/// The line of a row, with its number in a stream.
struct RowLine<'a> {
    number: Option<Number>,
    options: &'a Options,
    row: &'a FilledRow,
    ids: Vec<i32>,
    columns: Vec<(Column, Values)>,
}

/// Columns after `input_ids`, among those of segments, and at the end.
const BEFORE: [Column; 3] = [Column::Labels, Column::LossMask, Column::PositionIds];
const AFTER: [Column; 7] = [
    Column::SeqStartId,
    Column::LossWeights,
    Column::AttentionMask,
    Column::CuSeqlens,
    Column::MaxSeqlen,
    Column::SegmentIds,
    Column::SeqIdx,
];

fn line(options: &Options, row: &FilledRow, out: &mut Vec<u8>) -> Result<(), EpochError> {
    put(options, &RowLine::of(options, row, None)?, out)
}

/// Appends the line of a row in a stream of batches.
pub(super) fn numbered_line(
    options: &Options,
    number: Number,
    row: &FilledRow,
    out: &mut Vec<u8>,
) -> Result<(), EpochError> {
    put(options, &RowLine::of(options, row, Some(number))?, out)
}

impl<'a> RowLine<'a> {
    fn of(
        options: &'a Options,
        row: &'a FilledRow,
        number: Option<Number>,
    ) -> Result<Self, EpochError> {
        let columns = options.columns.iter();
        let columns = columns.map(|column| Ok((*column, values(*column, row, options)?)));
        let columns = columns.collect::<Result<_, EpochError>>()?;
        Ok(Self { number, options, row, ids: options.signed(row)?, columns })
    }

    fn put<M: SerializeMap>(&self, columns: &[Column], map: &mut M) -> Result<(), M::Error> {
        for column in columns {
            let found = self.columns.iter().find(|(of, _)| of == column);
            let Some((_, values)) = found else { continue };
            match values {
                Values::I8(values) => map.serialize_entry(column.name(), values),
                Values::I32(values) if column.is_one() => {
                    map.serialize_entry(column.name(), &values.first())
                }
                Values::I32(values) => map.serialize_entry(column.name(), values),
                Values::F32(values) => map.serialize_entry(column.name(), values),
            }?;
        }
        Ok(())
    }
}

impl Serialize for RowLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let segments = || self.row.segments.iter();
        let mut map = serializer.serialize_map(None)?;
        if let Some(Number { row, batch }) = self.number {
            map.serialize_entry("row", &row)?;
            map.serialize_entry("batch", &batch)?;
        }
        map.serialize_entry("input_ids", &self.ids)?;
        self.put(&BEFORE, &mut map)?;
        let lengths: Vec<u32> = segments().map(|segment| segment.length).collect();
        map.serialize_entry("seq_lengths", &lengths)?;
        map.serialize_entry("source", self.options.source(self.row))?;
        let documents: Vec<u64> = segments().map(|segment| segment.document.0).collect();
        map.serialize_entry("doc_ids", &documents)?;
        let offsets: Vec<u32> = segments().map(|segment| segment.offset).collect();
        map.serialize_entry("doc_offsets", &offsets)?;
        self.put(&AFTER, &mut map)?;
        map.end()
    }
}

/// Appends a line.
pub(super) fn put(
    options: &Options,
    line: &impl Serialize,
    out: &mut Vec<u8>,
) -> Result<(), EpochError> {
    serde_json::to_writer(&mut *out, line)
        .map_err(io::Error::from)
        .map_err(IoError::of("writing lines to", &options.dir))?;
    out.push(b'\n');
    Ok(())
}
