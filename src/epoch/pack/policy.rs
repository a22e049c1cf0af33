//! The packing policy: how many tokens of a document are packed, and where it is cut.

use super::{LengthHistogram, Segment};
use crate::epoch::recipe::{LongDocuments, PackKind};
use model::is_zero;
use serde::{Deserialize, Serialize};

/// The packing rules of one source. Lengths are effective: BOS + stored tokens + EOS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackPolicy {
    /// The way of packing.
    pub kind: PackKind,
    /// Tokens a row holds.
    pub capacity: u32,
    /// What happens to documents longer than a row.
    pub long: LongDocuments,
    /// Whether documents begin with BOS.
    pub bos: bool,
    /// Whether documents end with EOS.
    pub eos: bool,
    /// Documents and fragments take up multiples of this; it divides the capacity.
    pub multiple: u32,
    /// Rows of `concat` begin with the last token of the row before.
    pub overlap: bool,
    /// What fills no row of `concat` at the end of a pass is left out.
    pub whole_rows: bool,
    /// A part of a document behind which it goes on ends with an EOS of its own: the row has a token more of it.
    pub cut_eos: bool,
    /// Segments of a row, at most.
    pub most_segments: Option<u32>,
}

/// What the rules leave out of one pass over a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PackLosses {
    /// Documents left out because they are longer than a row.
    pub dropped_documents: u64,
    /// Their effective tokens.
    pub dropped_tokens: u64,
    /// Documents cut to the head that fits a row.
    pub truncated_documents: u64,
    /// Effective tokens cut off, the EOS among them.
    pub truncated_tokens: u64,
    /// Tails that held nothing but an EOS, left out.
    pub lone_eos: u64,
    /// Tokens at the end of the pass that do not fill a row and are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub partial_tokens: u64,
}

impl PackPolicy {
    /// Tokens added to every document.
    #[must_use]
    pub const fn overhead(&self) -> u32 {
        self.bos as u32 + self.eos as u32
    }

    /// Tokens packed of a document of effective `length`: a prefix of its sequence, maybe all or none.
    #[must_use]
    pub fn packed(&self, length: u32) -> u32 {
        if length <= self.capacity {
            return length;
        }
        match self.long {
            LongDocuments::Drop => 0,
            LongDocuments::Truncate => self.step(),
            // `concat` cuts anywhere and the EOS is what separates documents there: it stays. Where parts end with EOS
            // none of them is one alone.
            LongDocuments::Split | LongDocuments::Paragraph => {
                let may_be_alone = self.eos && !self.cut_eos && self.kind != PackKind::Concat;
                let lone_eos = may_be_alone && length % self.capacity == 1;
                length - u32::from(lone_eos)
            }
        }
    }

    /// Whether a row with `segments` segments takes no more.
    #[must_use]
    pub fn is_full(&self, segments: usize) -> bool {
        self.most_segments.is_some_and(|most| segments >= most as usize)
    }

    /// Whether a row with `segments` segments in `places` places is full by segments alone; not where a row is a
    /// document.
    #[must_use]
    pub fn is_full_by_segments(&self, segments: usize, places: u32) -> bool {
        self.kind != PackKind::None && self.is_full(segments) && places < self.capacity
    }

    /// Tokens of a document in a row that it fills and goes on behind.
    #[must_use]
    pub const fn step(&self) -> u32 {
        self.capacity.saturating_sub(self.cut_eos as u32)
    }

    /// Rows that a whole document of effective `length` fills and goes on behind, each with [`PackPolicy::step`] of its
    /// tokens, and what the row of the rest has of it; not for `concat`, which cuts where a row ends.
    #[must_use]
    pub fn full_rows(&self, length: u32) -> (u32, u32) {
        let packed = self.packed(length);
        let step = self.step().max(1);
        if !self.cut_eos {
            return (packed / step, packed % step);
        }
        if packed < length {
            return (u32::from(packed > 0), 0);
        }
        // The last part ends with the EOS of the document: a row holds a token more of it than of the others.
        let full = packed.saturating_sub(1).div_ceil(step).saturating_sub(1);
        (full, packed - full * step)
    }

