//! Which source gives the next row: token-exact interleaving at every prefix, in integers.
//!
//! With `T` tokens emitted so far, `e` of them from a source of weight `w` out of `W`, a source is
//! eligible when `e * W <= w * T`: it has not had more than its share. Among eligible sources the one
//! whose next row has the earliest deadline `(e + row) / w` goes; ties by order of the sources.
//! Eligibility keeps a source from running ahead, deadlines keep it from falling behind: at every
//! prefix `|e - w * T / W|` is at most one row. ("Most behind first" and plain earliest deadline both
//! break that bound.)

/// Decimal places of a weight that count.
const WEIGHT_SCALE: f64 = 1e9;
/// Largest weight, so that all products fit 128 bits.
pub const WEIGHT_MAX: f64 = 1e6;

/// The integer form of weights: billionths, divided by their greatest common divisor.
///
/// None when one is not in `1e-9..=1e6`.
#[must_use]
pub fn integer_weights(weights: &[f64]) -> Option<Vec<u64>> {
    let mut scaled = Vec::with_capacity(weights.len());
    for weight in weights {
        let billionths = (weight * WEIGHT_SCALE).round();
        if !(1.0..=WEIGHT_MAX * WEIGHT_SCALE).contains(&billionths) {
            return None;
        }
        scaled.push(billionths as u64);
    }
    let divisor = scaled.iter().copied().fold(0, gcd).max(1);
    Some(scaled.into_iter().map(|weight| weight / divisor).collect())
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The state of an interleaving.
#[derive(Clone, Debug)]
pub struct Scheduler {
    weights: Vec<u64>,
    whole: u128,
    emitted: Vec<u64>,
    total: u64,
}

impl Scheduler {
    /// Starts with nothing emitted. `weights` are positive, at most 10^15 each.
    #[must_use]
    pub fn new(weights: Vec<u64>) -> Self {
        let whole = weights.iter().map(|weight| u128::from(*weight)).sum();
        let emitted = vec![0; weights.len()];
        Self { weights, whole, emitted, total: 0 }
    }

    /// Tokens emitted by all sources.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Tokens emitted by each source.
    #[must_use]
    pub fn emitted(&self) -> &[u64] {
        &self.emitted
    }

    /// The source that goes next; `rows` gives the tokens of each source's next row, or none where
    /// it has no more: such a source has the earliest deadline of all, so that running out shows.
    #[must_use]
    pub fn pick(&self, rows: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        let mut best: Option<(usize, u128, u64)> = None;
        for (source, (emitted, weight)) in self.emitted.iter().zip(&self.weights).enumerate() {
            let eligible =
                u128::from(*emitted) * self.whole <= u128::from(*weight) * u128::from(self.total);
            if !eligible {
                continue;
            }
            let deadline = rows(source).map_or(0, |row| u128::from(*emitted) + u128::from(row));
            let earlier = best.is_none_or(|(_, other, other_weight)| {
                deadline * u128::from(other_weight) < other * u128::from(*weight)
            });
            if earlier {
                best = Some((source, deadline, *weight));
            }
        }
        best.map(|(source, ..)| source)
    }

    /// Notes that `source` gave a row of `tokens`.
    pub fn record(&mut self, source: usize, tokens: u32) {
        if let Some(emitted) = self.emitted.get_mut(source) {
            *emitted += u64::from(tokens);
            self.total += u64::from(tokens);
        }
    }

    /// How far the source furthest from its share is from it, in tokens, rounded up.
    #[must_use]
    pub fn deviation(&self) -> u64 {
        let off = self.emitted.iter().zip(&self.weights).map(|(emitted, weight)| {
            let have = u128::from(*emitted) * self.whole;
            let share = u128::from(*weight) * u128::from(self.total);
            have.abs_diff(share).div_ceil(self.whole.max(1))
        });
        u64::try_from(off.max().unwrap_or(0)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LENGTH: u32 = 2048;

    /// Furthest deviation over all prefixes of `rows` rows whose sizes come from `size`.
    fn furthest(weights: &[f64], rows: usize, mut size: impl FnMut(usize) -> u32) -> u64 {
        let mut scheduler = Scheduler::new(integer_weights(weights).unwrap());
        let mut next: Vec<u32> = (0..weights.len()).map(&mut size).collect();
        let mut furthest = 0;
        for _ in 0..rows {
            let source = scheduler.pick(|i| Some(next[i])).unwrap();
            scheduler.record(source, next[source]);
            next[source] = size(source);
            furthest = furthest.max(scheduler.deviation());
        }
        furthest
    }

    fn noise(seed: u64) -> impl FnMut(usize) -> u32 {
        let mut state = seed;
        move |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            1 + (state >> 40) as u32 % LENGTH
        }
    }

    #[test]
    fn adversarial_weights_stay_within_a_row() {
        let spread: Vec<f64> = std::iter::once(0.5).chain([0.05; 10]).collect();
        for weights in [vec![0.968, 0.024, 0.008], spread] {
            for seed in 0..8 {
                assert!(furthest(&weights, 30_000, noise(seed)) <= u64::from(LENGTH));
            }
            assert!(furthest(&weights, 30_000, |_| LENGTH) <= u64::from(LENGTH));
            // One source gives full rows, the others crumbs, and the reverse.
            assert!(
                furthest(&weights, 30_000, |i| if i == 0 { LENGTH } else { 7 })
                    <= u64::from(LENGTH)
            );
            assert!(
                furthest(&weights, 30_000, |i| if i == 0 { 7 } else { LENGTH })
                    <= u64::from(LENGTH)
            );
        }
    }

    #[test]
    fn weights_become_small_integers() {
        assert_eq!(integer_weights(&[0.968, 0.024, 0.008]), Some(vec![121, 3, 1]));
        assert_eq!(integer_weights(&[2.0, 3.0]), Some(vec![2, 3]));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-10, 2e6] {
            assert_eq!(integer_weights(&[1.0, bad]), None);
        }
    }

    #[test]
    fn natural_shares_end_all_sources_together() {
        // Weights equal to what the sources hold: none is asked when it has run out.
        let mut left = [vec![5_u32, 5, 5], vec![7; 20], vec![1]];
        let sizes: Vec<u64> =
            left.iter().map(|rows| rows.iter().map(|r| u64::from(*r)).sum()).collect();
        let mut scheduler = Scheduler::new(sizes.clone());
        while scheduler.total() < sizes.iter().sum() {
            let source = scheduler.pick(|i| left[i].last().copied()).unwrap();
            let row = left[source].pop().expect("never asked of an empty source");
            scheduler.record(source, row);
        }
        assert_eq!(scheduler.emitted(), sizes);
    }

    proptest! {
        #[test]
        fn every_prefix_is_within_a_row(
            weights in proptest::collection::vec(1_u32..1000, 1..14),
            seed: u64,
        ) {
            let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
            prop_assert!(furthest(&weights, 600, noise(seed)) <= u64::from(LENGTH));
        }
    }
}
