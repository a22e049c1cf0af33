//! Documents by the piece: cut in the order of their ids, and read by any number of threads.

use super::collisions::TakenNames;
use super::error::ExportError;
use crate::model::DocId;
use crate::output::PositionedRows;
use crate::query::DocumentTable;
use crate::store::{NumberBlock, View, system_fields};
use rayon::prelude::*;
use roaring::RoaringTreemap;
use std::iter::Peekable;

/// Documents of a piece, at most.
const PIECE_DOCUMENTS: usize = 512;
/// Bytes of text at which a piece ends; a longer text is one alone.
const PIECE_BYTES: u64 = 2 << 20;
/// Times its text that a piece takes: as it was read, as columns, in a group, and as it is written.
const COPIES: u64 = 4;

/// What is read at a time: a piece a thread, within the memory that may be taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pieces: usize,
    bytes: u64,
}

impl Window {
    /// A quarter of the memory is for the window that is read and the one that is written meanwhile.
    pub fn of(threads: usize, memory: u64) -> Self {
        Self { pieces: threads.saturating_mul(2).max(1), bytes: memory / 4 / 2 / COPIES }
    }
}

/// Documents of one block.
struct Piece {
    documents: Vec<DocId>,
    bytes: u64,
}

/// The pieces of a selection.
pub(super) struct Pieces<'a> {
    view: &'a View,
    ids: Peekable<roaring::treemap::IntoIter>,
    /// The number of a block, and the lengths of its texts.
    block: Option<(u64, NumberBlock)>,
    /// Bytes of text at which a piece ends.
    most: u64,
    /// The piece that did not fit into the window before.
    over: Option<Piece>,
}

impl<'a> Pieces<'a> {
    /// Pieces that are no longer than a group of `group` bytes.
    pub fn new(view: &'a View, documents: RoaringTreemap, group: u64) -> Self {
        let ids = documents.into_iter().peekable();
        Self { view, ids, block: None, most: group.min(PIECE_BYTES), over: None }
    }

    /// The next pieces in order; none when there are no more. Fields at top level may not have the names `taken`.
    pub fn read(
        &mut self,
        table: &DocumentTable,
        taken: Option<&TakenNames>,
        window: Window,
    ) -> Result<Vec<PositionedRows>, ExportError> {
        let pieces = self.window(window)?;
        let view = self.view;
        let read = |piece: Piece| {
            let (rows, documents) = table.read(view, piece.documents)?;
            taken.map_or(Ok(()), |taken| taken.check(&rows, &documents))?;
            let behind = documents.iter().map(|document| document.0 + 1).collect();
            Ok(PositionedRows { rows, behind })
        };
        pieces.into_par_iter().map(read).collect()
    }

    fn window(&mut self, window: Window) -> Result<Vec<Piece>, ExportError> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut bytes = 0_u64;
        while pieces.len() < window.pieces {
            let Some(piece) = self.next()? else { break };
            bytes = bytes.saturating_add(piece.bytes);
            if bytes > window.bytes && !pieces.is_empty() {
                self.over = Some(piece);
                break;
            }
            pieces.push(piece);
        }
        Ok(pieces)
    }

    fn next(&mut self) -> Result<Option<Piece>, ExportError> {
        if let Some(piece) = self.over.take() {
            return Ok(Some(piece));
        }
        let Some(block) = self.ids.peek().map(|id| DocId(*id).block()) else { return Ok(None) };
        if self.block.as_ref().is_none_or(|(known, _)| *known != block) {
            self.block = Some((block, self.view.column_block(system_fields::BYTES, block)?));
        }
        let lengths = self.block.as_ref().map(|(_, lengths)| lengths);
        let mut piece = Piece { documents: Vec::new(), bytes: 0 };
        while piece.documents.len() < PIECE_DOCUMENTS
            && let Some(document) = self.ids.peek().copied().map(DocId)
            && document.block() == block
        {
            let length = lengths.and_then(|lengths| lengths.get(document.slot())).unwrap_or(0);
            let length = u64::try_from(length).unwrap_or(0);
            if !piece.documents.is_empty() && piece.bytes.saturating_add(length) > self.most {
                break;
            }
            piece.documents.push(document);
            piece.bytes = piece.bytes.saturating_add(length);
            self.ids.next();
        }
        Ok(Some(piece))
    }
}
