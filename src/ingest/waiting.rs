//! Chunks that wait for those behind them, to be committed with them.
//!
//! A chunk that takes the witness of many stored documents away has all of these decided again. With those behind
//! it, most of which may be these very documents under their keys, fewer are left. What is decided does not depend
//! on how the input is cut; a chunk that waits is not stored, nor is it said that its file was read so far.

use super::options::IngestOptions;
use super::prepare::FingerprintedChunk;
use super::write::MinBatch;

/// At most one chunk, of all that wait.
pub(super) struct ChunkMerger {
    /// Bytes of text up to which chunks are put together.
    limit: u64,
    chunk: Option<FingerprintedChunk>,
    /// Records with which it goes on.
    until: usize,
}

impl ChunkMerger {
    /// Nothing waits. `most` is the text of a commit that memory has room for, whatever the user says.
    pub(super) const fn new(options: &IngestOptions, most: u64) -> Self {
        Self { limit: most.saturating_sub(options.batch_bytes), chunk: None, until: 0 }
    }

    /// What waits, with the chunk that comes behind it.
    pub(super) fn merge(&mut self, next: Option<FingerprintedChunk>) -> Option<FingerprintedChunk> {
        let Some(mut chunk) = self.chunk.take() else { return next };
        if let Some(FingerprintedChunk { chunk: behind, items }) = next {
            chunk.items.extend(items);
            let all = &mut chunk.chunk;
            all.pieces.extend(behind.pieces);
            all.unchanged += behind.unchanged;
            all.passed += behind.passed;
            all.filtered += behind.filtered;
            all.input_bytes = behind.input_bytes;
            all.bytes += behind.bytes;
            all.error = behind.error;
        }
        Some(chunk)
    }

    /// Whether a chunk may wait, if another one comes: with that one it is within the limit.
    pub(super) const fn admits(&self, chunk: &FingerprintedChunk) -> bool {
        chunk.chunk.error.is_none() && chunk.chunk.bytes <= self.limit
    }

    /// Whether what waited waits on.
    pub(super) fn needs_more(&self, chunk: &FingerprintedChunk) -> bool {
        records(chunk) < self.until
    }

    /// A chunk waits on.
    pub(super) fn keep(&mut self, chunk: FingerprintedChunk) {
        self.chunk = Some(chunk);
    }

    /// A chunk waits until it has as many documents as it wants, if further records are as often new ones as these.
    pub(super) fn keep_until(&mut self, chunk: FingerprintedChunk, want: MinBatch) {
        let records = records(&chunk);
        self.until = records.saturating_mul(want.documents) / want.has.max(1);
        self.chunk = Some(chunk);
    }

    /// What waited is committed: what comes next waits for reasons of its own.
    pub(super) const fn reset(&mut self) {
        self.until = 0;
    }
}

fn records(chunk: &FingerprintedChunk) -> usize {
    chunk.items.iter().map(Vec::len).sum()
}
