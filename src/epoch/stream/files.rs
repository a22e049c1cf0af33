//! Reads ids of rows from files that hold the rows of an epoch end to end, in its order.

use super::row::EpochRow;
use crate::epoch::error::EpochError;
use model::IoError;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes read at a time, unless more are needed at once.
pub(in crate::epoch) const PIECE_BYTES: usize = 1 << 20;

/// A file of bare ids, little-endian.
#[derive(Clone, Debug)]
pub(in crate::epoch) struct IdFile {
    pub path: PathBuf,
    /// Number of its first row in the epoch.
    pub first: u64,
    pub rows: u64,
    /// Bytes before its first id.
    pub header: u64,
}

/// The ids of all rows of an epoch, whose rows have one length.
#[derive(Clone, Debug)]
pub(in crate::epoch) struct EpochFiles {
    /// In the order of their rows, none missing.
    pub files: Vec<IdFile>,
    /// Tokens of a row, pads included.
    pub row_tokens: usize,
    /// Bytes of an id: 2, or 4.
    pub id_bytes: usize,
    /// Ids of the tokenizer: none in the files may be larger.
    pub vocab: u32,
}

impl EpochFiles {
    /// Bytes of a row.
    pub const fn row_bytes(&self) -> usize {
        self.row_tokens.saturating_mul(self.id_bytes)
    }

    /// Appends what `of` makes of each id of whole rows.
    pub fn append<T>(&self, bytes: &[u8], of: impl Fn(u32) -> T, ids: &mut Vec<T>) {
        match self.id_bytes {
            2 => ids.extend(pairs(bytes).map(|id| of(u16::from_le_bytes(id).into()))),
            _ => ids.extend(fours(bytes).map(|id| of(u32::from_le_bytes(id)))),
        }
    }

    /// The largest id of a row.
    fn largest(&self, bytes: &[u8]) -> u32 {
        // No early way out, so that the loops are of vector instructions.
        match self.id_bytes {
            2 => pairs(bytes).map(u16::from_le_bytes).fold(0, u16::max).into(),
            _ => fours(bytes).map(u32::from_le_bytes).fold(0, u32::max),
        }
    }
}

/// Reads the rows of such files, and keeps the file open that it read last.
pub(in crate::epoch) struct IdFileReader {
    ids: Arc<EpochFiles>,
    opened: Option<(usize, File)>,
}

impl IdFileReader {
    pub const fn new(ids: Arc<EpochFiles>) -> Self {
        Self { ids, opened: None }
    }

    /// Fills in the ids of rows by their `numbers` in the epoch. Consecutive rows are read together.
    ///
    /// # Errors
    /// As [`IdFileReader::read`].
    pub fn fill(&mut self, numbers: &[u64], rows: &mut [EpochRow]) -> Result<(), EpochError> {
        let row_bytes = self.ids.row_bytes().max(1);
        let mut rows = rows.iter_mut();
        let mut bytes = Vec::new();
        for run in consecutive_runs(numbers) {
            for piece in run.chunks((PIECE_BYTES / row_bytes).max(1)) {
                bytes.resize(piece.len() * row_bytes, 0);
                self.read(piece.first().copied().unwrap_or_default(), &mut bytes)?;
                // The bytes first: where they end, no row is taken.
                for (bytes, row) in bytes.chunks_exact(row_bytes).zip(rows.by_ref()) {
                    row.ids.clear();
                    self.ids.append(bytes, |id| id, &mut row.ids);
                }
            }
        }
        Ok(())
    }

    /// Puts rows from number `first` of the epoch on into `bytes`, as many as it takes, and looks at their ids.
    ///
    /// # Errors
    /// [`EpochError::Io`] when a file cannot be read; [`EpochError::Files`] for ids that the tokenizer does not have.
    pub fn read(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), EpochError> {
        let ids = Arc::clone(&self.ids);
        let row_bytes = ids.row_bytes().max(1);
        let (mut number, mut left) = (first, bytes);
        while !left.is_empty() {
            let at = ids.files.partition_point(|file| file.first + file.rows <= number);
            let file = ids.files.get(at).filter(|file| file.first <= number);
            let file = file.ok_or_else(|| EpochError::bug("a row that is in no file"))?;
            let rows = (left.len() / row_bytes) as u64;
            let rows = rows.min(file.first + file.rows - number);
            // No more than `left` has, which is a size.
            let (here, behind) = left.split_at_mut(rows as usize * row_bytes);
            let place = file.header + (number - file.first) * row_bytes as u64;
            let read = self.open(at, file)?.read_exact_at(here, place);
            read.map_err(IoError::of("reading", &file.path))?;
            for (row, number) in here.chunks_exact(row_bytes).zip(number..) {
                let id = ids.largest(row);
                if id >= ids.vocab {
                    let why = format!(
                        "row {number} of the epoch has id {id}, and the tokenizer has {} ids; `corpusdb epoch verify` finds all damaged rows",
                        ids.vocab
                    );
                    return Err(EpochError::Files { path: file.path.clone(), why });
                }
            }
            number += rows;
            left = behind;
        }
        Ok(())
    }

    fn open(&mut self, at: usize, file: &IdFile) -> Result<&File, EpochError> {
        let open = match self.opened.take().filter(|(last, _)| *last == at) {
            Some(open) => open,
            None => (at, File::open(&file.path).map_err(IoError::of("opening", &file.path))?),
        };
        Ok(&self.opened.insert(open).1)
    }
}

/// Splits numbers into runs of consecutive ones.
pub(in crate::epoch) fn consecutive_runs(numbers: &[u64]) -> impl Iterator<Item = &[u64]> {
    numbers.chunk_by(|number, next| number.checked_add(1) == Some(*next))
}

fn pairs(bytes: &[u8]) -> impl Iterator<Item = [u8; 2]> {
    bytes.as_chunks().0.iter().copied()
}

fn fours(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    bytes.as_chunks().0.iter().copied()
}
