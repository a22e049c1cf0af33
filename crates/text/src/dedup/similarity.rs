//! The exact overlap of two shingle sets, the comparison with the threshold that decides, and bounds that it implies.

use super::sketch::Sketch;
use model::{DocId, Match, MatchKind, Policy, Signature, jaccard};
use std::cmp::Ordering;
use std::sync::Arc;

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
    pub fn of(left: &[u64], right: &[u64]) -> Self {
        let shared = shared(left, right);
        Self { shared, left: saturating(left.len()), right: saturating(right.len()) }
    }

    /// The overlap of two sets of shingles, if it reaches the threshold.
    #[must_use]
    pub fn at_least(left: &[u64], right: &[u64], threshold: f64) -> Option<Self> {
        let shared = shared_at_least(left, right, threshold)?;
        Some(Self { shared, left: saturating(left.len()), right: saturating(right.len()) })
    }

    /// The match of a document, whose shingles are the first, to its witness.
    #[must_use]
    pub const fn match_to(self, witness: DocId) -> Match {
        let Self { shared, left, right } = self;
        let kind = MatchKind::Near;
        Match { kind, witness, shared, removed_shingles: left, witness_shingles: right }
    }

    /// The overlap of two equal sets.
    #[must_use]
    pub const fn whole(shingles: u32) -> Self {
        Self { shared: shingles, left: shingles, right: shingles }
    }

    /// This overlap with left and right exchanged.
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

/// What is left of a text that was removed and keeps similar ones out.
#[derive(Clone, Debug)]
pub enum RemovedText {
    /// Its shingles.
    Shingles(Arc<[u64]>),
    /// Its sketch or, where it had none, nothing: it was purged.
    Sketch(Option<Sketch>),
}

impl RemovedText {
    /// How similar a text with this sketch and these shingles is, if that reaches the threshold, so that the removed
    /// text keeps it out: exactly or, where there is nothing but a sketch, by the estimate.
    #[must_use]
    pub fn keeps_out(&self, (sketch, shingles): (&Sketch, &[u64]), threshold: f64) -> Option<f64> {
        match self {
            Self::Shingles(own) => {
                Overlap::at_least(shingles, own, threshold).map(Overlap::jaccard)
            }
            Self::Sketch(own) => {
                let estimate = own.as_ref()?.estimate(sketch);
                (estimate >= threshold).then_some(estimate)
            }
        }
    }
}

/// Number of values that two sorted lists of distinct values share.
#[must_use]
pub fn shared(a: &[u64], b: &[u64]) -> u32 {
    let mut merge = OverlapMerge { a, b, shared: 0 };
    while merge.steps(usize::MAX) {}
    saturating(merge.shared)
}

/// Whether sets of `a` and `b` members that share `shared` reach the threshold. This comparison is the
/// definition everywhere: the quotient `shared / (a + b - shared)` rounded to the nearest `f64`, as IEEE
/// 754 defines it, is at least `threshold`. So 4 of 5 reaches 0.8 although the `f64` nearest to 0.8 is
/// a little more than four fifths. Two empty sets have similarity 0.
#[must_use]
pub fn reaches(shared: usize, a: usize, b: usize, threshold: f64) -> bool {
    let union = (a + b).saturating_sub(shared);
    let jaccard = if union == 0 { 0.0 } else { float(shared) / float(union) };
    jaccard >= threshold
}

/// Number of values that two sorted lists of distinct values share, if that [`reaches`] the threshold;
/// none as soon as it no longer can, which for lists of too different lengths is at once.
#[must_use]
pub fn shared_at_least(a: &[u64], b: &[u64], threshold: f64) -> Option<u32> {
    /// Steps between two looks at what can still be reached.
    const STEPS: usize = 64;
    let least = least_shared(a.len(), b.len(), threshold)?;
    let mut merge = OverlapMerge { a, b, shared: 0 };
    while merge.shared + merge.a.len().min(merge.b.len()) >= least {
        if !merge.steps(STEPS) {
            return (merge.shared >= least).then(|| saturating(merge.shared));
        }
    }
    None
}

/// The smallest sketch estimate worth verifying at the policy's threshold: four standard deviations below it, of an
/// estimate from the policy's slots; each agrees with probability J or, at 8 bits, by chance. Loses fewer than one in
/// 10,000 true pairs.
#[must_use]
pub fn estimate_floor(policy: &Policy) -> f64 {
    let Policy { threshold, hashes, .. } = *policy;
    let chance = match policy.signature {
        Signature::Native => 1.0 / 256.0,
        Signature::Bigcode => 0.0,
    };
    let agree = threshold + (1.0 - threshold) * chance;
    let deviation = (agree * (1.0 - agree) / f64::from(hashes.max(1))).sqrt() / (1.0 - chance);
    (threshold - 4.0 * deviation).max(0.0)
}

/// The smallest overlap that reaches the threshold; none if even the smaller set within the larger
/// does not. Similarity grows with the overlap, so there is one.
pub(super) fn least_shared(a: usize, b: usize, threshold: f64) -> Option<usize> {
    let (mut enough, mut below) = (a.min(b), 0);
    if !reaches(enough, a, b, threshold) {
        return None;
    }
    if reaches(0, a, b, threshold) {
        return Some(0);
    }
    while enough - below > 1 {
        let middle = below + (enough - below) / 2;
        if reaches(middle, a, b, threshold) {
            enough = middle;
        } else {
            below = middle;
        }
    }
    Some(enough)
}

/// The smallest size of a set that can reach the threshold with one of `size`: it is within it.
pub(super) fn smallest_similar(size: usize, threshold: f64) -> usize {
    let (mut enough, mut below) = (size, 0);
    while enough > below {
        let middle = below + (enough - below) / 2;
        if reaches(middle, middle, size, threshold) {
            enough = middle;
        } else {
            below = middle + 1;
        }
    }
    enough
}

/// The largest size of a set that can reach the threshold with one of `size`: it holds it.
pub(super) fn largest_similar(size: usize, threshold: f64) -> usize {
    let (mut enough, mut beyond) = (size, size.saturating_add(1));
    while reaches(size, size, beyond, threshold) && beyond < usize::MAX / 4 {
        (enough, beyond) = (beyond, beyond * 2);
    }
    while beyond - enough > 1 {
        let middle = enough + (beyond - enough) / 2;
        if reaches(size, size, middle, threshold) {
            enough = middle;
        } else {
            beyond = middle;
        }
    }
    enough
}

/// What is left of two lists, and what they shared so far.
struct OverlapMerge<'l> {
    a: &'l [u64],
    b: &'l [u64],
    shared: usize,
}

impl OverlapMerge<'_> {
    /// Goes up to `most` steps; false when one list has ended.
    fn steps(&mut self, most: usize) -> bool {
        for _ in 0..most {
            let (Some((x, a)), Some((y, b))) = (self.a.split_first(), self.b.split_first()) else {
                return false;
            };
            let order = x.cmp(y);
            self.shared += usize::from(order == Ordering::Equal);
            self.a = if order == Ordering::Greater { self.a } else { a };
            self.b = if order == Ordering::Less { self.b } else { b };
        }
        true
    }
}

fn saturating(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Exact below 2^53, more members than memory holds.
#[expect(clippy::cast_precision_loss, reason = "counts of values in memory are below 2^53")]
fn float(count: usize) -> f64 {
    count as f64
}
