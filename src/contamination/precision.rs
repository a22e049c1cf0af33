//! How often a rule is right, estimated from what people decided.

use serde::Serialize;

/// 97.5 % of a normal distribution are below it.
const Z: f64 = 1.959_963_984_540_054;

/// The precision of a rule: the share of accepted pairs among the pairs of an item and a text with a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Precision {
    /// Pairs that were accepted.
    pub accepted: u64,
    /// Pairs that were rejected.
    pub rejected: u64,
    /// The share of those accepted.
    pub estimate: f64,
    /// Lower bound of the 95 % interval (Wilson) of the share among all pairs, if the judged ones were drawn at random.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
}

impl Precision {
    /// None where nothing was decided.
    #[must_use]
    pub fn of(accepted: u64, rejected: u64) -> Option<Self> {
        let all = accepted.saturating_add(rejected);
        if all == 0 {
            return None;
        }
        let (n, share) = (all as f64, accepted as f64 / all as f64);
        let squared = Z * Z / n;
        let centre = (share + squared / 2.0) / (1.0 + squared);
        let spread = Z * (share * (1.0 - share) / n + squared / (4.0 * n)).sqrt() / (1.0 + squared);
        let (low, high) = ((centre - spread).max(0.0), (centre + spread).min(1.0));
        Some(Self { accepted, rejected, estimate: share, low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_published_tables() {
        assert_eq!(Precision::of(0, 0), None);
        // Newcombe 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        for (accepted, rejected, low, high) in [
            (81, 182, 0.2553, 0.3662),
            (15, 133, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 28, 0.0061, 0.1718),
        ] {
            let found = Precision::of(accepted, rejected).unwrap();
            assert!(
                (found.low - low).abs() < 5e-5 && (found.high - high).abs() < 5e-5,
                "{found:?}"
            );
        }
        let all = Precision::of(5, 0).unwrap();
        assert!((all.estimate - 1.0).abs() < 1e-12 && all.low > 0.5 && all.high >= 0.999_999);
    }
}