    /// A part of a document as a row has it: where the document goes on behind it, with a place for the EOS.
    #[must_use]
    pub const fn in_row(&self, part: Segment) -> Segment {
        let ends = part.offset + part.length >= part.document_length;
        let length = part.length + (self.cut_eos && !ends) as u32;
        Segment { length, ..part }
    }

    /// The tokens of its document in a segment of a row: without an EOS behind which the document goes on.
    #[must_use]
    pub const fn of_document(&self, segment: Segment) -> Segment {
        let length = segment.length.saturating_sub(self.adds_eos(&segment) as u32);
        Segment { length, ..segment }
    }

    /// Whether a segment of a row ends with an EOS behind which its document goes on.
    #[must_use]
    pub const fn adds_eos(&self, segment: &Segment) -> bool {
        segment.adds_eos(self.cut_eos)
    }

    /// A part of a document cut into parts of which each fits a row.
    pub fn pieces(&self, part: Segment) -> impl Iterator<Item = Segment> {
        let policy = *self;
        let mut rest = (part.length > 0).then_some(part);
        std::iter::from_fn(move || {
            let part = rest.take()?;
            if policy.in_row(part).length <= policy.capacity {
                return Some(part);
            }
            let length = policy.step().max(1);
            let (offset, left) = (part.offset + length, part.length - length);
            rest = (left > 0).then_some(Segment { offset, length: left, ..part });
            Some(Segment { length, ..part })
        })
    }

    /// A part of a document as it may be cut: one that lacks nothing of the document but its EOS gets it, where parts
    /// end with EOS. None where the EOS is all of it.
    #[must_use]
    pub fn with_own_eos(&self, part: Segment) -> Option<Segment> {
        if !self.cut_eos || part.offset + part.length + 1 < part.document_length {
            return Some(part);
        }
        let length = part.document_length - part.offset;
        (length > 1).then_some(Segment { length, ..part })
    }

    /// Places that `tokens` tokens of a document take up in a row.
    #[must_use]
    pub const fn slot(&self, tokens: u32) -> u32 {
        tokens.next_multiple_of(self.multiple)
    }

    /// Tokens at the end of a pass of `tokens` tokens that fill no row, where such tokens are left out.
    #[must_use]
    pub fn partial(&self, tokens: u64) -> u64 {
        let capacity = u64::from(self.capacity.max(1));
        match (self.whole_rows, self.overlap) {
            (false, _) => 0,
            (true, false) => tokens % capacity,
            // The first row has all its tokens for itself, each other one all but the first.
            (true, true) if tokens < capacity => tokens,
            (true, true) => (tokens - 1) % (capacity - 1).max(1),
        }
    }

    /// Tokens that rows have of a whole document of effective `length`; with `concat` only the document's own, since
    /// the rows decide how many EOS are added.
    #[must_use]
    pub fn row_tokens(&self, length: u32) -> u64 {
        if self.kind == PackKind::Concat {
            return self.packed(length).into();
        }
        let (full, rest) = self.full_rows(length);
        u64::from(full) * u64::from(self.capacity) + u64::from(rest)
    }

    /// Tokens that rows have of a part of a document, as [`PackPolicy::row_tokens`].
    #[must_use]
    pub fn part_tokens(&self, part: &Segment) -> u64 {
        let in_row = if self.kind == PackKind::Concat { *part } else { self.in_row(*part) };
        in_row.length.into()
    }

    /// [`PackPolicy::row_tokens`] of the documents of one pass.
    #[must_use]
    pub fn packed_tokens(&self, histogram: &LengthHistogram) -> u64 {
        histogram.iter().map(|(length, documents)| self.row_tokens(*length) * documents).sum()
    }

