//! Files of bare ids, written and read back: the ids of rows end to end, and what formats have beside them.
//!
//! A segment table stands beside each file, since boundaries are data; a format may add an index, a header or masks.

use super::segment_table::{SegmentTableReader, SegmentTableWriter, columns_beside};
use crate::output::error::WriteError;
use crate::output::files::{HashedFile, ManifestFile};
use crate::output::row_format::{
    EncodedRows, RowShard, RowSpec, ShardReadError, ShardReader, damaged, little_endian, or_damaged,
};
use crate::output::rows::{BatchColumn, IdType, list_column};
use crate::output::token_batch::TokenBatch;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::buffer::{Buffer, ScalarBuffer};
use arrow::datatypes::{Schema, UInt32Type};
use model::IoError;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Ids that are encoded at a time: few enough that their bytes stay in the cache until they are copied into the file.
const STRIP: usize = 1 << 14;

/// The ids of rows in the type they are written as, end to end. Whoever makes batches saw to it that they fit.
pub(super) fn encode_ids(id_type: IdType, ids: &ScalarBuffer<u32>) -> Buffer {
    match id_type {
        IdType::U16 => {
            // Vector instructions narrow them; ids that are too large were refused.
            let narrow: Vec<u16> = ids.iter().map(|id| (*id as u16).to_le()).collect();
            ScalarBuffer::from(narrow).into_inner()
        }
        // Ids are written as they lie in memory where both forms are equal.
        _ if cfg!(target_endian = "little") => ids.inner().clone(),
        _ => {
            let wide: Vec<u32> = ids.iter().map(|id| id.to_le()).collect();
            ScalarBuffer::from(wide).into_inner()
        }
    }
}

/// What a format writes besides ids and segments: an index, a header, masks.
pub(super) trait SideFileWriter: Send {
    /// Bytes before the first id.
    fn header(&self) -> &[u8] {
        &[]
    }
    /// Takes in rows that were written.
    fn add(&mut self, rows: &TokenBatch) -> Result<(), WriteError>;
    /// Completes what stands beside `tokens`, the finished token file; lists all of it.
    fn finish(self: Box<Self>, tokens: ManifestFile) -> Result<Vec<ManifestFile>, WriteError>;
}

/// A token file under way.
pub(super) struct TokenFile {
    tokens: HashedFile,
    id_type: IdType,
    segments: SegmentTableWriter,
    side: Option<Box<dyn SideFileWriter>>,
}

impl TokenFile {
    /// Creates the token file `tokens` and the segment table `segments` in `dir`.
    pub fn create(
        spec: &RowSpec,
        dir: &Path,
        tokens: &str,
        segments: &str,
        side: Option<Box<dyn SideFileWriter>>,
    ) -> Result<Box<dyn RowShard>, WriteError> {
        let mut file = HashedFile::create(dir, tokens)?;
        if let Some(side) = &side {
            file.put(side.header())?;
        }
        let segments = SegmentTableWriter::create(spec, dir, segments)?;
        Ok(Box::new(Self { tokens: file, id_type: spec.id_type, segments, side }))
    }
}

impl RowShard for TokenFile {
    fn append(&mut self, group: EncodedRows) -> Result<(), WriteError> {
        let ids = group.rows.ids();
        for start in (0..ids.len()).step_by(STRIP) {
            let strip = ids.slice(start, STRIP.min(ids.len() - start));
            self.tokens.put(&encode_ids(self.id_type, &strip))?;
        }
        if let Some(side) = &mut self.side {
            side.add(&group.rows)?;
        }
        self.segments.append(&group.rows)
    }

    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, WriteError> {
        let segments = self.segments.finish()?;
        let tokens = self.tokens.finish(segments.rows)?;
        let mut files = match self.side {
            Some(side) => side.finish(tokens)?,
            None => vec![tokens],
        };
        files.push(segments);
        Ok(files)
    }
}

/// What a format reads besides ids and segments, and what that says of rows.
pub(super) trait SideFileReader {
    /// Tokens of the next row, where it knows them.
    fn row_tokens(&mut self) -> Result<Option<usize>, ShardReadError> {
        Ok(None)
    }
    /// Compares the next rows with what it has of them, and gives that which follows from neither ids nor segments.
    fn read(&mut self, rows: &TokenBatch) -> Result<Vec<(BatchColumn, ArrayRef)>, ShardReadError>;
    /// After the last row.
    fn end(&mut self) -> Result<(), ShardReadError>;
}

/// A token file that is read.
pub(super) struct TokenFileReader {
    path: PathBuf,
    tokens: BufReader<File>,
    segments: SegmentTableReader,
    columns: Vec<BatchColumn>,
    /// Tokens of every row, where rows have one length.
    row_tokens: Option<usize>,
    id_bytes: usize,
    side: Option<Box<dyn SideFileReader>>,
}

