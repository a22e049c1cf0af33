//! Reads Megatron shards by the byte table of the format: nothing is taken from the segment table but
//! the segments, with which the index must agree.

use super::raw::{expect_end, read_ids};
use super::segments::Segments;
use super::{FileLayout, ReadRow, Reader, ShardReadError, gather, malformed};
use crate::model::IoError;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

pub(super) struct MegatronShard {
    path: PathBuf,
    index_path: PathBuf,
    index: MegatronIndex,
    unpacked: bool,
    /// Document of the last row, and where in it the row ended.
    last: Option<(i64, i64)>,
    next: usize,
    tokens: BufReader<File>,
    segments: Segments,
}

/// The `.idx` file, decoded.
struct MegatronIndex {
    /// Bytes of an id.
    width: usize,
    lengths: Vec<i32>,
    /// Whether a document begins with the sequence.
    begins: Vec<bool>,
}

impl MegatronShard {
    /// In rows that are not packed, fragments of a document are sequences of one.
    pub fn open(
        bin: &Path,
        idx: &Path,
        segments: &Path,
        layout: &FileLayout,
    ) -> Result<Self, ShardReadError> {
        let bytes = std::fs::read(idx).map_err(IoError::of("reading", idx))?;
        let index = match MegatronIndex::parse(&bytes) {
            Ok(index) => index,
            Err(why) => return malformed(idx, why),
        };
        let tokens = File::open(bin).map_err(IoError::of("opening", bin))?;
        Ok(Self {
            path: bin.to_path_buf(),
            index_path: idx.to_path_buf(),
            index,
            unpacked: layout.unpacked,
            last: None,
            next: 0,
            tokens: BufReader::with_capacity(1 << 20, tokens),
            segments: Segments::open(segments, layout)?,
        })
    }
}

impl MegatronShard {
    fn next_row(&mut self) -> Result<Option<ReadRow>, ShardReadError> {
        let Some(mut row) = self.segments.next()? else { return Ok(None) };
        let length =
            self.index.lengths.get(self.next).and_then(|length| usize::try_from(*length).ok());
        let Some(length) = length else {
            return malformed(
                &self.index_path,
                "has fewer sequences than the segment table has rows",
            );
        };
        let begins = self.index.begins.get(self.next).copied();
        let first = row.doc_ids.first().zip(row.doc_offsets.first());
        let continues = self.unpacked
            && self.last.is_some_and(|(document, end)| first == Some((&document, &end)));
        if begins != Some(!continues) {
            return malformed(
                &self.index_path,
                format!("sequence {} and the document before it", self.next),
            );
        }
        self.last = first.map(|(document, offset)| (*document, offset + length as i64));
        self.next += 1;
        row.ids = read_ids(&mut self.tokens, length, self.index.width, &self.path)?;
        Ok(Some(row))
    }
}

impl Reader for MegatronShard {
    fn next_rows(&mut self) -> Result<Vec<ReadRow>, ShardReadError> {
        let rows = gather(|| self.next_row())?;
        if rows.is_empty() {
            if self.next < self.index.lengths.len() {
                return malformed(
                    &self.index_path,
                    "has more sequences than the segment table has rows",
                );
            }
            expect_end(&mut self.tokens, &self.path)?;
        }
        Ok(rows)
    }
}

impl MegatronIndex {
    /// Decodes and checks an index whose sequences lie end to end, each in a document.
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let at = |from: usize, len: usize| {
            bytes.get(from..from + len).ok_or_else(|| format!("ends before byte {}", from + len))
        };
        let u64_at = |from: usize| {
            at(from, 8).map(|found| found.iter().rev().fold(0_u64, |v, b| v << 8 | u64::from(*b)))
        };
        if at(0, 9)? != [0x4d, 0x4d, 0x49, 0x44, 0x49, 0x44, 0x58, 0, 0] {
            return Err("does not begin with MMIDIDX".to_owned());
        }
        let version = u64_at(9)?;
        if version != 1 {
            return Err(format!("has version {version}"));
        }
        let width = match at(17, 1)? {
            [8] => 2,
            [4] => 4,
            other => return Err(format!("has type code {other:?}")),
        };
        let (sequences, boundaries) = (u64_at(18)?, u64_at(26)?);
        let expected = 34 + u128::from(sequences) * 12 + u128::from(boundaries) * 8;
        if expected != bytes.len() as u128 || boundaries == 0 || boundaries - 1 > sequences {
            return Err(format!(
                "has {} bytes for {sequences} sequences and {boundaries} boundaries",
                bytes.len()
            ));
        }
        // The counts fit the file just measured.
        let count = usize::try_from(sequences).map_err(|error| error.to_string())?;
        let mut lengths = Vec::with_capacity(count);
        let mut offset = 0_u64;
        for sequence in 0..count {
            let length =
                at(34 + 4 * sequence, 4)?.iter().rev().fold(0_u32, |v, b| v << 8 | u32::from(*b));
            if u64_at(34 + 4 * count + 8 * sequence)? != offset {
                return Err(format!(
                    "sequence {sequence} does not begin at byte {offset} of the tokens"
                ));
            }
            lengths.push(length.cast_signed());
            offset += u64::from(length) * width as u64;
        }
        let documents = usize::try_from(boundaries - 1).map_err(|error| error.to_string())?;
        let mut begins = vec![false; count];
        let mut last = None;
        for document in 0..documents {
            let first = u64_at(34 + 12 * count + 8 * document)?;
            let sequence = usize::try_from(first).ok().and_then(|first| begins.get_mut(first));
            match sequence {
                Some(begins) if last.is_none_or(|last| last < first) => *begins = true,
                _ => {
                    return Err(format!(
                        "document {document} does not begin with sequence {first}"
                    ));
                }
            }
            last = Some(first);
        }
        if count > 0 && begins.first() != Some(&true) {
            return Err("the first sequence begins no document".to_owned());
        }
        if u64_at(34 + 12 * count + 8 * documents)? != sequences {
            return Err("the last document does not end with the last sequence".to_owned());
        }
        Ok(Self { width, lengths, begins })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden() -> Vec<u8> {
        let mut bytes = b"MMIDIDX\0\0".to_vec();
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, 8]);
        bytes.extend(2_u64.to_le_bytes());
        bytes.extend(3_u64.to_le_bytes());
        bytes.extend([5, 0, 0, 0, 3, 0, 0, 0]);
        bytes.extend([0_u64, 10].map(u64::to_le_bytes).concat());
        bytes.extend([0_u64, 1, 2].map(u64::to_le_bytes).concat());
        bytes
    }

    #[test]
    fn the_byte_table_is_read() {
        let index = MegatronIndex::parse(&golden()).unwrap();
        assert_eq!((index.width, index.lengths), (2, vec![5, 3]));
        assert_eq!(index.begins, [true, true]);
    }

    #[test]
    fn every_byte_of_the_header_and_the_tables_counts() {
        let golden = golden();
        for at in 0..golden.len() {
            let mut bytes = golden.clone();
            bytes[at] ^= 0x40;
            let changed = MegatronIndex::parse(&bytes);
            // A length may change into another length: then what follows it has moved.
            assert!(
                changed.is_err() || changed.is_ok_and(|index| index.lengths != [5, 3]),
                "byte {at}"
            );
        }
        for end in 0..golden.len() {
            assert!(MegatronIndex::parse(&golden[..end]).is_err(), "cut at {end}");
        }
    }
}
