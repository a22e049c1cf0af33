//! Reads files of bare ids: end to end, cut by the segment table or by the rows' fixed length.

use super::segments::Segments;
use super::{FileLayout, ReadRow, Reader, ShardReadError, gather, malformed, number};
use crate::model::IoError;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Compares what stands beside the ids with the rows that were read.
pub(super) trait Beside {
    fn check(&mut self, row: &mut ReadRow) -> Result<(), ShardReadError>;
    /// After the last row.
    fn end(&mut self) -> Result<(), ShardReadError>;
}

pub(super) struct RawShard {
    path: PathBuf,
    tokens: BufReader<File>,
    segments: Segments,
    row_tokens: Option<usize>,
    id_bytes: usize,
    beside: Option<Box<dyn Beside>>,
}

impl RawShard {
    /// Opens a file of ids that begin at byte `skip`.
    pub fn open(
        bin: &Path,
        segments: &Path,
        layout: &FileLayout,
        skip: u64,
    ) -> Result<Self, ShardReadError> {
        let mut tokens = File::open(bin).map_err(IoError::of("opening", bin))?;
        tokens.seek(SeekFrom::Start(skip)).map_err(IoError::of("reading", bin))?;
        Ok(Self {
            path: bin.to_path_buf(),
            tokens: BufReader::with_capacity(1 << 20, tokens),
            segments: Segments::open(segments, layout)?,
            row_tokens: layout.row_tokens,
            id_bytes: layout.id_bytes,
            beside: None,
        })
    }

    /// With a check of what stands beside.
    pub fn checked_by(self, beside: Box<dyn Beside>) -> Self {
        Self { beside: Some(beside), ..self }
    }
}

impl RawShard {
    fn next_row(&mut self) -> Result<Option<ReadRow>, ShardReadError> {
        let Some(mut row) = self.segments.next()? else { return Ok(None) };
        let own: i64 = row.seq_lengths.iter().map(|length| i64::from(*length)).sum();
        let Some(tokens) = self.row_tokens.or_else(|| usize::try_from(own).ok()) else {
            return malformed(&self.path, "a row has a negative length");
        };
        row.ids = read_ids(&mut self.tokens, tokens, self.id_bytes, &self.path)?;
        if let Some(beside) = &mut self.beside {
            beside.check(&mut row)?;
        }
        Ok(Some(row))
    }
}

impl Reader for RawShard {
    fn next_rows(&mut self) -> Result<Vec<ReadRow>, ShardReadError> {
        let rows = gather(|| self.next_row())?;
        if rows.is_empty() {
            expect_end(&mut self.tokens, &self.path)?;
            if let Some(beside) = &mut self.beside {
                beside.end()?;
            }
        }
        Ok(rows)
    }
}

/// Reads `tokens` little-endian ids of `width` bytes each.
pub(super) fn read_ids(
    from: &mut impl Read,
    tokens: usize,
    width: usize,
    path: &Path,
) -> Result<Vec<u32>, ShardReadError> {
    let mut bytes = Vec::new();
    let wanted = tokens.saturating_mul(width);
    from.take(wanted as u64).read_to_end(&mut bytes).map_err(IoError::of("reading", path))?;
    if bytes.len() != wanted {
        return malformed(path, format!("ends {} bytes early", wanted - bytes.len()));
    }
    let id = |id: &[u8]| u32::try_from(number(id)).unwrap_or(u32::MAX);
    Ok(bytes.chunks_exact(width).map(id).collect())
}

pub(super) fn expect_end(from: &mut impl Read, path: &Path) -> Result<(), ShardReadError> {
    let mut byte = [0];
    match from.read(&mut byte).map_err(IoError::of("reading", path))? {
        0 => Ok(()),
        _ => malformed(path, "has more tokens than its rows"),
    }
}