    /// What one pass leaves out.
    #[must_use]
    pub fn losses(&self, histogram: &LengthHistogram) -> PackLosses {
        let mut losses = PackLosses::default();
        for (length, documents) in histogram.range(self.capacity.saturating_add(1)..) {
            let lost = u64::from(*length - self.packed(*length)) * documents;
            match self.long {
                LongDocuments::Drop => {
                    losses.dropped_documents += documents;
                    losses.dropped_tokens += lost;
                }
                LongDocuments::Truncate => {
                    losses.truncated_documents += documents;
                    losses.truncated_tokens += lost;
                }
                LongDocuments::Split | LongDocuments::Paragraph => losses.lone_eos += lost,
            }
        }
        losses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::DocId;

    fn policy(long: LongDocuments, kind: PackKind) -> PackPolicy {
        PackPolicy {
            kind,
            capacity: 8,
            long,
            bos: true,
            eos: true,
            multiple: 1,
            overlap: false,
            whole_rows: false,
            cut_eos: false,
            most_segments: None,
        }
    }

    /// Every part but the last one ends with an EOS of its own, and none is an EOS alone.
    #[test]
    fn parts_that_end_with_eos_fit_rows_and_hold_the_document() {
        let policy =
            PackPolicy { cut_eos: true, ..policy(LongDocuments::Split, PackKind::BestFit) };
        assert_eq!(
            [8, 9, 15, 16, 22, 23].map(|n| policy.full_rows(n)),
            [(0, 8), (1, 2), (1, 8), (2, 2), (2, 8), (3, 2)]
        );
        for length in 1..60 {
            let whole = Segment { document: DocId(1), offset: 0, length, document_length: length };
            let pieces: Vec<Segment> = policy.pieces(whole).collect();
            let in_rows: Vec<Segment> = pieces.iter().map(|part| policy.in_row(*part)).collect();
            let (full, rest) = policy.full_rows(length);
            let mut lengths = vec![8; full as usize];
            lengths.push(rest);
            assert!(in_rows.iter().map(|part| part.length).eq(lengths), "{in_rows:?}");
            assert!(in_rows.iter().map(|part| policy.of_document(*part)).eq(pieces.clone()));
            assert_eq!(pieces.iter().map(|part| part.length).sum::<u32>(), length);
            let tokens: u32 = in_rows.iter().map(|part| part.length).sum();
            assert_eq!(policy.row_tokens(length), u64::from(tokens));
            assert_eq!(tokens - length, full);
            assert!(length < 2 || pieces.iter().all(|part| part.length > 1 || part.end() < length));
        }
        let truncate = PackPolicy { long: LongDocuments::Truncate, ..policy };
        assert_eq!(
            [8, 9, 30].map(|n| (truncate.packed(n), truncate.full_rows(n))),
            [(8, (0, 8)), (7, (1, 0)), (7, (1, 0))]
        );
        assert_eq!(truncate.losses(&LengthHistogram::from([(9, 3)])).truncated_tokens, 6);
    }

    #[test]
    fn long_documents_follow_the_policy() {
        let split = policy(LongDocuments::Split, PackKind::BestFit);
        assert_eq!([7, 8, 9, 10, 16, 17, 18].map(|n| split.packed(n)), [7, 8, 8, 10, 16, 16, 18]);
        assert_eq!(policy(LongDocuments::Split, PackKind::Concat).packed(17), 17);
        assert_eq!(policy(LongDocuments::Truncate, PackKind::Greedy).packed(17), 8);
        assert_eq!(policy(LongDocuments::Drop, PackKind::None).packed(17), 0);
    }

    #[test]
    fn losses_add_up() {
        let histogram = LengthHistogram::from([(8, 5), (9, 3), (20, 2)]);
        let total: u64 = histogram.iter().map(|(length, n)| u64::from(*length) * n).sum();
        for long in [LongDocuments::Split, LongDocuments::Truncate, LongDocuments::Drop] {
            let policy = policy(long, PackKind::BestFit);
            let lost = policy.losses(&histogram);
            assert_eq!(
                policy.packed_tokens(&histogram)
                    + lost.dropped_tokens
                    + lost.truncated_tokens
                    + lost.lone_eos,
                total
            );
        }
        assert_eq!(policy(LongDocuments::Split, PackKind::BestFit).losses(&histogram).lone_eos, 3);
    }
}
