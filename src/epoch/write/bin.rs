//! Token files: ids of rows end to end, with a segment table beside each, since boundaries are data.

use super::files::HashedFile;
use super::segments::{segment_columns, segment_fields};
use super::table::TableFile;
use super::{Options, Writer, shard_name};
use crate::epoch::error::EpochError;
use crate::epoch::ids::Row;
use crate::epoch::manifest::ManifestFile;
use crate::epoch::width::Width;
use arrow::array::{ArrayRef, UInt64Array};
use arrow::datatypes::{DataType, Field};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes the index of a shard from the tokens of its rows.
pub(super) type IndexWriter = fn(&Path, u32, &[u32], Width) -> Result<ManifestFile, EpochError>;

/// Shards of token files.
pub(super) struct Bins {
    dir: PathBuf,
    options: Options,
    index: Option<IndexWriter>,
    shard: u32,
    open: Option<Shard>,
    /// Rows of the epoch written so far.
    row: u64,
    done: Vec<ManifestFile>,
}

struct Shard {
    tokens: HashedFile,
    segments: TableFile,
    lengths: Vec<u32>,
    bytes: u64,
}

impl Bins {
    pub fn create(dir: &Path, options: Options, index: Option<IndexWriter>) -> Self {
        Self {
            dir: dir.to_path_buf(),
            options,
            index,
            shard: 0,
            open: None,
            row: 0,
            done: Vec::new(),
        }
    }

    fn row_bytes(&self, row: &Row) -> u64 {
        (row.ids.len() * self.options.width.bytes()) as u64
    }

    /// How many of `rows` fit the shard now open; one at least when it is empty.
    fn fitting(&self, rows: &[Row]) -> usize {
        let mut bytes = self.open.as_ref().map_or(0, |shard| shard.bytes);
        let empty = bytes == 0;
        let fits = |row: &&Row| {
            bytes += self.row_bytes(row);
            bytes <= self.options.shard_bytes
        };
        let fitting = rows.iter().take_while(fits).count();
        if empty { fitting.max(1) } else { fitting }
    }

    fn append(&mut self, rows: &[Row]) -> Result<(), EpochError> {
        let mut shard = match self.open.take() {
            Some(shard) => shard,
            None => Shard {
                tokens: HashedFile::create(&self.dir, &shard_name(self.shard, "bin"))?,
                segments: TableFile::create(
                    &self.dir,
                    &shard_name(self.shard, "segments.parquet"),
                    fields(),
                )?,
                lengths: Vec::new(),
                bytes: 0,
            },
        };
        let mut bytes = Vec::new();
        for row in rows {
            bytes.clear();
            self.encode(row, &mut bytes)?;
            shard.tokens.put(&bytes)?;
            shard.bytes += bytes.len() as u64;
            shard.lengths.push(
                u32::try_from(row.ids.len())
                    .map_err(|_| EpochError::bug("a row of 2^32 tokens"))?,
            );
        }
        let numbers: ArrayRef =
            Arc::new(UInt64Array::from_iter_values((self.row..).take(rows.len())));
        let mut columns = vec![numbers];
        columns.extend(segment_columns(rows, &self.options)?);
        shard.segments.write(&columns, rows.len())?;
        self.row += rows.len() as u64;
        self.open = Some(shard);
        Ok(())
    }

    fn encode(&self, row: &Row, out: &mut Vec<u8>) -> Result<(), EpochError> {
        let width = self.options.width;
        if let Some(id) = row.ids.iter().find(|id| **id > width.max()) {
            return Err(self.options.too_large(*id, row));
        }
        match width {
            // Checked above: the cast keeps every bit.
            Width::U16 => out.extend(row.ids.iter().flat_map(|id| (*id as u16).to_le_bytes())),
            Width::I32 | Width::U32 => out.extend(row.ids.iter().flat_map(|id| id.to_le_bytes())),
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), EpochError> {
        if let Some(shard) = self.open.take() {
            let rows = shard.lengths.len() as u64;
            self.done.push(shard.tokens.finish(rows)?);
            self.done.push(shard.segments.finish()?);
            if let Some(index) = self.index {
                self.done.push(index(&self.dir, self.shard, &shard.lengths, self.options.width)?);
            }
            self.shard += 1;
        }
        Ok(())
    }
}

impl Writer for Bins {
    fn write(&mut self, mut rows: &[Row]) -> Result<(), EpochError> {
        while !rows.is_empty() {
            let fitting = self.fitting(rows);
            let (now, later) = rows.split_at_checked(fitting).unwrap_or((rows, &[]));
            if !now.is_empty() {
                self.append(now)?;
            }
            if !later.is_empty() {
                self.close()?;
            }
            rows = later;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<ManifestFile>, EpochError> {
        self.close()?;
        Ok(self.done)
    }
}

fn fields() -> Vec<Field> {
    let mut fields = vec![Field::new("row", DataType::UInt64, false)];
    fields.extend(segment_fields());
    fields
}
