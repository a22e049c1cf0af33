//! A histogram of the similarities of duplicates to their witnesses.

use model::invariant::part;
use model::{DedupMode, Policy};
use serde::Serialize;

/// Similarity of duplicates to their witness.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Similarities {
    /// Equal raw bytes.
    pub exact: u64,
    /// Other bytes, the same shingles: similarity 1.
    pub same_shingles: u64,
    /// The others, ascending; the bins without a document at either end are left out.
    pub bins: Vec<SimilarityBin>,
}

/// Near duplicates of some similarity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SimilarityBin {
    /// The least similarity.
    pub from: f64,
    /// All are less similar than this.
    pub to: f64,
    /// Removed documents whose similarity falls into this bin.
    pub documents: u64,
}

pub(in crate::inspect) struct SimilarityHistogram {
    pub(in crate::inspect) exact: u64,
    same_shingles: u64,
    /// Bounds of the bins, ascending, the last one 1.
    bounds: Vec<f64>,
    counts: Vec<u64>,
}

impl SimilarityHistogram {
    /// Bins begin at the threshold and are 0.02 wide where every match was verified against it; else one bin is below
    /// 0.5 and the others are 0.05 wide.
    pub(in crate::inspect) fn new(policy: &Policy) -> Self {
        let (start, step) = match policy.mode {
            DedupMode::Components | DedupMode::Lsh => (0.0, 5),
            _ => (policy.threshold, 2),
        };
        let least = if step == 5 { 50 } else { 0 };
        let steps = (least..=100_u32)
            .filter(|bound| bound % step == 0)
            .map(|bound| f64::from(bound) / 100.0);
        let mut bounds = vec![start];
        bounds.extend(steps.filter(|bound| *bound > start));
        let counts = vec![0; bounds.len()];
        Self { exact: 0, same_shingles: 0, bounds, counts }
    }

    pub(in crate::inspect) fn add(&mut self, jaccard: f64) {
        if jaccard >= 1.0 {
            self.same_shingles += 1;
            return;
        }
        let after = self.bounds.partition_point(|bound| *bound <= jaccard);
        if let Some(count) = self.counts.get_mut(after.saturating_sub(1)) {
            *count += 1;
        }
    }

    pub(in crate::inspect) fn counted(self) -> Similarities {
        let ends = self.bounds.iter().skip(1);
        let bins = self.bounds.iter().zip(ends).zip(&self.counts);
        let bins: Vec<SimilarityBin> = bins
            .map(|((from, to), documents)| SimilarityBin {
                from: *from,
                to: *to,
                documents: *documents,
            })
            .collect();
        let any = |bin: &SimilarityBin| bin.documents > 0;
        let first = bins.iter().position(any).unwrap_or(bins.len());
        let end = bins.iter().rposition(any).map_or(first, |last| last + 1);
        let bins = part(&bins, first..end).to_vec();
        Similarities { exact: self.exact, same_shingles: self.same_shingles, bins }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Profile;

    #[test]
    fn similarities_fall_into_the_bin_they_reach() {
        let mut histogram = SimilarityHistogram::new(&Policy::of(Profile::Web));
        for jaccard in [0.8, 0.82, 41.0 / 50.0, 0.819_999, 0.999, 1.0] {
            histogram.add(jaccard);
        }
        let counted = histogram.counted();
        assert_eq!(counted.same_shingles, 1);
        let bins: Vec<(f64, f64, u64)> =
            counted.bins.iter().map(|bin| (bin.from, bin.to, bin.documents)).collect();
        assert_eq!(bins.len(), 10);
        assert_eq!(bins[..2], [(0.8, 0.82, 2), (0.82, 0.84, 2)]);
        assert_eq!(bins[9], (0.98, 1.0, 1));
    }

    #[test]
    fn unverified_similarities_have_a_bin_below_the_threshold() {
        let mut histogram = SimilarityHistogram::new(&Policy::of(Profile::Fineweb));
        for jaccard in [0.0, 0.3, 0.5, 0.74] {
            histogram.add(jaccard);
        }
        let bins: Vec<(f64, f64, u64)> =
            histogram.counted().bins.iter().map(|bin| (bin.from, bin.to, bin.documents)).collect();
        assert_eq!(bins[..2], [(0.0, 0.5, 2), (0.5, 0.55, 1)]);
        assert_eq!(bins[bins.len() - 1], (0.7, 0.75, 1));
    }
}
