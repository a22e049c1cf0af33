//! Raw shards as OLMo-core and dolma read them, written and read back.
//!
//! `part-0-NNNNN.npy` has bare ids and no NPY header; `part-0-NNNNN.csv.gz` has a line a segment: start, end, id, src,
//! loc.
//!
//! Where documents say what is trained on, `label-mask-0-NNNNN.npy` has a byte a token beside it, 1 where the
//! label counts: OLMo-core's `label_mask_paths`. Its name begins otherwise, so that no pattern for the ids finds it.
//!
//! Start and end count tokens of the file; id is the document, src the source, loc where in the
//! document's effective sequence the segment begins. Pads are in no line.

use super::segment_table::columns_beside;
use super::token_file::{
    ByteMaskReader, SideFileReader, SideFileWriter, TokenFile, TokenFileReader,
};
use crate::output::error::WriteError;
use crate::output::files::{HashedFile, ManifestFile};
use crate::output::row_format::{
    BareIdLayout, DirectoryReader, RowFormat, RowShard, RowSpec, ShardDirectory, ShardReadError,
    ShardReader, damaged,
};
use crate::output::rows::{BatchColumn, IdType, LossLevel, RowColumn, list_column};
use crate::output::token_batch::TokenBatch;
use arrow::array::ArrayRef;
use arrow::datatypes::Int32Type;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use model::IoError;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};

/// Digits of a position, at most.
const DIGITS: u64 = 20;

/// OLMo shards.
pub(super) struct OlmoFormat;

fn part_name(shard: u64, ending: &str) -> String {
    format!("part-0-{shard:05}.{ending}")
}

fn mask_name(shard: u64) -> String {
    format!("label-mask-0-{shard:05}.npy")
}

/// The line of a segment, ended as CSV ends it.
fn line(start: u64, length: u64, document: i64, source: &str, offset: i64) -> String {
    format!("{start},{},{document},{source},{offset}\r\n", start + length)
}

/// A field of a CSV line, quoted where it must be.
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

impl RowFormat for OlmoFormat {
    fn id_type(&self, vocab: u32, _asked: Option<IdType>) -> IdType {
        IdType::narrow_up_to(vocab, super::U16_VOCABULARY, IdType::U32)
    }

    fn loss(&self, _columns: &[RowColumn]) -> LossLevel {
        LossLevel::Masked
    }

    fn bare_ids(&self) -> Option<BareIdLayout> {
        Some(BareIdLayout { before: "part-0-", behind: ".npy", header: |_| 0 })
    }

    fn columns(&self, spec: &RowSpec) -> Vec<BatchColumn> {
        let mut columns = columns_beside(spec);
        columns.push(BatchColumn::View(RowColumn::SeqStartId));
        columns.extend(spec.has_loss_masks.then_some(BatchColumn::LabelMask));
        columns
    }

    fn create(
        &self,
        spec: &RowSpec,
        dir: &Path,
        number: u32,
    ) -> Result<Box<dyn RowShard>, WriteError> {
        let shard = u64::from(number);
        let file = HashedFile::create(dir, &part_name(shard, "csv.gz"))?;
        let path = file.path().to_path_buf();
        // No name and no clock in the header.
        let lines = GzBuilder::new().write(file, Compression::default());
        let mask = || HashedFile::create(dir, &mask_name(shard));
        let mask = spec.has_loss_masks.then(mask).transpose()?;
        let lines = OlmoCsvWriter { path, lines, mask, tokens: 0 };
        let (tokens, segments) = (part_name(shard, "npy"), part_name(shard, "segments.parquet"));
        TokenFile::create(spec, dir, &tokens, &segments, Some(Box::new(lines)))
    }

    fn open(&self, spec: &RowSpec, dir: &Path) -> Result<Box<dyn DirectoryReader>, ShardReadError> {
        Ok(Box::new(OlmoDirectory(ShardDirectory::list(dir, spec)?)))
    }
}

/// A line a segment.
struct OlmoCsvWriter {
    path: PathBuf,
    lines: GzEncoder<HashedFile>,
    mask: Option<HashedFile>,
    tokens: u64,
}

impl SideFileWriter for OlmoCsvWriter {
    fn add(&mut self, rows: &TokenBatch) -> Result<(), WriteError> {
        let mut text = String::new();
        for row in rows.rows() {
            let source = field(row.source());
            let starts = row.i32s(RowColumn::SeqStartId).unwrap_or_default();
            let segments = row.seq_lengths().iter().zip(row.doc_ids()).zip(row.doc_offsets());
            for (start, ((length, document), offset)) in starts.iter().zip(segments) {
                let start = self.tokens + u64::from(start.unsigned_abs());
                let length = u64::from(length.unsigned_abs());
                // Writing to a string cannot fail.
                let _ = text.write_str(&line(start, length, *document, &source, *offset));
            }
            self.tokens += row.ids().len() as u64;
        }
        if let (Some(mask), Some(labels)) = (&mut self.mask, rows.label_mask()) {
            mask.put(&labels)?;
        }
        Ok(self.lines.write_all(text.as_bytes()).map_err(IoError::of("writing", &self.path))?)
    }

