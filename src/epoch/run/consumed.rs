//! What of a pool has come in a pass, and what of it is still to come.
//!
//! Documents with only whole copies consumed are in bitmaps; the others are listed one by one, with the parts that came
//! of them (24 bytes each, parts that touch being one), and how often each of their tokens is still to come.

use crate::epoch::pack::{Fragment, PackPolicy, Segment};
use crate::epoch::plan::PinnedPool;
use crate::model::DocId;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// Parts that are kept before those that touch are made one.
const UNJOINED: usize = 1 << 16;

/// What of a source has come in a pass.
#[derive(Clone, Default)]
pub(in crate::epoch) struct Consumed {
    /// Layer `k`: documents with more than `k` whole copies consumed.
    whole: Vec<RoaringTreemap>,
    /// Parts of documents that came in parts, at least once.
    parts: Vec<Fragment>,
    /// Parts after which they are joined again.
    join_at: usize,
}

/// What is still to come.
#[derive(Default)]
pub(in crate::epoch) struct Left {
    /// Layer `k`: documents with more than `k` whole copies to come.
    pub layers: Vec<RoaringTreemap>,
    /// Parts of others.
    pub parts: Vec<Fragment>,
    /// Documents consumed more often than the pool has them.
    pub beyond: RoaringTreemap,
}

impl Left {
    /// A document with tokens still to come, and how many such documents there are.
    pub fn missing(&self) -> Option<(u64, u64)> {
        let mut all: RoaringTreemap = self.parts.iter().map(|part| part.document.0).collect();
        for layer in &self.layers {
            all |= layer;
        }
        all.min().map(|first| (first, all.len()))
    }
}

impl Consumed {
    /// Counts a segment.
    pub fn add(&mut self, segment: &Segment, policy: &PackPolicy) {
        let document = segment.document.0;
        if segment.offset == 0 && segment.length == policy.packed(segment.document_length) {
            for layer in &mut self.whole {
                if layer.insert(document) {
                    return;
                }
            }
            self.whole.push([document].into_iter().collect());
            return;
        }
        self.parts.push(Fragment {
            document: segment.document,
            offset: segment.offset,
            length: segment.length,
            document_length: segment.document_length,
        });
        if self.parts.len() > self.join_at.max(UNJOINED) {
            self.join();
            // Twice as many each time, so that all joining together is a few sorts.
            self.join_at = 2 * self.parts.len();
        }
    }

    /// Sorts parts, and makes one of those that touch.
    fn join(&mut self) {
        self.parts.sort_unstable();
        self.parts.dedup_by(|next, before| {
            let touch = next.document == before.document
                && u64::from(next.offset) == u64::from(before.offset) + u64::from(before.length);
            if touch {
                before.length += next.length;
            }
            touch
        });
    }

    /// What is still to come of `pool`, without other pools of the same pass.
    pub fn left(&mut self, pool: &PinnedPool, policy: &PackPolicy) -> Left {
        self.join();
        let mut left = Left::default();
        // Told one by one: what came in part, and what is pinned in parts.
        let mut single: RoaringTreemap = self.parts.iter().map(|part| part.document.0).collect();
        single.extend(pool.fragments.iter().map(|part| part.document.0));
        let Some(all) = pool.layers.first() else {
            self.left_of_single(pool, policy, &mut left);
            return left;
        };
        for k in 0..pool.layers.len() {
            // Of a document with c copies consumed, layer k + c becomes layer k.
            let mut layer = RoaringTreemap::new();
            for (c, above) in pool.layers.iter().skip(k).enumerate() {
                layer |= (above & self.exactly(c, all)) - &single;
            }
            left.layers.push(layer);
        }
        // Beyond: more copies came than there are layers that hold the document.
        for (c, came) in self.whole.iter().enumerate() {
            let more = (came & all) - &single;
            left.beyond |= match pool.layers.get(c) {
                Some(layer) => more - layer,
                None => more,
            };
        }
        self.left_of_single(pool, policy, &mut left);
        left
    }

    /// Document by document, ascending: `parts` are sorted, and so is what a pool has.
    fn left_of_single(&self, pool: &PinnedPool, policy: &PackPolicy, left: &mut Left) {
        let (mut due, mut came) = (pool.fragments.as_slice(), self.parts.as_slice());
        loop {
            let next = [due.first(), came.first()].into_iter().flatten();
            let Some(document) = next.map(|part| part.document).min() else { return };
            let (pinned, parts) =
                (of_document(&mut due, document), of_document(&mut came, document));
            let copies = pool.layers.iter().filter(|layer| layer.contains(document.0)).count();
            if pinned.is_empty() && copies == 0 {
                // It is of another pool.
                continue;
            }
            let Some(document_length) = parts.last().or(pinned.last()).map(|of| of.document_length)
            else {
                continue;
            };
            let mut coverage = Coverage::default();
            pinned.iter().for_each(|part| coverage.change(part.offset, part.length, 1));
            if !parts.is_empty() {
                for _ in 0..copies {
                    coverage.change(0, policy.packed(document_length), 1);
                }
            }
            parts.iter().for_each(|part| coverage.change(part.offset, part.length, -1));
            for _ in self.whole.iter().filter(|layer| layer.contains(document.0)) {
                coverage.change(0, policy.packed(document_length), -1);
            }
            if coverage.is_below_zero() {
                left.beyond.insert(document.0);
            }
            let ranges = coverage.ranges().into_iter();
            left.parts.extend(ranges.map(|(offset, length)| Fragment {
                document,
                offset,
                length,
                document_length,
            }));
        }
    }

