//! Megatron shards: `.bin` with the ids, `.idx` with one sequence a row, and a segment table.
//!
//! The index, little-endian: magic `MMIDIDX\0\0`, version u64 = 1, type code u8, sequences u64,
//! document boundaries u64, tokens of each sequence i32, byte offset of each sequence i64, then the
//! boundaries i64: 0 and the number of sequences up to and with each document. A packed row is one
//! document; unpacked, fragments of a document that follow each other are sequences of one.

use super::bin::{Index, TokenShard};
use super::{Options, Shard, ShardFormat, shard_name};
use crate::epoch::build::ManifestFile;
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::epoch::pack::Segment;
use crate::output::HashedFile;

pub(in crate::epoch) const MAGIC: &[u8; 9] = b"MMIDIDX\0\0";

struct Megatron(Options);

pub(super) fn format(options: Options) -> impl ShardFormat {
    Megatron(options)
}

impl ShardFormat for Megatron {
    fn weigh(&self, row: &FilledRow) -> u64 {
        self.0.id_bytes(row)
    }

    fn open(&self, number: u32, row: u64) -> Result<Box<dyn Shard>, EpochError> {
        let index = Sequences {
            options: self.0.clone(),
            number,
            lengths: Vec::new(),
            starts: Vec::new(),
            last: None,
        };
        let segments = shard_name(number, "segments.parquet");
        TokenShard::create(&self.0, &shard_name(number, "bin"), &segments, row, Box::new(index))
    }
}

/// The tokens of each sequence, and the sequences that begin a document.
struct Sequences {
    options: Options,
    number: u32,
    lengths: Vec<u32>,
    starts: Vec<u64>,
    /// The last fragment; none when rows are packed.
    last: Option<Segment>,
}

impl Index for Sequences {
    fn add(&mut self, rows: &[FilledRow]) -> Result<(), EpochError> {
        for row in rows {
            let first = row.segments.first().filter(|_| self.options.unpacked).copied();
            let continues = self.last.zip(first).is_some_and(|(last, first)| {
                first.document == last.document && first.offset == last.offset + last.length
            });
            if !continues {
                self.starts.push(self.lengths.len() as u64);
            }
            self.last = first;
            let length = u32::try_from(row.ids.len());
            self.lengths.push(length.map_err(|_| EpochError::bug("a row of 2^32 tokens"))?);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, tokens: ManifestFile) -> Result<Vec<ManifestFile>, EpochError> {
        let width = self.options.width;
        let mut file = HashedFile::create(&self.options.dir, &shard_name(self.number, "idx"))?;
        let rows = self.lengths.len() as u64;
        file.put(MAGIC)?;
        file.put(&1_u64.to_le_bytes())?;
        file.put(&[width.megatron_code()])?;
        file.put(&rows.to_le_bytes())?;
        file.put(&(self.starts.len() as u64 + 1).to_le_bytes())?;
        for length in &self.lengths {
            // Rows are at most `pack.length + 1`, far below 2^31.
            file.put(&length.to_le_bytes())?;
        }
        let mut offset = 0_u64;
        for length in &self.lengths {
            file.put(&offset.to_le_bytes())?;
            offset += u64::from(*length) * width.bytes() as u64;
        }
        for start in self.starts.iter().chain([&rows]) {
            file.put(&start.to_le_bytes())?;
        }
        Ok(vec![tokens, file.finish(rows)?])
    }
}
