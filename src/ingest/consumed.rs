//! What of a chunk could not be read, and how far its files were: rejects and resume points.

use super::error::IngestError;
use super::options::IngestOptions;
use super::prepare::{PreparedChunk, Ready};
use super::produce::InputPart;
use crate::model::{FileId, SourceId};
use crate::store::{Batch, FileRecord, RejectRecord};
use std::collections::BTreeMap;

/// Stores a chunk's rejects and how far each of its files was read; answers how many rejects are new.
pub(super) fn put_consumed(
    batch: &mut Batch<'_>,
    source: SourceId,
    chunk: &PreparedChunk,
    options: &IngestOptions,
) -> Result<u64, IngestError> {
    let (mut new, mut rejected) = (0, BTreeMap::new());
    for (piece, items) in chunk.chunk.pieces.iter().zip(&chunk.items) {
        let mut bad = 0;
        for item in items {
            let Ready::Reject(reject, identity) = item else { continue };
            bad += u64::from(reject.origin.number >= piece.same);
            let record = RejectRecord {
                source: options.source.clone(),
                path: piece.input.path.to_string_lossy().into_owned(),
                number: reject.origin.number,
                offset: reject.origin.offset,
                reason: reject.reason.to_string(),
                bytes: reject.raw_bytes,
                raw: reject.raw.clone(),
            };
            new += u64::from(batch.reject(*identity, &record)?);
        }
        if !piece.known && !piece.is_within_same() {
            put_file(batch, source, piece, bad, &mut rejected, options)?;
        }
    }
    Ok(new)
}

/// Stores how far a file was read, with `bad` records more in this piece. `rejected` are those of files by the
/// pieces before it.
fn put_file(
    batch: &mut Batch<'_>,
    source: SourceId,
    piece: &InputPart,
    bad: u64,
    rejected: &mut BTreeMap<FileId, u64>,
    options: &IngestOptions,
) -> Result<(), IngestError> {
    let path = piece.path();
    let file = batch.file(source, path)?;
    let before = match rejected.get(&file) {
        _ if !piece.continues && piece.same == 0 => 0,
        Some(before) => *before,
        None => batch.view().file(source, path)?.map_or(0, |record| record.rejected),
    };
    rejected.insert(file, before + bad);
    let record = FileRecord {
        file: file.0,
        size: piece.input.size,
        modified: piece.input.modified_ns,
        single: piece.single,
        whole: piece.whole,
        offset: piece.end.offset,
        records: piece.end.records,
        rejected: before + bad,
        prefix: piece.end.prefix,
        reading: options.reading(),
    };
    Ok(batch.put_file(source, path, &record)?)
}