impl TokenFileReader {
    /// Opens a file of ids that begin at byte `skip`.
    pub fn open(
        spec: &RowSpec,
        tokens: &Path,
        segments: &Path,
        skip: u64,
    ) -> Result<Self, ShardReadError> {
        let mut file = File::open(tokens).map_err(IoError::of("opening", tokens))?;
        file.seek(SeekFrom::Start(skip)).map_err(IoError::of("reading", tokens))?;
        Ok(Self {
            path: tokens.to_path_buf(),
            tokens: BufReader::with_capacity(1 << 20, file),
            segments: SegmentTableReader::open(segments)?,
            columns: columns_beside(spec),
            row_tokens: spec.equal_row_tokens(),
            id_bytes: spec.id_type.bytes(),
            side: None,
        })
    }

    /// With what stands beside it.
    pub fn beside(self, side: Box<dyn SideFileReader>) -> Self {
        Self { side: Some(side), ..self }
    }

    /// With ids of so many bytes, where a file says it itself.
    pub(crate) fn with_id_bytes(self, id_bytes: usize) -> Self {
        Self { id_bytes, ..self }
    }

    /// Segments with the ids of their rows.
    fn with_ids(
        &mut self,
        segments: &RecordBatch,
        lengths: Vec<usize>,
    ) -> Result<TokenBatch, ShardReadError> {
        let tokens = lengths.iter().fold(0, |sum: usize, length| sum.saturating_add(*length));
        if i32::try_from(tokens).is_err() {
            return damaged(&self.path, format!("has no rows of {tokens} tokens"));
        }
        let ids = self.read_ids(tokens)?;
        let mut arrays = segments.columns().to_vec();
        let mut fields: Vec<_> = segments.schema_ref().fields().iter().cloned().collect();
        fields.push(Arc::new(BatchColumn::Ids.field()));
        arrays.push(list_column::<UInt32Type>(ids, lengths));
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
        let batch = or_damaged(&self.path, batch.map_err(|error| error.to_string()))?;
        or_damaged(&self.path, TokenBatch::new(&batch, &self.columns))
    }

    fn read_ids(&mut self, tokens: usize) -> Result<Vec<u32>, ShardReadError> {
        let mut bytes = Vec::new();
        let wanted = tokens.saturating_mul(self.id_bytes);
        (&mut self.tokens)
            .take(wanted as u64)
            .read_to_end(&mut bytes)
            .map_err(IoError::of("reading", &self.path))?;
        if bytes.len() != wanted {
            return damaged(&self.path, format!("ends {} bytes early", wanted - bytes.len()));
        }
        let id = |id: &[u8]| u32::try_from(little_endian(id)).unwrap_or(u32::MAX);
        Ok(bytes.chunks_exact(self.id_bytes.max(1)).map(id).collect())
    }
}

impl ShardReader for TokenFileReader {
    fn next_batch(&mut self) -> Result<Option<TokenBatch>, ShardReadError> {
        let Self { path, segments, row_tokens, side, .. } = self;
        let tokens = |lengths: &[i32]| {
            let known = side.as_mut().map(|side| side.row_tokens()).transpose()?.flatten();
            if let Some(tokens) = known.or(*row_tokens) {
                return Ok(tokens);
            }
            let own: i64 = lengths.iter().map(|length| i64::from(*length)).sum();
            usize::try_from(own).or_else(|_| damaged(path, "a row has a negative length"))
        };
        match segments.next_rows(tokens)? {
            Some((segments, lengths)) => {
                let rows = self.with_ids(&segments, lengths)?;
                let more = match &mut self.side {
                    Some(side) => side.read(&rows)?,
                    None => Vec::new(),
                };
                or_damaged(&self.path, rows.with(more)).map(Some)
            }
            None => {
                expect_end(&mut self.tokens, &self.path)?;
                self.side.as_mut().map_or(Ok(()), |side| side.end())?;
                Ok(None)
            }
        }
    }
}

/// Nothing follows the last row.
pub(super) fn expect_end(from: &mut impl Read, path: &Path) -> Result<(), ShardReadError> {
    let mut byte = [0];
    match from.read(&mut byte).map_err(IoError::of("reading", path))? {
        0 => Ok(()),
        _ => damaged(path, "has more than its rows"),
    }
}

/// A file with a byte for each token.
pub(super) struct ByteMaskReader {
    path: PathBuf,
    bytes: BufReader<File>,
}

impl ByteMaskReader {
    pub fn open(path: PathBuf) -> Result<Self, ShardReadError> {
        let file = File::open(&path).map_err(IoError::of("opening", &path))?;
        Ok(Self { path, bytes: BufReader::new(file) })
    }

    /// The lists of bytes of the next rows.
    pub fn read(&mut self, rows: &TokenBatch) -> Result<ArrayRef, ShardReadError> {
        let mut bytes = Vec::new();
        let tokens = rows.ids().len();
        (&mut self.bytes)
            .take(tokens as u64)
            .read_to_end(&mut bytes)
            .map_err(IoError::of("reading", &self.path))?;
        if bytes.len() != tokens {
            return damaged(&self.path, format!("ends {} bytes early", tokens - bytes.len()));
        }
        let lengths = rows.rows().map(|row| row.ids().len());
        Ok(list_column::<arrow::datatypes::UInt8Type>(bytes, lengths))
    }

    pub fn end(&mut self) -> Result<(), ShardReadError> {
        expect_end(&mut self.bytes, &self.path)
    }
}
