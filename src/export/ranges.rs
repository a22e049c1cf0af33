//! Documents in ranges: cut in the order of their ids, and read by any number of threads.

use super::collisions::TakenNames;
use crate::sql::ExportColumns;
use files::output::PositionedRows;
use model::{DocId, Error};
use rayon::prelude::*;
use roaring::RoaringTreemap;
use std::iter::Peekable;
use store::{NumberBlock, View, system_fields};

/// Most documents of a range.
const RANGE_DOCUMENTS: usize = 512;
/// Bytes of text at which a range ends; a longer text is one alone.
const RANGE_BYTES: u64 = 2 << 20;
/// Times its text that a range takes: as it was read, as columns, in a group, and as it is written.
const COPIES: u64 = 4;

/// What is read at a time: a range a thread, within the memory that may be taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadWindow {
    ranges: usize,
    bytes: u64,
}

impl ReadWindow {
    /// A quarter of the memory is for the window that is read and the one that is written meanwhile.
    pub fn of(threads: usize, memory: u64) -> Self {
        Self { ranges: threads.saturating_mul(2).max(1), bytes: memory / 4 / 2 / COPIES }
    }
}

/// Documents of one block.
struct DocumentRange {
    documents: Vec<DocId>,
    bytes: u64,
}

/// The ranges of a selection.
pub(super) struct DocumentRanges<'a> {
    view: &'a View,
    ids: Peekable<roaring::treemap::IntoIter>,
    /// The number of a block, and the lengths of its texts.
    block: Option<(u64, NumberBlock)>,
    /// Bytes of text at which a range ends.
    most: u64,
    /// The range that did not fit into the window before.
    over: Option<DocumentRange>,
}

impl<'a> DocumentRanges<'a> {
    /// Ranges that are no longer than a group of `group` bytes.
    pub fn new(view: &'a View, documents: RoaringTreemap, group: u64) -> Self {
        let ids = documents.into_iter().peekable();
        Self { view, ids, block: None, most: group.min(RANGE_BYTES), over: None }
    }

    /// The next ranges in order; none when there are no more. Fields at top level may not have the names `taken`.
    pub fn read(
        &mut self,
        table: &ExportColumns,
        taken: Option<&TakenNames>,
        window: ReadWindow,
    ) -> Result<Vec<PositionedRows>, Error> {
        let ranges = self.window(window)?;
        let view = self.view;
        let read = |range: DocumentRange| {
            let (rows, documents) = table.read(view, range.documents)?;
            let rows = match taken {
                Some(taken) => taken.resolved(rows, &documents)?,
                None => rows,
            };
            let behind = documents.iter().map(|document| document.0 + 1).collect();
            Ok(PositionedRows { rows, behind })
        };
        ranges.into_par_iter().map(read).collect()
    }

    fn window(&mut self, window: ReadWindow) -> Result<Vec<DocumentRange>, Error> {
        let mut ranges: Vec<DocumentRange> = Vec::new();
        let mut bytes = 0_u64;
        while ranges.len() < window.ranges {
            let Some(range) = self.next()? else { break };
            bytes = bytes.saturating_add(range.bytes);
            if bytes > window.bytes && !ranges.is_empty() {
                self.over = Some(range);
                break;
            }
            ranges.push(range);
        }
        Ok(ranges)
    }

    fn next(&mut self) -> Result<Option<DocumentRange>, Error> {
        if let Some(range) = self.over.take() {
            return Ok(Some(range));
        }
        let Some(block) = self.ids.peek().map(|id| DocId(*id).block()) else { return Ok(None) };
        let (_, lengths) = match &mut self.block {
            Some(known) if known.0 == block => known,
            place => place.insert((block, self.view.column_block(system_fields::BYTES, block)?)),
        };
        let mut range = DocumentRange { documents: Vec::new(), bytes: 0 };
        while range.documents.len() < RANGE_DOCUMENTS
            && let Some(document) = self.ids.peek().copied().map(DocId)
            && document.block() == block
        {
            let length = lengths.expect(system_fields::BYTES, document)?;
            if !range.documents.is_empty() && range.bytes.saturating_add(length) > self.most {
                break;
            }
            range.documents.push(document);
            range.bytes = range.bytes.saturating_add(length);
            self.ids.next();
        }
        Ok(Some(range))
    }
}
