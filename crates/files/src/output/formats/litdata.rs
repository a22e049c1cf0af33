//! Chunks as litdata's `TokensLoader` reads them, written and read back.
//!
//! `chunk-0-N.bin` has rows of one width and a segment table beside it; `index.json` lists the chunks. `updated_at` in
//! the index, for which litdata writes the time, is the hash of the plan: it names the cache of a copy, and that is
//! what it must tell apart.

use super::sample_table::{SampleFile, read_table, table_bytes};
use super::segment_table::{SegmentTableWriter, columns_beside};
use super::spelling::python_json;
use super::token_file::{TokenFileReader, encode_ids};
use crate::output::error::WriteError;
use crate::output::files::{ManifestFile, write_whole};
use crate::output::row_format::{
    BareIdLayout, DirectoryReader, EncodedRows, FormatLimit, RowFormat, RowShard, RowSpec,
    ShardDirectory, ShardReadError, ShardReader, damaged,
};
use crate::output::rows::{BatchColumn, IdType, LossLevel, RowColumn};
use crate::output::token_batch::TokenBatch;
use model::IoError;
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// litdata chunks.
pub(super) struct LitdataFormat;

const INDEX: &str = "index.json";

/// The type's place among those of NumPy that litdata lists.
const fn numpy_code(id_type: IdType) -> u8 {
    match id_type {
        IdType::U16 => 5,
        IdType::I32 => 2,
        IdType::U32 => 6,
    }
}

fn chunk_name(shard: u64, ending: &str) -> String {
    format!("chunk-0-{shard}.{ending}")
}

impl RowFormat for LitdataFormat {
    fn id_type(&self, vocab: u32, _asked: Option<IdType>) -> IdType {
        IdType::narrow_up_to(vocab, super::U16_VOCABULARY, IdType::I32)
    }

    fn loss(&self, _columns: &[RowColumn]) -> LossLevel {
        LossLevel::Plain
    }

    fn bare_ids(&self) -> Option<BareIdLayout> {
        Some(BareIdLayout { before: "chunk-0-", behind: ".bin", header: table_bytes })
    }

    fn check(&self, spec: &RowSpec) -> Result<(), FormatLimit> {
        // Beside the ids, a chunk has an offset a row.
        let capacity = u64::from(spec.capacity);
        let rows = spec.shard_bytes / capacity.max(1) + 1;
        let bytes = spec.shard_bytes.max(capacity * 4) + table_bytes(rows);
        if bytes > u32::MAX.into() {
            return Err(FormatLimit {
                why: format!("its offsets are u32, and a chunk may have {bytes} bytes"),
                instead: "lower output.shard_bytes, to 2147483648 for instance",
            });
        }
        Ok(())
    }

    fn columns(&self, spec: &RowSpec) -> Vec<BatchColumn> {
        columns_beside(spec)
    }

    fn encode(&self, spec: &RowSpec, rows: TokenBatch) -> Result<EncodedRows, WriteError> {
        let sizes = rows.rows().map(|row| row.ids().len() * spec.id_type.bytes()).collect();
        let bytes = encode_ids(spec.id_type, &rows.ids());
        Ok(EncodedRows { rows, bytes, sizes })
    }

    fn create(
        &self,
        spec: &RowSpec,
        dir: &Path,
        number: u32,
    ) -> Result<Box<dyn RowShard>, WriteError> {
        let segments = chunk_name(number.into(), "segments.parquet");
        let segments = SegmentTableWriter::create(spec, dir, &segments)?;
        let name = chunk_name(number.into(), "bin");
        Ok(SampleFile::create(spec, dir, name, Vec::new(), Some(segments)))
    }

    fn conclude(
        &self,
        spec: &RowSpec,
        dir: &Path,
        shards: Vec<Vec<ManifestFile>>,
    ) -> Result<Vec<ManifestFile>, WriteError> {
        let chunk = |file: &ManifestFile| {
            let ids = file.bytes - table_bytes(file.rows);
            chunk(&file.name, file.bytes, file.rows, ids / spec.id_type.bytes() as u64)
        };
        let chunks: Vec<Value> =
            shards.iter().filter_map(|files| files.first()).map(chunk).collect();
        let index = json!({
            "chunks": chunks,
            "config": {
                "chunk_bytes": spec.shard_bytes,
                "chunk_size": null,
                "compression": null,
                "compression_batch_size": null,
                "compression_level": null,
                "data_format": [format!("no_header_numpy:{}", numpy_code(spec.id_type))],
                "data_spec": "[1, {\"type\": null, \"context\": null, \"children_spec\": []}]",
                "encryption": null,
                "ipc_compression": null,
                "item_loader": "TokensLoader",
                "types": "json",
            },
            "updated_at": spec.plan,
        });
        let mut files = shards.concat();
        files.push(write_whole(dir, INDEX, python_json(&index).as_bytes(), 0)?);
        Ok(files)
    }

