//! Token files: ids of rows end to end, with a segment table beside each, since boundaries are data.

use super::segments::{segment_columns, segment_fields, trained_columns, trained_fields};
use super::table::table_file;
use super::{Options, Shard};
use crate::epoch::build::ManifestFile;
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::output::{HashedFile, TableFile};
use ::arrow::array::{ArrayRef, UInt64Array};
use ::arrow::datatypes::{DataType, Field};
use rayon::prelude::*;
use std::sync::Arc;

/// Rows encoded by one thread at a time.
const PIECE_ROWS: usize = 64;

/// What a kind of token file has besides ids and segments: an index, a header.
pub(super) trait Index: Send {
    /// Bytes before the first id.
    fn header(&self) -> &[u8] {
        &[]
    }
    /// Takes in rows that were written.
    fn add(&mut self, rows: &[FilledRow]) -> Result<(), EpochError>;
    /// Completes what stands beside `tokens`, the finished token file; lists all of it.
    fn finish(self: Box<Self>, tokens: ManifestFile) -> Result<Vec<ManifestFile>, EpochError>;
}

/// No index: ids and segments say everything.
pub(super) struct Plain;

impl Index for Plain {
    fn add(&mut self, _: &[FilledRow]) -> Result<(), EpochError> {
        Ok(())
    }

    fn finish(self: Box<Self>, tokens: ManifestFile) -> Result<Vec<ManifestFile>, EpochError> {
        Ok(vec![tokens])
    }
}

/// A token file under way.
pub(super) struct TokenShard {
    options: Options,
    tokens: HashedFile,
    segments: SegmentTable,
    index: Box<dyn Index>,
}

impl TokenShard {
    /// Creates the token file `tokens` and the segment table `segments`; `row` is the first row.
    pub fn create(
        options: &Options,
        tokens: &str,
        segments: &str,
        row: u64,
        index: Box<dyn Index>,
    ) -> Result<Box<dyn Shard>, EpochError> {
        let mut file = HashedFile::create(&options.dir, tokens)?;
        file.put(index.header())?;
        Ok(Box::new(Self {
            options: options.clone(),
            tokens: file,
            segments: SegmentTable::create(options, segments, row)?,
            index,
        }))
    }
}

impl Shard for TokenShard {
    fn append(&mut self, rows: &[FilledRow]) -> Result<(), EpochError> {
        let options = &self.options;
        let encode = |rows: &[FilledRow]| {
            let tokens: usize = rows.iter().map(|row| row.ids.len()).sum();
            let mut bytes = Vec::with_capacity(tokens * options.width.bytes());
            rows.iter().try_for_each(|row| options.encode(row, &mut bytes)).map(|()| bytes)
        };
        let pieces: Vec<Vec<u8>> =
            rows.par_chunks(PIECE_ROWS).map(encode).collect::<Result<_, _>>()?;
        for piece in &pieces {
            self.tokens.put(piece)?;
        }
        self.index.add(rows)?;
        self.segments.append(options, rows)
    }

    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, EpochError> {
        let segments = self.segments.finish()?;
        let tokens = self.tokens.finish(segments.rows)?;
        let mut files = self.index.finish(tokens)?;
        files.push(segments);
        Ok(files)
    }
}

/// The table that says, beside files of bare ids, what is in each row.
pub(super) struct SegmentTable {
    table: TableFile,
    /// Number in the epoch of the next row.
    row: u64,
}

impl SegmentTable {
    pub fn create(options: &Options, name: &str, row: u64) -> Result<Self, EpochError> {
        let mut fields = vec![Field::new("row", DataType::UInt64, false)];
        fields.extend(segment_fields());
        if options.said {
            fields.extend(trained_fields());
        }
        let table = table_file(&options.dir, name, fields, super::table::SMALL)?;
        Ok(Self { table, row })
    }

    pub fn append(&mut self, options: &Options, rows: &[FilledRow]) -> Result<(), EpochError> {
        let numbers: ArrayRef =
            Arc::new(UInt64Array::from_iter_values((self.row..).take(rows.len())));
        let mut columns = vec![numbers];
        let rows: Vec<&FilledRow> = rows.iter().collect();
        columns.extend(segment_columns(&rows, options)?);
        if options.said {
            columns.extend(trained_columns(&rows));
        }
        self.table.write(&columns, rows.len())?;
        self.row += rows.len() as u64;
        Ok(())
    }

    pub fn finish(self) -> Result<ManifestFile, EpochError> {
        Ok(self.table.finish()?)
    }
}
