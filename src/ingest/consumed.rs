//! What of a chunk could not be read, and how far its files were: rejects and resume points.

use super::booked::reading_key_of_part;
use super::error::IngestError;
use super::options::IngestOptions;
use super::prepare::{FingerprintedChunk, FingerprintedItem};
use super::produce::InputPart;
use super::sources::ChunkSources;
use crate::model::{FileId, SourceId};
use crate::store::{Batch, FileRecord, RejectRecord};
use std::collections::BTreeMap;

/// Stores a chunk's rejects and how far each of its files was read; answers how many rejects are new.
pub(super) fn store_progress(
    batch: &mut Batch<'_>,
    sources: &ChunkSources,
    chunk: &FingerprintedChunk,
    options: &IngestOptions,
) -> Result<u64, IngestError> {
    let (mut new, mut rejected) = (0, BTreeMap::new());
    for (at, (piece, items)) in chunk.chunk.pieces.iter().zip(&chunk.items).enumerate() {
        let mut bad = 0;
        for item in items {
            let FingerprintedItem::Reject(reject, identity) = item else { continue };
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
        if !piece.known && !piece.repeats_stored() {
            put_file(batch, sources.own(), piece, bad, &mut rejected, options)?;
            for (source, file) in sources.files(at).filter(|(source, _)| *source != sources.own()) {
                let record = FileRecord {
                    reading: reading_key_of_part(options),
                    ..file_record(file, piece, 0, options)
                };
                batch.put_file(source, piece.path(), &record)?;
            }
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
    Ok(batch.put_file(source, path, &file_record(file, piece, before + bad, options))?)
}

/// A file, known by that number, that was read to the end of a piece.
fn file_record(
    file: FileId,
    piece: &InputPart,
    rejected: u64,
    options: &IngestOptions,
) -> FileRecord {
    FileRecord {
        file: file.0,
        size: piece.input.size,
        modified: piece.input.modified_ns,
        single: piece.single,
        whole: piece.whole,
        offset: piece.end.offset,
        records: piece.end.records,
        rejected,
        prefix: piece.end.prefix,
        reading: options.reading_key(),
    }
}
