//! Chunks as litdata's `TokensLoader` reads them: `chunk-0-N.bin` of rows of one width, `index.json`,
//! and a segment table beside each chunk.
//!
//! `updated_at` in the index, for which litdata writes the time, is the hash of the plan: it names the
//! cache of a copy, and that is what it must tell apart.

use super::bin::SegmentTable;
use super::blocks::{BlockShard, table_bytes};
use super::json::python;
use super::{Options, Shard, ShardFormat};
use crate::epoch::build::ManifestFile;
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::output::write_whole;
use serde_json::{Value, json};

struct Litdata {
    options: Options,
    shard_bytes: u64,
}

pub(super) fn format(options: Options, shard_bytes: u64) -> impl ShardFormat {
    Litdata { options, shard_bytes }
}

impl ShardFormat for Litdata {
    fn weigh(&self, row: &FilledRow) -> u64 {
        self.options.id_bytes(row)
    }

    fn open(&self, number: u32, row: u64) -> Result<Box<dyn Shard>, EpochError> {
        let segments = format!("chunk-0-{number}.segments.parquet");
        let segments = SegmentTable::create(&self.options, &segments, row)?;
        let name = format!("chunk-0-{number}.bin");
        Ok(BlockShard::create(&self.options, name, Vec::new(), Options::encode, Some(segments)))
    }

    fn conclude(&self, shards: Vec<Vec<ManifestFile>>) -> Result<Vec<ManifestFile>, EpochError> {
        let width = self.options.width;
        let chunk = |file: &ManifestFile| {
            let tokens = (file.bytes - table_bytes(file.rows)) / width.bytes() as u64;
            json!({
                "chunk_bytes": file.bytes, "chunk_size": file.rows, "dim": tokens,
                "filename": file.name,
            })
        };
        let chunks: Vec<Value> =
            shards.iter().filter_map(|files| files.first()).map(chunk).collect();
        let index = json!({
            "chunks": chunks,
            "config": {
                "chunk_bytes": self.shard_bytes,
                "chunk_size": null,
                "compression": null,
                "compression_batch_size": null,
                "compression_level": null,
                "data_format": [format!("no_header_numpy:{}", width.numpy_code())],
                "data_spec": "[1, {\"type\": null, \"context\": null, \"children_spec\": []}]",
                "encryption": null,
                "ipc_compression": null,
                "item_loader": "TokensLoader",
                "types": "json",
            },
            "updated_at": self.options.plan,
        });
        let mut files = shards.concat();
        files.push(write_whole(&self.options.dir, "index.json", python(&index).as_bytes(), 0)?);
        Ok(files)
    }
}