    /// The documents of `among` with exactly `times` whole copies consumed.
    fn exactly(&self, times: usize, among: &RoaringTreemap) -> RoaringTreemap {
        let mut found = match times.checked_sub(1) {
            None => among.clone(),
            Some(below) => match self.whole.get(below) {
                Some(layer) => among & layer,
                None => return RoaringTreemap::new(),
            },
        };
        if let Some(more) = self.whole.get(times) {
            found -= more;
        }
        found
    }
}

/// Takes the parts of `document` from the beginning of `parts`.
fn of_document<'a>(parts: &mut &'a [Fragment], document: DocId) -> &'a [Fragment] {
    let (of, rest) = parts.split_at(parts.partition_point(|part| part.document <= document));
    *parts = rest;
    of
}

/// How often each token of a document is still to come, by the places where that changes.
#[derive(Default)]
struct Coverage(BTreeMap<u32, i64>);

impl Coverage {
    fn change(&mut self, offset: u32, length: u32, by: i64) {
        *self.0.entry(offset).or_default() += by;
        *self.0.entry(offset.saturating_add(length)).or_default() -= by;
    }

    fn is_below_zero(&self) -> bool {
        let mut times = 0;
        self.0.values().any(|change| {
            times += change;
            times < 0
        })
    }

    /// Ranges (offset, length) that cover every token as often as it is to come, each as long as can be.
    fn ranges(&self) -> Vec<(u32, u32)> {
        let mut ranges = Vec::new();
        let mut open: Vec<u32> = Vec::new();
        let mut times = 0;
        for (at, change) in &self.0 {
            times += change;
            let wanted = usize::try_from(times).unwrap_or(0);
            while open.len() > wanted {
                if let Some(from) = open.pop() {
                    ranges.push((from, at - from));
                }
            }
            while open.len() < wanted {
                open.push(*at);
            }
        }
        ranges.sort_unstable();
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::recipe::LongDocuments;
    use crate::epoch::recipe::PackKind;

    /// A document that was cut took about 110 bytes for as long as its pass.
    #[test]
    fn parts_that_touch_are_kept_as_one() {
        let policy = PackPolicy {
            kind: PackKind::Concat,
            capacity: 8,
            long: LongDocuments::Split,
            bos: false,
            eos: false,
            multiple: 1,
            overlap: false,
            whole_rows: false,
        };
        let documents = 3 * UNJOINED as u64 / 2;
        let mut consumed = Consumed::default();
        for (offset, length) in [(0, 4), (8, 2), (4, 4)] {
            for document in (0..documents).map(DocId) {
                let document_length = 12;
                consumed.add(&Segment { document, offset, length, document_length }, &policy);
            }
        }
        assert!(
            consumed.parts.capacity() <= 8 * documents as usize,
            "{}",
            consumed.parts.capacity()
        );
        let layer: RoaringTreemap = (0..documents + 1).collect();
        let pool = PinnedPool { layers: vec![layer], fragments: Vec::new() };
        let left = consumed.left(&pool, &policy);
        assert_eq!(consumed.parts.len() as u64, documents);
        let last = |document| Fragment {
            document: DocId(document),
            offset: 10,
            length: 2,
            document_length: 12,
        };
        assert!(left.parts.into_iter().eq((0..documents).map(last)));
        assert!(left.beyond.is_empty());
        assert_eq!(left.layers, [[documents].into_iter().collect::<RoaringTreemap>()]);
    }

    #[test]
    fn the_rest_of_a_document_comes_in_the_longest_ranges() {
        let mut coverage = Coverage::default();
        coverage.change(0, 100, 2);
        for (offset, length) in [(0, 10), (20, 10), (90, 10)] {
            coverage.change(offset, length, -1);
        }
        // Once everything, and once more what did not come.
        assert_eq!(coverage.ranges(), [(0, 100), (10, 10), (30, 60)]);
        coverage.change(0, 100, -1);
        assert_eq!(coverage.ranges(), [(10, 10), (30, 60)]);
    }
}
