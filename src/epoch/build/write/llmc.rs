//! Raw shards as llm.c and modded-nanogpt read them: a header of 1,024 bytes, then u16 ids.
//!
//! The header is 256 numbers i32, little-endian: magic 20240520, version 1, tokens in the file, and
//! zeros.

use super::bin::{Index, TokenShard};
use super::{Options, Shard, ShardFormat, shard_name};
use crate::epoch::build::ManifestFile;
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::model::IoError;
use std::fs::OpenOptions;
use std::io::{Seek, Write};
use std::path::PathBuf;

const HEADER: usize = 1024;

/// Bytes before the ids, whatever number of rows there is.
pub(super) const fn header(_rows: u64) -> u64 {
    HEADER as u64
}

const MAGIC: i32 = 20_240_520;
const VERSION: i32 = 1;

struct LlmC(Options);

pub(super) fn format(options: Options) -> impl ShardFormat {
    LlmC(options)
}

impl ShardFormat for LlmC {
    fn weigh(&self, row: &FilledRow) -> u64 {
        self.0.id_bytes(row)
    }

    fn open(&self, number: u32, row: u64) -> Result<Box<dyn Shard>, EpochError> {
        let (tokens, segments) =
            (shard_name(number, "bin"), shard_name(number, "segments.parquet"));
        let header = Header { path: self.0.dir.join(&tokens), tokens: 0 };
        TokenShard::create(&self.0, &tokens, &segments, row, Box::new(header))
    }
}

/// Counts the tokens, which the header says and only the end knows.
struct Header {
    path: PathBuf,
    tokens: usize,
}

impl Index for Header {
    fn header(&self) -> &[u8] {
        &[0; HEADER]
    }

    fn add(&mut self, rows: &[FilledRow]) -> Result<(), EpochError> {
        self.tokens += rows.iter().map(|row| row.ids.len()).sum::<usize>();
        Ok(())
    }

    fn finish(self: Box<Self>, tokens: ManifestFile) -> Result<Vec<ManifestFile>, EpochError> {
        let count = i32::try_from(self.tokens)
            .map_err(|_| EpochError::bug("an llm.c shard of 2^31 tokens"))?;
        let mut header = Vec::with_capacity(HEADER);
        for number in [MAGIC, VERSION, count] {
            header.extend(number.to_le_bytes());
        }
        let failed = |action| IoError::of(action, &self.path);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&self.path)
            .map_err(failed("opening"))?;
        file.write_all(&header).and_then(|()| file.rewind()).map_err(failed("writing"))?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(&file).map_err(failed("reading"))?;
        Ok(vec![ManifestFile { blake3: hasher.finalize().to_hex().to_string(), ..tokens }])
    }
}
