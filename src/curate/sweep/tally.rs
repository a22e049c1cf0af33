//! Counts what a sweep removes at one threshold.

use super::{SimilarityQuartiles, SweepLine, SweepRemovals};
use model::{Policy, show};

/// What is removed at one threshold, with verification and without.
#[derive(Clone, Debug, Default)]
pub(super) struct SweepTally {
    pub(super) verified: RemovalTally,
    pub(super) unverified: RemovalTally,
    /// Documents removed without verification that are less similar than the threshold.
    pub(super) below: u64,
}

/// What one mode removes.
#[derive(Clone, Debug, Default)]
pub(super) struct RemovalTally {
    removed: u64,
    equal: u64,
    clusters: u64,
    largest: u64,
    /// Of removed documents, but for equal ones.
    similarities: Vec<f64>,
}

impl RemovalTally {
    /// Documents of one text, of which the first is kept.
    pub(super) const fn add_equal(&mut self, copies: u64) {
        let others = copies.saturating_sub(1);
        self.removed += others;
        self.equal += others;
    }

    /// Documents of one text that are removed with this similarity.
    pub(super) fn add_near(&mut self, copies: u32, similarity: f64) {
        self.removed += u64::from(copies);
        self.similarities.extend((0..copies).map(|_| similarity));
    }

    /// A kept document with those in whose place it is kept, if there are any.
    pub(super) fn add_cluster(&mut self, documents: u64) {
        if documents > 1 {
            self.clusters += 1;
            self.largest = self.largest.max(documents);
        }
    }

    fn add(&mut self, other: Self) {
        self.removed += other.removed;
        self.equal += other.equal;
        self.clusters += other.clusters;
        self.largest = self.largest.max(other.largest);
        self.similarities.extend(other.similarities);
    }

    fn removals(mut self, documents: u64) -> SweepRemovals {
        self.similarities.sort_unstable_by(f64::total_cmp);
        let all = &self.similarities;
        let quarter = |of: usize| all.get(all.len().saturating_sub(1) * of / 4).copied();
        let found = [quarter(0), quarter(1), quarter(2), quarter(3), quarter(4)];
        let similarity = match found {
            [Some(least), Some(lower), Some(median), Some(upper), Some(most)] => {
                Some(SimilarityQuartiles { least, lower, median, upper, most })
            }
            _ => None,
        };
        SweepRemovals {
            removed: self.removed,
            share: show::share(self.removed, documents),
            equal: self.equal,
            clusters: self.clusters,
            largest: self.largest,
            similarity,
        }
    }
}

impl SweepTally {
    /// Documents of one text that is similar to no other.
    pub(super) fn add_equal(&mut self, copies: u64) {
        for tally in [&mut self.verified, &mut self.unverified] {
            tally.add_equal(copies);
            tally.add_cluster(copies);
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.verified.add(other.verified);
        self.unverified.add(other.unverified);
        self.below += other.below;
    }

    pub(super) fn line(self, policy: &Policy, base: &Policy, documents: u64) -> SweepLine {
        SweepLine {
            shingle: policy.shingle,
            threshold: policy.threshold,
            bands: policy.bands,
            rows: policy.rows,
            own: (policy.shingle, policy.threshold) == (base.shingle, base.threshold),
            verified: self.verified.removals(documents),
            unverified: self.unverified.removals(documents),
            unverified_below: self.below,
        }
    }
}