    fn finish(self: Box<Self>, tokens: ManifestFile) -> Result<Vec<ManifestFile>, WriteError> {
        let file = self.lines.finish().map_err(IoError::of("writing", &self.path))?;
        let lines = file.finish(tokens.rows)?;
        let mask = self.mask.map(|mask| mask.finish(tokens.rows)).transpose()?;
        Ok([tokens, lines].into_iter().chain(mask).collect())
    }
}

struct OlmoDirectory(ShardDirectory);

impl DirectoryReader for OlmoDirectory {
    fn shard_files(&self, shard: usize) -> Vec<String> {
        let shard = shard as u64;
        let mask = self.0.spec.has_loss_masks.then(|| mask_name(shard));
        let parts = ["npy", "csv.gz", "segments.parquet"].map(|ending| part_name(shard, ending));
        parts.into_iter().chain(mask).collect()
    }

    fn open_shard(&self, shard: usize) -> Result<Box<dyn ShardReader>, ShardReadError> {
        let (spec, shard) = (&self.0.spec, shard as u64);
        let path = |ending: &str| self.0.path.join(part_name(shard, ending));
        let lines = path("csv.gz");
        let file = File::open(&lines).map_err(IoError::of("opening", &lines))?;
        let mask = || ByteMaskReader::open(self.0.path.join(mask_name(shard)));
        let side = OlmoCsvReader {
            path: lines,
            lines: BufReader::new(GzDecoder::new(file)),
            mask: spec.has_loss_masks.then(mask).transpose()?,
            tokens: 0,
        };
        let reader = TokenFileReader::open(spec, &path("npy"), &path("segments.parquet"), 0)?;
        Ok(Box::new(reader.beside(Box::new(side))))
    }
}

/// The lines, one a segment.
struct OlmoCsvReader {
    path: PathBuf,
    lines: BufReader<GzDecoder<File>>,
    mask: Option<ByteMaskReader>,
    tokens: u64,
}

impl OlmoCsvReader {
    /// Where the next line says that its segment begins; the line is read up to its first comma.
    fn next_start(&mut self) -> Result<Option<(u64, Vec<u8>)>, ShardReadError> {
        let mut digits = Vec::new();
        // No more than a number has: what is compressed may be of any length.
        let read = (&mut self.lines).take(DIGITS + 1).read_until(b',', &mut digits);
        if let Err(error) = read {
            return damaged(&self.path, error);
        }
        let number = digits.strip_suffix(b",").and_then(|digits| std::str::from_utf8(digits).ok());
        Ok(number.and_then(|number| number.parse().ok()).map(|start| (start, digits)))
    }

    /// Whether the next bytes are these.
    fn goes_on(&mut self, expected: &[u8]) -> Result<bool, ShardReadError> {
        let mut found = Vec::with_capacity(expected.len());
        let read = (&mut self.lines).take(expected.len() as u64).read_to_end(&mut found);
        match read {
            Ok(_) => Ok(found == expected),
            Err(error) => damaged(&self.path, error),
        }
    }
}

impl SideFileReader for OlmoCsvReader {
    fn read(&mut self, rows: &TokenBatch) -> Result<Vec<(BatchColumn, ArrayRef)>, ShardReadError> {
        let (mut starts, mut counts) = (Vec::new(), Vec::with_capacity(rows.len()));
        for row in rows.rows() {
            let (source, before) = (field(row.source()), starts.len());
            let segments = row.seq_lengths().iter().zip(row.doc_ids()).zip(row.doc_offsets());
            for ((length, document), offset) in segments {
                let next = self.next_start()?;
                let within = next.as_ref().and_then(|(start, _)| start.checked_sub(self.tokens));
                let within = within.and_then(|within| i32::try_from(within).ok());
                let (Some((start, begun)), Some(within)) = (next, within) else {
                    let why = format!("has no line of document {document} from token {offset}");
                    return damaged(&self.path, why);
                };
                let length = u64::from(length.unsigned_abs());
                let expected = line(start, length, *document, &source, *offset);
                let rest = expected.as_bytes().strip_prefix(begun.as_slice());
                if !rest.map_or(Ok(false), |rest| self.goes_on(rest))? {
                    let why = format!("has no line `{}`", expected.trim_end());
                    return damaged(&self.path, why);
                }
                starts.push(within);
            }
            counts.push(starts.len() - before);
            self.tokens += row.ids().len() as u64;
        }
        let starts = list_column::<Int32Type>(starts, counts);
        let mut columns = vec![(BatchColumn::View(RowColumn::SeqStartId), starts)];
        if let Some(mask) = &mut self.mask {
            columns.push((BatchColumn::LabelMask, mask.read(rows)?));
        }
        Ok(columns)
    }

    fn end(&mut self) -> Result<(), ShardReadError> {
        self.mask.as_mut().map_or(Ok(()), ByteMaskReader::end)?;
        let mut byte = [0];
        match self.lines.read(&mut byte) {
            Ok(0) => Ok(()),
            Ok(_) => damaged(&self.path, "has more lines than segments"),
            Err(error) => damaged(&self.path, error),
        }
    }
}
