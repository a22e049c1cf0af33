//! The exact overlap of two texts, which alone decides whether they are similar.

use crate::dedup::{Fingerprinter, reaches, shared};
use crate::model::{Policy, jaccard};

/// The overlap of the shingle sets of two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Distinct shingles that both have.
    pub shared: u32,
    /// Distinct shingles of the first.
    pub left: u32,
    /// Distinct shingles of the second.
    pub right: u32,
}

impl Overlap {
    /// The overlap of two sets of shingles.
    #[must_use]
    pub(super) fn of(left: &[u64], right: &[u64]) -> Self {
        let count = |shingles: &[u64]| u32::try_from(shingles.len()).unwrap_or(u32::MAX);
        Self { shared: shared(left, right), left: count(left), right: count(right) }
    }

    /// The overlap of two equal sets.
    #[must_use]
    pub const fn whole(shingles: u32) -> Self {
        Self { shared: shingles, left: shingles, right: shingles }
    }

    /// The same overlap, seen from the second.
    #[must_use]
    pub const fn turned(self) -> Self {
        Self { shared: self.shared, left: self.right, right: self.left }
    }

    /// Whether it reaches a threshold: the comparison by which a corpus decides.
    #[must_use]
    pub fn reaches(self, threshold: f64) -> bool {
        let [shared, left, right] = [self.shared, self.left, self.right]
            .map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        reaches(shared, left, right, threshold)
    }

    /// Exact Jaccard similarity, as a corpus shows it.
    #[must_use]
    pub fn jaccard(self) -> f64 {
        jaccard(self.shared, self.left, self.right)
    }
}

/// Compares texts under one policy. Remembers the first text of the last pair, so that pairs sorted by it cost less.
#[derive(Clone, Debug)]
pub struct Overlaps {
    craft: Fingerprinter,
    last: Option<(String, Vec<u64>)>,
}

impl Overlaps {
    /// For texts under this policy.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        Self { craft: Fingerprinter::new(policy), last: None }
    }

    /// The overlap of two texts.
    pub fn of(&mut self, left: &str, right: &str) -> Overlap {
        let own = match self.last.take() {
            Some(last) if last.0 == left => last,
            _ => (left.to_owned(), self.craft.shingles(left)),
        };
        let other = self.craft.shingles(right);
        let overlap = Overlap::of(&own.1, &other);
        self.last = Some(own);
        overlap
    }
}
