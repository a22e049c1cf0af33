//! Reads litdata chunks: an index for all, and in each chunk a table of offsets before the ids.

use super::raw::RawShard;
use super::{FileLayout, Reader, ShardReadError, malformed, number, read_json};
use crate::model::IoError;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Opens chunk `shard`, once the index and the chunk's table are found right.
pub(super) fn open(
    dir: &Path,
    shard: usize,
    layout: &FileLayout,
) -> Result<Box<dyn Reader>, ShardReadError> {
    let path = dir.join(layout.name(shard, "bin"));
    let row_bytes = layout.row_tokens.unwrap_or_default().saturating_mul(layout.id_bytes) as u64;
    let (rows, size) = check_table(&path, row_bytes)?;
    let index = dir.join("index.json");
    check_index(&index, &read_json(&index)?, shard, dir, layout)?;
    let chunk = read_json(&index)?.pointer(&format!("/chunks/{shard}")).cloned();
    let expected = json!({
        "chunk_bytes": size,
        "chunk_size": rows,
        "dim": rows * layout.row_tokens.unwrap_or_default() as u64,
        "filename": layout.name(shard, "bin"),
    });
    if chunk.as_ref() != Some(&expected) {
        return malformed(&index, format!("does not describe chunk {shard} as {expected}"));
    }
    let segments = dir.join(layout.name(shard, "segments.parquet"));
    Ok(Box::new(RawShard::open(&path, &segments, layout, 4 * (rows + 2))?))
}

/// Rows of a chunk and its size: offsets of rows of one length, end to end, up to the file's end.
fn check_table(path: &Path, row_bytes: u64) -> Result<(u64, u64), ShardReadError> {
    let failed = || IoError::of("reading", path);
    let mut file = File::open(path).map_err(failed())?;
    let size = file.metadata().map_err(failed())?.len();
    let mut next = |bytes: u64| {
        let mut found = Vec::new();
        (&mut file).take(bytes).read_to_end(&mut found).map(|_| found)
    };
    let rows = number(&next(4).map_err(failed())?);
    let header = 4 * (rows + 2);
    if header + rows * row_bytes != size {
        return malformed(path, format!("has {size} bytes for {rows} rows of {row_bytes}"));
    }
    let offsets = next(4 * (rows + 1)).map_err(failed())?;
    let expected = (0..=rows).map(|row| header + row * row_bytes);
    if offsets.chunks_exact(4).map(number).ne(expected) {
        return malformed(path, "has offsets of other places than its rows");
    }
    Ok((rows, size))
}

/// What the index says of all chunks.
fn check_index(
    path: &Path,
    index: &Value,
    shard: usize,
    dir: &Path,
    layout: &FileLayout,
) -> Result<(), ShardReadError> {
    let at = |pointer: &str| index.pointer(pointer);
    let code = if layout.id_bytes == 2 { 5 } else { 2 };
    let expected = [
        ("/config/item_loader", json!("TokensLoader")),
        ("/config/data_format", json!([format!("no_header_numpy:{code}")])),
        ("/config/chunk_bytes", json!(layout.shard_bytes)),
        ("/config/compression", Value::Null),
        ("/config/encryption", Value::Null),
        ("/updated_at", json!(layout.plan)),
    ];
    for (pointer, value) in expected {
        if at(pointer) != Some(&value) {
            return malformed(path, format!("{pointer} is not {value}"));
        }
    }
    let chunks = at("/chunks").and_then(Value::as_array).map_or(0, Vec::len);
    let is_last = !dir.join(layout.name(shard + 1, "bin")).exists();
    if is_last && chunks != shard + 1 {
        return malformed(path, format!("has {chunks} chunks, the directory {}", shard + 1));
    }
    Ok(())
}