    fn open(&self, spec: &RowSpec, dir: &Path) -> Result<Box<dyn DirectoryReader>, ShardReadError> {
        Ok(Box::new(LitdataDirectory::open(ShardDirectory::list(dir, spec)?)?))
    }
}

/// What the index says of a chunk.
fn chunk(name: &str, bytes: u64, rows: u64, tokens: u64) -> Value {
    json!({ "chunk_bytes": bytes, "chunk_size": rows, "dim": tokens, "filename": name })
}

/// A directory whose index was read and found right, but for its chunks.
struct LitdataDirectory {
    dir: ShardDirectory,
    chunks: Vec<Value>,
}

impl LitdataDirectory {
    fn open(dir: ShardDirectory) -> Result<Self, ShardReadError> {
        let (path, spec) = (dir.path.join(INDEX), &dir.spec);
        let mut index = dir.json(INDEX)?;
        let expected = [
            ("/config/item_loader", json!("TokensLoader")),
            (
                "/config/data_format",
                json!([format!("no_header_numpy:{}", numpy_code(spec.id_type))]),
            ),
            ("/config/chunk_bytes", json!(spec.shard_bytes)),
            ("/config/compression", Value::Null),
            ("/config/encryption", Value::Null),
            ("/updated_at", json!(spec.plan)),
        ];
        for (pointer, value) in expected {
            if index.pointer(pointer) != Some(&value) {
                return damaged(&path, format!("{pointer} is not {value}"));
            }
        }
        let chunks = match index.pointer_mut("/chunks").map(Value::take) {
            Some(Value::Array(chunks)) => chunks,
            _ => return damaged(&path, "has no list of chunks"),
        };
        let there = dir.beginning("chunk-0-").filter(|name| name.ends_with(".bin")).count();
        if chunks.len() != there {
            return damaged(&path, format!("has {} chunks, the directory {there}", chunks.len()));
        }
        Ok(Self { dir, chunks })
    }
}

impl DirectoryReader for LitdataDirectory {
    fn shard_files(&self, shard: usize) -> Vec<String> {
        ["bin", "segments.parquet"].map(|ending| chunk_name(shard as u64, ending)).to_vec()
    }

    fn open_shard(&self, shard: usize) -> Result<Box<dyn ShardReader>, ShardReadError> {
        let spec = &self.dir.spec;
        let [name, segments] =
            ["bin", "segments.parquet"].map(|ending| chunk_name(shard as u64, ending));
        let path = self.dir.path.join(&name);
        let row_tokens = spec.equal_row_tokens().unwrap_or_default() as u64;
        let row_bytes = row_tokens.saturating_mul(spec.id_type.bytes() as u64);
        let failed = || IoError::of("reading", &path);
        let file = File::open(&path).map_err(failed())?;
        let size = file.metadata().map_err(failed())?.len();
        let offsets = read_table(&mut BufReader::new(file), size, &path)?;
        let rows = (offsets.len() as u64).saturating_sub(1);
        let header = table_bytes(rows);
        // Rows of one length, end to end, up to the file's end.
        let expected = (0..=rows).map(|row| row.saturating_mul(row_bytes).saturating_add(header));
        if offsets.into_iter().ne(expected) {
            return damaged(&path, format!("has other offsets than {rows} rows of {row_bytes}"));
        }
        let expected = chunk(&name, size, rows, rows * row_tokens);
        if self.chunks.get(shard) != Some(&expected) {
            let why = format!("does not describe chunk {shard} as {expected}");
            return damaged(&self.dir.path.join(INDEX), why);
        }
        let segments = self.dir.path.join(segments);
        Ok(Box::new(TokenFileReader::open(spec, &path, &segments, header)?))
    }
}
