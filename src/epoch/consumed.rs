//! What of a pool has come in a pass, and what of it is still to come.
//!
//! Documents of which only whole copies came are told by bitmaps; the others one by one, by how often
//! each of their tokens is still to come.

use super::pack::{Fragment, Policy, Segment};
use super::pinned::PinnedPool;
use crate::model::DocId;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// What of a source has come in a pass.
#[derive(Clone, Default)]
pub(super) struct Consumed {
    /// Layer `k`: documents of which more than `k` whole copies came.
    whole: Vec<RoaringTreemap>,
    /// Documents that came in parts, at least once.
    parts: BTreeMap<u64, Parts>,
}

#[derive(Clone, Default)]
struct Parts {
    document_length: u32,
    /// (offset, tokens)
    ranges: Vec<(u32, u32)>,
}

/// What is still to come.
#[derive(Default)]
pub(super) struct Left {
    /// Layer `k`: documents of which more than `k` whole copies are to come.
    pub layers: Vec<RoaringTreemap>,
    /// Parts of others.
    pub parts: Vec<Fragment>,
    /// Documents of which more came than the pool holds.
    pub beyond: RoaringTreemap,
}

impl Left {
    /// A document of which anything is still to come, and how many there are.
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
    pub fn add(&mut self, segment: &Segment, policy: &Policy) {
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
        let parts = self.parts.entry(document).or_default();
        parts.document_length = segment.document_length;
        parts.ranges.push((segment.offset, segment.length));
    }

    /// What of `pool` is still to come. Of other pools of the same pass nothing is told.
    pub fn left(&self, pool: &PinnedPool, policy: &Policy) -> Left {
        let mut left = Left::default();
        // Told one by one: what came in part, and what is pinned in parts.
        let mut single: RoaringTreemap = self.parts.keys().collect();
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

    fn left_of_single(&self, pool: &PinnedPool, policy: &Policy, left: &mut Left) {
        let mut due: BTreeMap<u64, (u32, Coverage)> = BTreeMap::new();
        for part in &pool.fragments {
            let (length, coverage) = due.entry(part.document.0).or_default();
            *length = part.document_length;
            coverage.change(part.offset, part.length, 1);
        }
        for (document, parts) in &self.parts {
            let copies = pool.layers.iter().filter(|layer| layer.contains(*document)).count();
            if copies == 0 && !due.contains_key(document) {
                // It is of another pool.
                continue;
            }
            let (length, coverage) = due.entry(*document).or_default();
            *length = parts.document_length;
            for _ in 0..copies {
                coverage.change(0, policy.packed(parts.document_length), 1);
            }
            for (offset, tokens) in &parts.ranges {
                coverage.change(*offset, *tokens, -1);
            }
        }
        for (document, (document_length, mut coverage)) in due {
            for _ in self.whole.iter().filter(|layer| layer.contains(document)) {
                coverage.change(0, policy.packed(document_length), -1);
            }
            if coverage.is_below_zero() {
                left.beyond.insert(document);
            }
            for (offset, length) in coverage.ranges() {
                let document = DocId(document);
                left.parts.push(Fragment { document, offset, length, document_length });
            }
        }
    }

    /// Those of `among` of which exactly `times` whole copies came.
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

    #[test]
    fn what_is_left_of_a_document_comes_in_the_longest_ranges() {
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
