//! Rows of stored documents that were read for a decision: the same ones are asked for again and again.

use crate::dedup::Sketch;
use crate::model::DocId;
use crate::store::{BlockStandings, ColumnBlock, Header};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Bounded; a part that is full is forgotten whole.
#[derive(Default)]
pub(super) struct Remembered {
    headers: HashMap<DocId, Header>,
    sketches: HashMap<DocId, Option<Sketch>>,
    shingles: HashMap<DocId, Arc<[u64]>>,
    held: usize,
    numbers: HashMap<u64, ColumnBlock>,
    standings: HashMap<u64, BlockStandings>,
    /// Blocks of standings that were read.
    pub(super) standings_read: u64,
}

impl Remembered {
    /// Documents whose headers or sketches are held: some 16 MB of each.
    const ROWS: usize = 1 << 16;
    /// Shingles held: 32 MB.
    const SHINGLES: usize = 4 << 20;
    /// Blocks of one column held: half a megabyte each.
    const BLOCKS: usize = 32;

    /// Blocks of standings held: at most 29 MB.
    const STANDINGS: usize = 512;

    pub(super) fn header(&self, document: DocId) -> Option<Header> {
        self.headers.get(&document).cloned()
    }

    pub(super) fn remember_header(&mut self, document: DocId, header: &Header) {
        if self.headers.len() >= Self::ROWS {
            self.headers.clear();
        }
        self.headers.insert(document, header.clone());
    }

    pub(super) fn sketch(&self, document: DocId) -> Option<Option<Sketch>> {
        self.sketches.get(&document).cloned()
    }

    pub(super) fn remember_sketch(&mut self, document: DocId, sketch: &Option<Sketch>) {
        if self.sketches.len() >= Self::ROWS {
            self.sketches.clear();
        }
        self.sketches.insert(document, sketch.clone());
    }

    pub(super) fn shingles(&self, document: DocId) -> Option<Arc<[u64]>> {
        self.shingles.get(&document).map(Arc::clone)
    }

    pub(super) fn remember_shingles(&mut self, document: DocId, shingles: &Arc<[u64]>) {
        if self.held + shingles.len() > Self::SHINGLES {
            self.shingles.clear();
            self.held = 0;
        }
        if shingles.len() <= Self::SHINGLES {
            self.held += shingles.len();
            self.shingles.insert(document, Arc::clone(shingles));
        }
    }

    pub(super) fn number(&self, document: DocId) -> Option<Option<i64>> {
        self.numbers.get(&document.block()).map(|block| block.get(document.slot()))
    }

    pub(super) fn remember_numbers(&mut self, block: u64, numbers: ColumnBlock) {
        if self.numbers.len() >= Self::BLOCKS {
            self.numbers.clear();
        }
        self.numbers.insert(block, numbers);
    }

    /// The standings of a block, which `read` gives when they are not held.
    pub(super) fn standings<E>(
        &mut self,
        block: u64,
        read: impl FnOnce() -> Result<BlockStandings, E>,
    ) -> Result<&BlockStandings, E> {
        if self.standings.len() >= Self::STANDINGS && !self.standings.contains_key(&block) {
            self.standings.clear();
        }
        match self.standings.entry(block) {
            Entry::Occupied(held) => Ok(held.into_mut()),
            Entry::Vacant(slot) => {
                self.standings_read += 1;
                Ok(slot.insert(read()?))
            }
        }
    }
}
