//! Ids of rows from files that hold the rows of an epoch end to end, in its order.

use super::ids::FilledRow;
use crate::epoch::error::EpochError;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Bytes read at a time, unless a row has more.
const PIECE_BYTES: usize = 1 << 20;

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
pub(in crate::epoch) struct FileIds {
    /// In the order of their rows, none missing.
    pub files: Vec<IdFile>,
    /// Tokens of a row, pads included.
    pub row_tokens: usize,
    /// Bytes of an id: 2, or 4.
    pub id_bytes: usize,
    /// Ids of the tokenizer: none in the files may be larger.
    pub vocab: u32,
}

impl FileIds {
    /// Gives rows of these numbers in the epoch their ids. Rows that follow each other are read together.
    ///
    /// # Errors
    /// [`EpochError::Io`] when a file cannot be read; [`EpochError::Files`] for ids that the tokenizer does not have.
    pub fn fill(&self, numbers: &[u64], rows: &mut [FilledRow]) -> Result<(), EpochError> {
        let mut left = numbers.iter().copied().zip(rows).peekable();
        let mut bytes = Vec::new();
        let mut opened: Option<(usize, File)> = None;
        let row_bytes = self.row_tokens.saturating_mul(self.id_bytes);
        while let Some((number, row)) = left.next() {
            let at = self.files.partition_point(|file| file.first + file.rows <= number);
            let file = self.files.get(at).filter(|file| file.first <= number);
            let file = file.ok_or_else(|| EpochError::bug("a row that is in no file"))?;
            if opened.as_ref().is_none_or(|(last, _)| *last != at) {
                let found = File::open(&file.path);
                opened = Some((at, found.map_err(EpochError::io("opening", &file.path))?));
            }
            let mut together = vec![row];
            let end = file.first + file.rows;
            let mut next = number + 1;
            while next < end && (together.len() + 1) * row_bytes <= PIECE_BYTES {
                let Some((_, row)) = left.next_if(|(number, _)| *number == next) else { break };
                together.push(row);
                next += 1;
            }
            bytes.resize(together.len() * row_bytes, 0);
            let place = file.header + (number - file.first) * row_bytes as u64;
            if let Some((_, found)) = &opened {
                let read = found.read_exact_at(&mut bytes, place);
                read.map_err(EpochError::io("reading", &file.path))?;
            }
            for ((row, bytes), number) in
                together.into_iter().zip(bytes.chunks(row_bytes)).zip(number..)
            {
                self.put(row, bytes).map_err(|id| EpochError::Files {
                    path: file.path.clone(),
                    why: format!(
                        "row {number} of the epoch has id {id}, and the tokenizer has {}; `corpusdb epoch verify` finds all that is damaged",
                        self.vocab
                    ),
                })?;
            }
        }
        Ok(())
    }

    /// Puts ids into a row; an id that the tokenizer does not have is the error.
    fn put(&self, row: &mut FilledRow, bytes: &[u8]) -> Result<(), u32> {
        row.ids.clear();
        match self.id_bytes {
            2 => row.ids.extend(pairs(bytes).map(|id| u32::from(u16::from_le_bytes(id)))),
            _ => row.ids.extend(fours(bytes).map(u32::from_le_bytes)),
        }
        // No early way out, so that the loop is of vector instructions.
        match row.ids.iter().fold(0, |largest, id| largest.max(*id)) {
            largest if largest >= self.vocab => Err(largest),
            _ => Ok(()),
        }
    }
}

fn pairs(bytes: &[u8]) -> impl Iterator<Item = [u8; 2]> {
    bytes.as_chunks().0.iter().copied()
}

fn fours(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    bytes.as_chunks().0.iter().copied()
}
