//! Raw shards: headerless token ids, u16 or u32 little-endian by vocabulary, with a segment table.
//! The layout of nanoGPT is that of u16 ids.

use super::bin::{Plain, TokenShard};
use super::{Options, Shard, ShardFormat, shard_name};
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;

struct Raw(Options);

pub(super) fn format(options: Options) -> impl ShardFormat {
    Raw(options)
}

impl ShardFormat for Raw {
    fn weigh(&self, row: &FilledRow) -> u64 {
        self.0.id_bytes(row)
    }

    fn open(&self, number: u32, row: u64) -> Result<Box<dyn Shard>, EpochError> {
        let segments = shard_name(number, "segments.parquet");
        TokenShard::create(&self.0, &shard_name(number, "bin"), &segments, row, Box::new(Plain))
    }
}
