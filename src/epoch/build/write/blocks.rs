//! Shards of samples behind a table of their offsets, as both `mds` and `litdata` lay them out:
//! samples n as u32, n + 1 offsets as u32 counted from the file's first byte, what the format says of
//! itself, then the samples.

use super::bin::SegmentTable;
use super::{Options, Shard, frame};
use crate::epoch::build::ManifestFile;
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::output::CompressedFile;
use rayon::prelude::*;

/// Rows encoded by one thread at a time.
const PIECE_ROWS: usize = 64;

/// Bytes before the first sample of a shard of `samples`, what the format says of itself apart.
pub(super) const fn table_bytes(samples: u64) -> u64 {
    4 * (samples + 2)
}

/// Appends the sample of a row.
pub(super) type Encode = fn(&Options, &FilledRow, &mut Vec<u8>) -> Result<(), EpochError>;

/// A shard under way. Its samples are in memory: the table before them is known at the end only.
pub(super) struct BlockShard {
    options: Options,
    name: String,
    /// What the format says of itself.
    about: Vec<u8>,
    encode: Encode,
    pieces: Vec<Vec<u8>>,
    lengths: Vec<usize>,
    /// Beside formats that have no place for segments.
    segments: Option<SegmentTable>,
}

impl BlockShard {
    pub fn create(
        options: &Options,
        name: String,
        about: Vec<u8>,
        encode: Encode,
        segments: Option<SegmentTable>,
    ) -> Box<dyn Shard> {
        Box::new(Self {
            options: options.clone(),
            name,
            about,
            encode,
            pieces: Vec::new(),
            lengths: Vec::new(),
            segments,
        })
    }

    /// The table before the samples.
    fn table(&self) -> Result<Vec<u8>, EpochError> {
        let samples = self.lengths.len() as u64;
        let number = |number: u64| {
            u32::try_from(number)
                .map(u32::to_le_bytes)
                .map_err(|_| EpochError::bug(format!("{} of 4 GiB or more", self.name)))
        };
        let mut table = Vec::new();
        table.extend(number(samples)?);
        let mut offset = table_bytes(samples) + self.about.len() as u64;
        table.extend(number(offset)?);
        for length in &self.lengths {
            offset += *length as u64;
            table.extend(number(offset)?);
        }
        Ok(table)
    }
}

impl Shard for BlockShard {
    fn append(&mut self, rows: &[FilledRow]) -> Result<(), EpochError> {
        let (options, encode) = (&self.options, self.encode);
        let piece = |rows: &[FilledRow]| {
            let tokens: usize = rows.iter().map(|row| row.ids.len()).sum();
            let mut bytes = Vec::with_capacity(tokens * options.width.bytes() + rows.len() * 128);
            let mut lengths = Vec::with_capacity(rows.len());
            for row in rows {
                let start = bytes.len();
                encode(options, row, &mut bytes)?;
                lengths.push(bytes.len() - start);
            }
            Ok((bytes, lengths))
        };
        let pieces: Vec<(Vec<u8>, Vec<usize>)> =
            rows.par_chunks(PIECE_ROWS).map(piece).collect::<Result<_, EpochError>>()?;
        for (bytes, lengths) in pieces {
            self.pieces.push(bytes);
            self.lengths.extend(lengths);
        }
        match &mut self.segments {
            Some(segments) => segments.append(options, rows),
            None => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<ManifestFile>, EpochError> {
        let (dir, compression) = (&self.options.dir, self.options.compression);
        let table = self.table()?;
        let samples: u64 = self.lengths.iter().map(|length| *length as u64).sum();
        let bytes = table.len() as u64 + self.about.len() as u64 + samples;
        let mut file = CompressedFile::create(dir, &self.name, frame(compression), Some(bytes))?;
        file.put(&table)?;
        file.put(&self.about)?;
        for piece in std::mem::take(&mut self.pieces) {
            file.put(&piece)?;
        }
        let mut files = vec![file.finish_file(self.lengths.len() as u64)?];
        if let Some(segments) = self.segments.take() {
            files.push(segments.finish()?);
        }
        Ok(files)
    }
}
