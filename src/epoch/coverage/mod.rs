//! Coverage: how often each token of each document is in a set of rows, for instance in those still owed.
//!
//! One type says what a pass holds, what was given of it and what is left: whole documents as bitmaps of copies, others
//! as sorted segments. Pinning, remainders, the account of an epoch and `verify` all count by it.
//!
//! Given and rest together are what was due, token by token, and what is given beyond that is an error that names the
//! document; nothing depends on the order in which segments are given, nor on when they are joined. The form is
//! canonical: a document of which a part was given has all that is left of it in segments, its whole copies too; any
//! other keeps its whole copies in the bitmaps, and its segments as they are.

mod layers;
mod passes;
mod spans;
#[cfg(test)]
mod tests;

pub use layers::{CopyLayers, DocumentPasses};
pub(super) use passes::run_of;
pub use passes::{PassRun, PinnedSource, PinnedStratum};
pub use spans::{SpanCollector, TokenSpans};

use super::pack::{EffectiveSequence, PackPolicy, Segment};
use super::recipe::{LongDocuments, PackKind};
use model::DocId;
use roaring::RoaringTreemap;
use spans::{TokenCounts, of_document};
use std::collections::BTreeSet;

/// How often each token of each document is covered: by a pass, by the rows given, or by what is left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coverage {
    /// Whole documents, as often as they come.
    pub whole: CopyLayers,
    /// Parts of documents.
    pub parts: TokenSpans,
}

/// More was given of a document than is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoverageExcess {
    /// The first such document.
    pub document: u64,
}

impl Coverage {
    /// Whole documents, as often as they come, and no parts.
    #[must_use]
    pub fn whole(copies: CopyLayers) -> Self {
        Self { whole: copies, parts: TokenSpans::default() }
    }

    /// Whether it covers nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.parts.is_empty()
    }

    /// The documents of which anything is covered, each once.
    #[must_use]
    pub fn documents(&self) -> RoaringTreemap {
        let mut all = self.parts.documents();
        for layer in self.whole.layers() {
            all |= layer;
        }
        all
    }

    /// Covers what another one covers too.
    pub fn add(&mut self, other: &Self) {
        self.whole.add(&other.whole);
        self.parts.add(&other.parts);
    }

    /// The coverage of these documents alone.
    #[must_use]
    pub fn only(&self, documents: &RoaringTreemap) -> Self {
        let parts = self.parts.filter(|document| documents.contains(document));
        Self { whole: self.whole.only(documents), parts }
    }

    /// What it covers of all but these documents.
    #[must_use]
    pub fn without(&self, documents: &RoaringTreemap) -> Self {
        let parts = self.parts.filter(|document| !documents.contains(document));
        Self { whole: self.whole.without(documents), parts }
    }

    /// What is left when `given` is taken away.
    ///
    /// # Errors
    /// `CoverageExcess` when more of a document was given than is here.
    pub fn minus(&self, given: &Self, policy: &PackPolicy) -> Result<Self, CoverageExcess> {
        // Documents given in part are subtracted one by one, and so are those whose parts a whole copy stands for.
        let exceeded = self.whole.exceeded_by(&given.whole);
        let single = given.parts.documents() | &exceeded;
        let whole = match single.is_empty() {
            true => self.whole.minus(&given.whole),
            false => self.whole.without(&single).minus(&given.whole),
        };
        let mut parts = Vec::new();
        let (mut due, mut taken) = (self.parts.segments(), given.parts.segments());
        let mut singles = single.iter().peekable();
        loop {
            let next_due = due.first().map(|segment| segment.document.0);
            let next = [next_due, singles.peek().copied()].into_iter().flatten().min();
            let Some(document) = next else { break };
            let pinned = of_document(&mut due, DocId(document));
            if singles.next_if_eq(&document).is_none() {
                parts.extend_from_slice(pinned);
                continue;
            }
            let given_parts = of_document(&mut taken, DocId(document));
            let copies = (self.whole.copies(document), given.whole.copies(document));
            parts.extend(
                left_of_document((pinned, given_parts), copies, policy)
                    .ok_or(CoverageExcess { document })?,
            );
        }
        Ok(Self { whole, parts: TokenSpans::new(parts) })
    }

    /// This coverage as rows of `policy` take it: segments are as long as can be and cut where a row is full, unless
    /// they are cut at paragraphs.
    #[must_use]
    pub fn cut(mut self, policy: &PackPolicy) -> Self {
        if policy.cut_eos {
            self.parts = self.parts.with_own_eos(policy);
        }
        if policy.long != LongDocuments::Paragraph {
            self.parts = self.parts.joined();
        }
        if policy.kind != PackKind::Concat {
            self.parts = self.parts.cut(policy);
        }
        self
    }

    /// This coverage for documents with other special tokens: the stored tokens stay.
    #[must_use]
    pub fn convert(mut self, from: EffectiveSequence, to: EffectiveSequence) -> Self {
        if from != to {
            self.parts = self.parts.convert(from, to);
        }
        self
    }
}

/// What is left of a document of which `due` segments and whole copies are there, and others given; none when more was
/// given than there is.
fn left_of_document(
    (due, given): (&[Segment], &[Segment]),
    (due_copies, given_copies): (usize, usize),
    policy: &PackPolicy,
) -> Option<Vec<Segment>> {
    let like = given.last().or(due.last())?;
    let packed = policy.packed(like.document_length);
    let mut counts = TokenCounts::default();
    due.iter().for_each(|segment| counts.change(segment.offset, segment.length, 1));
    given.iter().for_each(|segment| counts.change(segment.offset, segment.length, -1));
    for _ in 0..due_copies {
        counts.change(0, packed, 1);
    }
    for _ in 0..given_copies {
        counts.change(0, packed, -1);
    }
    if counts.is_below_zero() {
        return None;
    }
    let cuts: BTreeSet<u32> =
        due.iter().flat_map(|segment| [segment.offset, segment.offset + segment.length]).collect();
    Some(counts.segments(like, &cuts))
}

/// Collects segments that are given, in any order.
#[derive(Clone, Debug, Default)]
pub struct CoverageCollector {
    whole: CopyLayers,
    parts: SpanCollector,
}

impl CoverageCollector {
    /// Counts a segment of a row: its tokens of the document.
    pub fn add(&mut self, segment: &Segment, policy: &PackPolicy) {
        let part = policy.of_document(*segment);
        if part.offset == 0 && part.length == policy.packed(part.document_length) {
            self.whole.insert(part.document.0);
        } else {
            self.parts.push(part);
        }
    }

    /// What was given.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        Coverage { whole: self.whole.clone(), parts: self.parts.spans() }
    }
}
