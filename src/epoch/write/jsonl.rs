//! JSON lines: one line a row, `input_ids`, `labels`, `seq_lengths`, `source`, `doc_ids` and
//! `doc_offsets`; as they are, or as one zstd frame a shard.

use super::files::HashedFile;
use super::{Format, Options, Shard, shard_name};
use crate::epoch::error::EpochError;
use crate::epoch::ids::Row;
use crate::epoch::manifest::ManifestFile;
use crate::epoch::recipe::Compression;
use crate::epoch::views;
use rayon::prelude::*;
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;
use zstd::stream::write::Encoder;

/// Rows encoded by one thread at a time.
const PIECE_ROWS: usize = 32;
/// Level of zstd: its own default.
const LEVEL: i32 = 3;

struct Jsonl(Options);

pub(super) fn format(options: Options) -> impl Format {
    Jsonl(options)
}

impl Format for Jsonl {
    fn weigh(&self, _: &Row) -> u64 {
        0
    }

    fn open(&self, number: u32, _: u64) -> Result<Box<dyn Shard>, EpochError> {
        let options = self.0.clone();
        let create = |extension| HashedFile::create(&options.dir, &shard_name(number, extension));
        let sink = if options.compression == Compression::None {
            Sink::Plain(create("jsonl")?)
        } else {
            let file = create("jsonl.zst")?;
            let path = file.path().to_path_buf();
            Sink::Zstd(Encoder::new(file, LEVEL).map_err(EpochError::io("compressing", &path))?)
        };
        Ok(Box::new(Lines { options, sink, bytes: 0, largest: 0, rows: 0 }))
    }
}

enum Sink {
    Plain(HashedFile),
    Zstd(Encoder<'static, HashedFile>),
}

impl Sink {
    fn file(&self) -> &HashedFile {
        match self {
            Self::Plain(file) => file,
            Self::Zstd(encoder) => encoder.get_ref(),
        }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), EpochError> {
        match self {
            Self::Plain(file) => file.put(bytes),
            Self::Zstd(encoder) => {
                let written = encoder.write_all(bytes);
                let path: PathBuf = encoder.get_ref().path().to_path_buf();
                written.map_err(EpochError::io("writing", &path))
            }
        }
    }

    fn finish(self, rows: u64) -> Result<ManifestFile, EpochError> {
        let path = self.file().path().to_path_buf();
        let file = match self {
            Self::Plain(file) => file,
            Self::Zstd(encoder) => encoder.finish().map_err(EpochError::io("writing", &path))?,
        };
        file.finish(rows)
    }
}

/// A shard under way.
struct Lines {
    options: Options,
    sink: Sink,
    /// Bytes by now, as they are on disk.
    bytes: u64,
    /// Bytes of the largest group so far: what the next one is expected to take.
    largest: u64,
    rows: u64,
}

impl Shard for Lines {
    fn append(&mut self, rows: &[Row]) -> Result<(), EpochError> {
        let options = &self.options;
        let piece = |rows: &[Row]| {
            let mut bytes = Vec::new();
            rows.iter().try_for_each(|row| line(options, row, &mut bytes)).map(|()| bytes)
        };
        let pieces: Vec<Vec<u8>> =
            rows.par_chunks(PIECE_ROWS).map(piece).collect::<Result<_, _>>()?;
        for piece in &pieces {
            self.sink.put(piece)?;
        }
        self.rows += rows.len() as u64;
        let bytes = self.sink.file().bytes();
        self.largest = self.largest.max(bytes - self.bytes);
        self.bytes = bytes;
        Ok(())
    }

    fn is_full(&self, limit: u64) -> bool {
        self.bytes + self.largest > limit
    }

    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, EpochError> {
        Ok(vec![self.sink.finish(self.rows)?])
    }
}

/// A line that tells the number of its row and its batch.
#[derive(Serialize)]
struct Numbered<'a> {
    row: u64,
    batch: u64,
    #[serde(flatten)]
    line: Line<'a>,
}

#[derive(Serialize)]
struct Line<'a> {
    input_ids: Vec<i32>,
    labels: Vec<i32>,
    seq_lengths: Vec<u32>,
    source: &'a str,
    doc_ids: Vec<u64>,
    doc_offsets: Vec<u32>,
}

fn line(options: &Options, row: &Row, out: &mut Vec<u8>) -> Result<(), EpochError> {
    put(options, &Line::of(options, row)?, out)
}

/// Appends the line of a row in a stream of batches.
pub(super) fn numbered_line(
    options: &Options,
    number: u64,
    batch: u64,
    row: &Row,
    out: &mut Vec<u8>,
) -> Result<(), EpochError> {
    put(options, &Numbered { row: number, batch, line: Line::of(options, row)? }, out)
}

impl<'a> Line<'a> {
    fn of(options: &'a Options, row: &Row) -> Result<Self, EpochError> {
        let ids = options.signed(row)?;
        let labels = views::labels(&row.shape, &ids, row.trained.as_deref());
        let segments = || row.segments.iter();
        Ok(Self {
            input_ids: ids,
            labels,
            seq_lengths: segments().map(|segment| segment.length).collect(),
            source: options.source(row),
            doc_ids: segments().map(|segment| segment.document.0).collect(),
            doc_offsets: segments().map(|segment| segment.offset).collect(),
        })
    }
}

fn put(options: &Options, line: &impl Serialize, out: &mut Vec<u8>) -> Result<(), EpochError> {
    serde_json::to_writer(&mut *out, line)
        .map_err(io::Error::from)
        .map_err(EpochError::io("writing lines to", &options.dir))?;
    out.push(b'\n');
    Ok(())
}
