//! What sketches and bands find of the pairs that exist.

use crate::data::{Prints, floor};
use crate::join::Pair;
use crate::statistics::{Share, predict};
use corpusdb::Policy;
use corpusdb::dedup::{BandHash, Sketch, bands, reaches};
use rayon::prelude::*;

/// Lower ends of the bins of similarity; the last one holds equal sets only.
pub const BINS: [f64; 11] = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0];

/// What the bands of one policy find.
#[derive(Default)]
pub struct Recall {
    /// Pairs sharing a band, by bin of their similarity.
    pub bins: [Share; BINS.len()],
    /// Pairs at the threshold or above that share a band.
    pub candidates: Share,
    /// Of the same pairs, those that also pass the estimate.
    pub estimated: u64,
    /// Documents with a neighbour at the threshold or above: those of which a neighbour was found.
    pub documents: Share,
    /// Pairs of documents too short for a sketch, which only equal tokens bring together.
    pub short_pairs: u64,
    /// All pairs that share a band.
    pub met: u64,
    /// Of these, those that pass the estimate.
    pub met_estimated: u64,
}

/// Bands of every document; none for a document without a sketch.
pub struct Banded<'p> {
    prints: &'p Prints,
    floor: f64,
    bands: Vec<Vec<BandHash>>,
}

impl<'p> Banded<'p> {
    /// The bands under `policy`.
    pub fn new(prints: &'p Prints, policy: &Policy) -> Self {
        let of = |sketch: &Option<Sketch>| {
            sketch.as_ref().map(|sketch| bands(sketch, policy)).unwrap_or_default()
        };
        Self { prints, floor: floor(policy), bands: prints.sketches.par_iter().map(of).collect() }
    }

    fn meet(&self, a: usize, b: usize) -> bool {
        self.bands[a].iter().zip(&self.bands[b]).any(|(x, y)| x == y)
    }

    fn estimate_passes(&self, a: usize, b: usize) -> bool {
        match (&self.prints.sketches[a], &self.prints.sketches[b]) {
            (Some(a), Some(b)) => a.estimate(b) >= self.floor,
            _ => false,
        }
    }

    /// All pairs that share a band, and of these those that pass the estimate. A pair counts in the first
    /// band that it shares.
    fn count(&self) -> (u64, u64) {
        let count = self.bands.iter().map(Vec::len).max().unwrap_or(0);
        let in_band = |band: usize| {
            let mut entries: Vec<(BandHash, usize)> = (self.bands.iter().enumerate())
                .filter_map(|(document, bands)| bands.get(band).map(|hash| (*hash, document)))
                .collect();
            entries.sort_unstable();
            let (mut met, mut estimated) = (0, 0);
            for bucket in entries.chunk_by(|a, b| a.0 == b.0) {
                for (at, (_, b)) in bucket.iter().enumerate() {
                    for (_, a) in &bucket[..at] {
                        let mut earlier = self.bands[*a].iter().zip(&self.bands[*b]).take(band);
                        if !earlier.any(|(x, y)| x == y) {
                            met += 1;
                            estimated += u64::from(self.estimate_passes(*a, *b));
                        }
                    }
                }
            }
            (met, estimated)
        };
        (0..count).into_par_iter().map(in_band).reduce(|| (0, 0), |x, y| (x.0 + y.0, x.1 + y.1))
    }
}

/// Measures `policy` on `pairs`, which are all pairs of the lowest bin or above.
pub fn measure(prints: &Prints, pairs: &[Pair], policy: &Policy) -> Recall {
    let banded = Banded::new(prints, policy);
    let mut recall = Recall::default();
    (recall.met, recall.met_estimated) = banded.count();
    // For every document: the chance that no neighbour is found, and whether one was.
    let mut lonely = vec![(1.0, false); prints.sets.len()];
    for pair in pairs {
        let (a, b) = (pair.a as usize, pair.b as usize);
        if prints.is_short(a) || prints.is_short(b) {
            recall.short_pairs += 1;
            continue;
        }
        let jaccard = pair.jaccard(&prints.sets);
        let expected = predict(policy, jaccard, true);
        let found = banded.meet(a, b);
        let bin = BINS.partition_point(|low| *low <= jaccard).saturating_sub(1);
        recall.bins[bin].add(found, expected);
        let (x, y) = (prints.sets[a].len(), prints.sets[b].len());
        if reaches(pair.shared as usize, x, y, policy.threshold) {
            recall.candidates.add(found, expected);
            recall.estimated += u64::from(found && banded.estimate_passes(a, b));
            for document in [a, b] {
                lonely[document].0 *= 1.0 - expected;
                lonely[document].1 |= found;
            }
        }
    }
    for (missed, found) in lonely.into_iter().filter(|(missed, _)| *missed < 1.0) {
        recall.documents.add(found, 1.0 - missed);
    }
    recall
}
