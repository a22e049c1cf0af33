//! Megatron shards: `.bin` with the ids, `.idx` with one sequence and one document a row, and a
//! segment table.
//!
//! The index, little-endian: magic `MMIDIDX\0\0`, version u64 = 1, type code u8, sequences u64,
//! document boundaries u64, tokens of each sequence i32, byte offset of each sequence i64, then the
//! boundaries i64: 0 and the number of sequences up to and with each document.

use super::bin::Bins;
use super::files::HashedFile;
use super::{Options, shard_name};
use crate::epoch::error::EpochError;
use crate::epoch::manifest::ManifestFile;
use crate::epoch::width::Width;
use std::path::Path;

pub(in crate::epoch) const MAGIC: &[u8; 9] = b"MMIDIDX\0\0";

pub(super) fn create(dir: &Path, options: Options) -> Bins {
    Bins::create(dir, options, Some(write_index))
}

fn write_index(
    dir: &Path,
    shard: u32,
    lengths: &[u32],
    width: Width,
) -> Result<ManifestFile, EpochError> {
    let mut file = HashedFile::create(dir, &shard_name(shard, "idx"))?;
    let rows = lengths.len() as u64;
    file.put(MAGIC)?;
    file.put(&1_u64.to_le_bytes())?;
    file.put(&[width.megatron_code()])?;
    file.put(&rows.to_le_bytes())?;
    file.put(&(rows + 1).to_le_bytes())?;
    for length in lengths {
        // Rows are at most `pack.length + 1`, far below 2^31.
        file.put(&length.to_le_bytes())?;
    }
    let mut offset = 0_u64;
    for length in lengths {
        file.put(&offset.to_le_bytes())?;
        offset += u64::from(*length) * width.bytes() as u64;
    }
    for boundary in 0..=rows {
        file.put(&boundary.to_le_bytes())?;
    }
    file.finish(rows)
}
