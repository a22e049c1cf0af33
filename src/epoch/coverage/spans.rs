//! Coverage of parts of documents: sorted segments that say which tokens are covered, and how often.

use crate::epoch::pack::{EffectiveSequence, PackPolicy, Segment};
use model::DocId;
use model::invariant::part;
use roaring::RoaringTreemap;
use std::collections::{BTreeMap, BTreeSet};

/// The most segments that are kept before adjacent ones are joined.
const UNJOINED: usize = 1 << 16;

/// Segments of documents, ascending by document and offset (24 bytes each). A token that lies in `n` of them is covered
/// `n` times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenSpans(Vec<Segment>);

impl TokenSpans {
    /// The coverage by `segments`.
    #[must_use]
    pub fn new(mut segments: Vec<Segment>) -> Self {
        segments.sort_unstable();
        Self(segments)
    }

    /// The segments, in order.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether nothing is covered.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The documents of which anything is covered.
    #[must_use]
    pub fn documents(&self) -> RoaringTreemap {
        self.0.iter().map(|segment| segment.document.0).collect()
    }

    /// The segments of one document.
    #[must_use]
    pub fn of_document(&self, document: DocId) -> &[Segment] {
        let from = self.0.partition_point(|segment| segment.document < document);
        let rest = part(&self.0, from..);
        part(rest, ..rest.partition_point(|segment| segment.document == document))
    }

    /// Covers what others cover too.
    pub fn add(&mut self, others: &Self) {
        self.0.extend_from_slice(&others.0);
        self.0.sort_unstable();
    }

    /// The segments of documents for which `keep` holds.
    #[must_use]
    pub fn filter(&self, keep: impl Fn(u64) -> bool) -> Self {
        Self(self.0.iter().filter(|segment| keep(segment.document.0)).copied().collect())
    }

    /// These tokens in segments that are as long as can be.
    #[must_use]
    pub fn joined(&self) -> Self {
        let mut joined = Vec::new();
        let mut rest = self.0.as_slice();
        while let Some(first) = rest.first() {
            let segments = of_document(&mut rest, first.document);
            let mut counts = TokenCounts::default();
            segments.iter().for_each(|segment| counts.change(segment.offset, segment.length, 1));
            joined.extend(counts.segments(first, &BTreeSet::new()));
        }
        Self(joined)
    }

    /// These tokens in segments that each fit a row of `policy`.
    #[must_use]
    pub(in crate::epoch) fn cut(&self, policy: &PackPolicy) -> Self {
        Self::new(self.0.iter().flat_map(|segment| policy.pieces(*segment)).collect())
    }

    /// These stored tokens, where a segment up to the last token of its document has the EOS too, and none is an EOS
    /// alone.
    #[must_use]
    pub(in crate::epoch) fn with_own_eos(&self, policy: &PackPolicy) -> Self {
        Self::new(self.0.iter().filter_map(|segment| policy.with_own_eos(*segment)).collect())
    }

    /// These stored tokens for documents with other special tokens; a segment of special tokens alone vanishes.
    #[must_use]
    pub fn convert(&self, from: EffectiveSequence, to: EffectiveSequence) -> Self {
        Self::new(self.0.iter().filter_map(|segment| from.convert(to, segment)).collect())
    }
}

/// Collects segments in any order and in little memory: adjacent ones are joined from time to time.
#[derive(Clone, Debug, Default)]
pub struct SpanCollector {
    segments: Vec<Segment>,
    /// Segments after which they are joined again.
    join_at: usize,
}

impl SpanCollector {
    /// Adds one.
    pub fn push(&mut self, segment: Segment) {
        self.segments.push(segment);
        if self.segments.len() > self.join_at.max(UNJOINED) {
            self.join();
            // Twice as many each time, so that all joining together is a few sorts.
            self.join_at = 2 * self.segments.len();
        }
    }

    fn join(&mut self) {
        self.segments.sort_unstable();
        self.segments.dedup_by(|next, before| {
            let touch = next.document == before.document
                && u64::from(next.offset) == u64::from(before.offset) + u64::from(before.length);
            if touch {
                before.length += next.length;
            }
            touch
        });
    }

    /// What was added.
    #[must_use]
    pub fn spans(&self) -> TokenSpans {
        let mut all = self.clone();
        all.join();
        TokenSpans(all.segments)
    }
}

/// Takes the segments of `document` from the beginning of `segments`.
pub(super) fn of_document<'a>(segments: &mut &'a [Segment], document: DocId) -> &'a [Segment] {
    let (of, rest) =
        segments.split_at(segments.partition_point(|segment| segment.document <= document));
    *segments = rest;
    of
}

/// How often each token of a document is covered, by the places where that changes.
#[derive(Default)]
pub(super) struct TokenCounts(BTreeMap<u32, i64>);

impl TokenCounts {
    /// Covers `length` tokens from `offset` on `times` times more.
    pub fn change(&mut self, offset: u32, length: u32, times: i64) {
        *self.0.entry(offset).or_default() += times;
        *self.0.entry(offset.saturating_add(length)).or_default() -= times;
    }

    /// Whether a token is covered less than never.
    pub fn is_below_zero(&self) -> bool {
        let mut times = 0;
        self.0.values().any(|change| {
            times += change;
            times < 0
        })
    }

    /// Segments that cover every token as often, each as long as can be between `cuts`: what ends last began first.
    pub fn segments(&self, like: &Segment, cuts: &BTreeSet<u32>) -> Vec<Segment> {
        let mut found = Vec::new();
        let mut open: Vec<u32> = Vec::new();
        let mut times = 0;
        for (at, change) in &self.0 {
            times += change;
            let covered = usize::try_from(times).unwrap_or(0);
            while open.len() > covered {
                let Some(from) = open.pop() else { break };
                let ends = cuts.range(from.saturating_add(1)..*at).chain([at]);
                let mut offset = from;
                for end in ends {
                    found.push(Segment { offset, length: end - offset, ..*like });
                    offset = *end;
                }
            }
            while open.len() < covered {
                open.push(*at);
            }
        }
        found.sort_unstable();
        found
    }
}
