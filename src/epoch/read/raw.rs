//! Reads raw shards: ids end to end, cut by the segment table or by the rows' fixed length.

use super::segments::Segments;
use super::{EpochError, Layout, ReadError, ReadRow, Reader, malformed};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

pub(super) struct RawShard {
    path: PathBuf,
    tokens: BufReader<File>,
    segments: Segments,
    layout: Layout,
}

impl RawShard {
    pub fn open(bin: &Path, segments: &Path, layout: Layout) -> Result<Self, ReadError> {
        let tokens = File::open(bin).map_err(EpochError::io("opening", bin))?;
        Ok(Self {
            path: bin.to_path_buf(),
            tokens: BufReader::with_capacity(1 << 20, tokens),
            segments: Segments::open(segments)?,
            layout,
        })
    }
}

impl Reader for RawShard {
    fn next_rows(&mut self) -> Result<Vec<ReadRow>, ReadError> {
        let mut rows = self.segments.next_rows()?;
        for row in &mut rows {
            let own: i64 = row.seq_lengths.iter().map(|length| i64::from(*length)).sum();
            let Some(tokens) = self.layout.row_tokens.or_else(|| usize::try_from(own).ok()) else {
                return malformed(&self.path, "a row has a negative length");
            };
            row.ids = read_ids(&mut self.tokens, tokens, self.layout.id_bytes, &self.path)?;
        }
        if rows.is_empty() {
            expect_end(&mut self.tokens, &self.path)?;
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
) -> Result<Vec<u32>, ReadError> {
    let mut bytes = Vec::new();
    let wanted = tokens * width;
    from.take(wanted as u64).read_to_end(&mut bytes).map_err(EpochError::io("reading", path))?;
    if bytes.len() != wanted {
        return malformed(path, format!("ends {} bytes early", wanted - bytes.len()));
    }
    Ok(bytes
        .chunks_exact(width)
        .map(|id| id.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)))
        .collect())
}

pub(super) fn expect_end(from: &mut impl Read, path: &Path) -> Result<(), ReadError> {
    let mut byte = [0];
    match from.read(&mut byte).map_err(EpochError::io("reading", path))? {
        0 => Ok(()),
        _ => malformed(path, "has more tokens than its rows"),
    }
}
