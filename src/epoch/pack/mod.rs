//! Packing: how documents become rows. Works on lengths only; knows no store and no token ids.
//!
//! `policy` says how many tokens of a document are packed and how it is cut; `items` turns a
//! histogram of lengths into items by size; `best_fit` packs items by the bulk; `cut` walks documents
//! in order and cuts rows (greedy, concat, none).

mod best_fit;
mod cut;
mod items;
mod policy;

pub use best_fit::{RowPattern, RowPatterns};
pub use cut::RowCutter;
pub use items::{PackItem, PackItems};
pub use policy::{PackLosses, PackPolicy};

/// Documents by effective length (tokens with BOS and EOS).
pub type LengthHistogram = std::collections::BTreeMap<u32, u64>;

/// A document or a fragment of one inside a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segment {
    /// The document that it is cut from.
    pub document: crate::model::DocId,
    /// First token of the segment within the document's effective sequence.
    pub offset: u32,
    /// Tokens of the segment, at least 1.
    pub length: u32,
    /// Length of the document's effective sequence, whether packed whole or not.
    pub document_length: u32,
}

/// The segments of a row without the `repeated` tokens it begins with, which the row before has too.
pub fn own(segments: &[Segment], repeated: u32) -> impl Iterator<Item = Segment> + '_ {
    segments.iter().enumerate().filter_map(move |(at, segment)| {
        let skipped = if at == 0 { repeated.min(segment.length) } else { 0 };
        let (offset, length) = (segment.offset + skipped, segment.length - skipped);
        (length > 0).then_some(Segment { offset, length, ..*segment })
    })
}

/// A part of a document, packed without being cut unless rows are shorter than it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fragment {
    /// The document that it is a part of.
    pub document: crate::model::DocId,
    /// First token within the document's effective sequence.
    pub offset: u32,
    /// How many tokens it has.
    pub length: u32,
    /// Tokens of the document's effective sequence.
    pub document_length: u32,
}

impl Fragment {
    /// Cut into parts of `capacity` tokens and a rest.
    pub fn cut(self, capacity: u32) -> impl Iterator<Item = Self> {
        let mut placed = 0;
        std::iter::from_fn(move || {
            let length = (self.length - placed).min(capacity);
            let part = Self { offset: self.offset + placed, length, ..self };
            placed += length;
            (length > 0).then_some(part)
        })
    }

    /// As a segment of a row.
    #[must_use]
    pub const fn segment(&self) -> Segment {
        Segment {
            document: self.document,
            offset: self.offset,
            length: self.length,
            document_length: self.document_length,
        }
    }
}
