//! Packing: how documents become rows, by their lengths alone, without a store and without token ids.
//!
//! `policy` says how many tokens of a document are packed and how it is cut; `items` turns a
//! histogram of lengths into items by size; `best_fit` packs items by the bulk, `limited` where a row may have a number
//! of segments at most; `cut` walks documents in order and cuts rows (greedy, concat, none).

mod best_fit;
mod cut;
mod items;
mod limited;
mod policy;

pub use best_fit::{RowPattern, RowPatterns};
pub use cut::RowCutter;
pub use items::{PackItem, PackItems};
pub use policy::{PackLosses, PackPolicy};

use crate::epoch::recipe::SpecialIds;
use model::DocId;

impl RowPatterns {
    /// Packs `items`, given as (size, count) with the largest size first, into rows of `capacity`, with `most` items a
    /// row at most; where none would have more, the limit changes nothing. Sizes are in `1..=capacity`.
    #[must_use]
    pub fn pack(
        items: impl Iterator<Item = (u32, u64)> + Clone,
        capacity: u32,
        most: Option<u32>,
    ) -> Self {
        let free = Self::best_fit(items.clone(), capacity);
        let is_over =
            |most: &u32| free.patterns().iter().any(|found| found.segments() > *most as usize);
        match most.filter(is_over) {
            Some(most) => {
                let items = items.filter(|(size, n)| (1..=capacity).contains(size) && *n > 0);
                Self::of(limited::pack(&items.collect(), capacity, most))
            }
            None => free,
        }
    }
}

/// Documents by effective length (tokens with BOS and EOS).
pub type LengthHistogram = std::collections::BTreeMap<u32, u64>;

/// A document or a part of one: in a row, or among what a pass holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segment {
    /// The document that it is cut from.
    pub document: DocId,
    /// First token of the segment within the document's effective sequence.
    pub offset: u32,
    /// Tokens of the segment, at least 1. In a row of a plan with `pack.cut_eos` the last one is EOS, where the document
    /// goes on too: what it has at that place begins its next part.
    pub length: u32,
    /// Length of the document's effective sequence, whether packed whole or not.
    pub document_length: u32,
}

/// The segments of a row without the `repeated` tokens it begins with, which the row before has too.
pub fn without_repeated(segments: &[Segment], repeated: u32) -> impl Iterator<Item = Segment> + '_ {
    segments.iter().enumerate().filter_map(move |(at, segment)| {
        let skipped = if at == 0 { repeated.min(segment.length) } else { 0 };
        let (offset, length) = (segment.offset + skipped, segment.length - skipped);
        (length > 0).then_some(Segment { offset, length, ..*segment })
    })
}

impl Segment {
    /// Whether it ends with an EOS behind which its document goes on, where parts of documents do.
    #[must_use]
    pub(in crate::epoch) const fn adds_eos(&self, cut_eos: bool) -> bool {
        cut_eos && self.end() < self.document_length
    }

    /// The token behind its last one, within the document's effective sequence.
    #[must_use]
    pub const fn end(&self) -> u32 {
        self.offset.saturating_add(self.length)
    }
}

/// What rows hold of a document: BOS where there is one, its stored tokens, EOS where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveSequence {
    /// Whether documents begin with BOS.
    pub bos: bool,
    /// Whether documents end with EOS.
    pub eos: bool,
}

impl EffectiveSequence {
    /// The effective sequence of documents with these special tokens.
    #[must_use]
    pub(in crate::epoch) const fn of(specials: &SpecialIds) -> Self {
        Self { bos: specials.bos.is_some(), eos: specials.eos.is_some() }
    }

    /// Tokens added to every document.
    #[must_use]
    pub const fn overhead(self) -> u32 {
        self.bos as u32 + self.eos as u32
    }

    /// The stored tokens of a segment: the first one, and the one behind the last. An EOS at a cut (`pack.cut_eos`) counts
    /// as the token of the document that its place has.
    #[must_use]
    pub fn stored(self, segment: &Segment) -> (u32, u32) {
        let tokens = segment.document_length.saturating_sub(self.overhead());
        let stored = |at: u32| at.saturating_sub(u32::from(self.bos)).min(tokens);
        (stored(segment.offset), stored(segment.end()))
    }

    /// Converts a segment to documents with other special tokens, with the same stored tokens: what begins its
    /// document begins with the new BOS, what ends it with the new EOS. None of a segment without a stored token.
    #[must_use]
    pub fn convert(self, to: Self, segment: &Segment) -> Option<Segment> {
        let (first, end) = self.stored(segment);
        if first == end {
            return None;
        }
        let tokens = segment.document_length.saturating_sub(self.overhead());
        let bos = u32::from(to.bos);
        let offset = if segment.offset == 0 { 0 } else { first + bos };
        let end = end + bos + u32::from(to.eos && end == tokens);
        let document_length = tokens + to.overhead();
        Some(Segment { offset, length: end - offset, document_length, ..*segment })
    }
}
