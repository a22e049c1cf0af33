//! The sources that the records of a chunk belong to, and the numbers of its files in each of them.

use super::error::IngestError;
use super::options::IngestOptions;
use super::prepare::{FingerprintedChunk, FingerprintedItem};
use crate::model::{FileId, ReadRecord, SourceId};
use crate::store::Batch;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sources that the records of an ingest may name. Each is held in memory by whoever opens the corpus.
const MAX_NAMED_SOURCES: usize = 4096;

/// Sources of a chunk. Files are booked under that of the ingest; a document's file has a number in its own source.
pub(super) struct ChunkSources {
    own: SourceId,
    named: BTreeMap<Arc<str>, SourceId>,
    /// By piece of the chunk and source.
    files: BTreeMap<(usize, SourceId), FileId>,
}

impl ChunkSources {
    /// Those of a chunk; new ones get their numbers in the order of the records.
    pub(super) fn of(
        batch: &mut Batch<'_>,
        chunk: &FingerprintedChunk,
        options: &IngestOptions,
    ) -> Result<Self, IngestError> {
        let own = batch.source(&options.source)?;
        let mut sources = Self { own, named: BTreeMap::new(), files: BTreeMap::new() };
        for (at, (piece, items)) in chunk.chunk.pieces.iter().zip(&chunk.items).enumerate() {
            sources.number(batch, at, own, piece.path())?;
            for item in items {
                let FingerprintedItem::Document(prepared) = item else { continue };
                let Some(name) = &prepared.record.source else { continue };
                let source = match sources.named.get(name) {
                    Some(source) => *source,
                    None => {
                        let source = batch.source(name)?;
                        if sources.named.len() >= MAX_NAMED_SOURCES
                            || source.0 as usize >= MAX_NAMED_SOURCES
                        {
                            let field = options.read.source_field.clone().unwrap_or_default();
                            return Err(IngestError::TooManySources {
                                field,
                                most: MAX_NAMED_SOURCES,
                            });
                        }
                        sources.named.insert(Arc::clone(name), source);
                        source
                    }
                };
                sources.number(batch, at, source, piece.path())?;
            }
        }
        Ok(sources)
    }

    fn number(
        &mut self,
        batch: &mut Batch<'_>,
        at: usize,
        source: SourceId,
        path: &[u8],
    ) -> Result<(), IngestError> {
        if let std::collections::btree_map::Entry::Vacant(slot) = self.files.entry((at, source)) {
            slot.insert(batch.file(source, path)?);
        }
        Ok(())
    }

    /// That of the ingest.
    pub(super) const fn own(&self) -> SourceId {
        self.own
    }

    /// The source of a record.
    pub(super) fn source(&self, record: &ReadRecord) -> SourceId {
        record.source.as_ref().and_then(|name| self.named.get(name)).copied().unwrap_or(self.own)
    }

    /// The file of a piece in a source.
    pub(super) fn file(&self, piece: usize, source: SourceId) -> FileId {
        self.files.get(&(piece, source)).copied().unwrap_or_default()
    }

    /// Every file that a piece is part of: its source with its number there.
    pub(super) fn files(&self, piece: usize) -> impl Iterator<Item = (SourceId, FileId)> {
        let range = (piece, SourceId(0))..=(piece, SourceId(u32::MAX));
        self.files.range(range).map(|((_, source), file)| (*source, *file))
    }

    /// Sources with their names.
    pub(super) fn names<'a>(
        &'a self,
        options: &'a IngestOptions,
    ) -> impl Iterator<Item = (SourceId, &'a str)> {
        let named = self.named.iter().map(|(name, source)| (*source, name.as_ref()));
        std::iter::once((self.own, options.source.as_str())).chain(named)
    }
}
