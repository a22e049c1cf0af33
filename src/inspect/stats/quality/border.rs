//! Finds the documents at the border of a rule: those whose scores are nearest to its threshold, on either side.

use model::DocId;
use text::signals::SignalRule;

/// A document near a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ThresholdNeighbour {
    pub(super) document: DocId,
    pub(super) value: f64,
}

/// The nearest documents on one side of a threshold, nearest first; ties go to the lower id.
#[derive(Clone, Debug, Default)]
pub(super) struct ThresholdSide {
    found: Vec<ThresholdNeighbour>,
}

impl ThresholdSide {
    /// Takes a document. Its id must be higher than those taken before.
    fn take(&mut self, near: ThresholdNeighbour, threshold: f64, most: usize) {
        let distance = |it: &ThresholdNeighbour| (it.value - threshold).abs();
        let place = self.found.partition_point(|it| distance(it) <= distance(&near));
        if place < most {
            self.found.insert(place, near);
            self.found.truncate(most);
        }
    }

    pub(super) fn found(&self) -> &[ThresholdNeighbour] {
        &self.found
    }
}

/// One threshold of a rule.
#[derive(Clone, Debug)]
pub(super) struct RuleThreshold {
    /// Whether the threshold is a least value; else it is a greatest one.
    pub(super) is_least: bool,
    pub(super) at: f64,
    pub(super) outside: ThresholdSide,
    pub(super) inside: ThresholdSide,
}

impl RuleThreshold {
    /// The thresholds of a rule, as numbers.
    pub(super) fn of(rule: &SignalRule) -> Vec<Self> {
        let of = |text: Option<&str>, is_least| {
            let at = text?.parse().ok()?;
            Some(Self {
                is_least,
                at,
                outside: ThresholdSide::default(),
                inside: ThresholdSide::default(),
            })
        };
        [of(rule.least, true), of(rule.most, false)].into_iter().flatten().collect()
    }

    /// Whether the rule keeps a document with this value. NaN is not kept.
    pub(super) fn holds(&self, value: f64) -> bool {
        if self.is_least { value >= self.at } else { value <= self.at }
    }

    /// Takes a document if it is among the `most` nearest on its side.
    pub(super) fn look(&mut self, near: ThresholdNeighbour, most: usize) {
        if near.value.is_nan() {
            return;
        }
        let side = if self.holds(near.value) { &mut self.inside } else { &mut self.outside };
        side.take(near, self.at, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_nearest_of_each_side_are_found(
            values in prop::collection::vec(0_u32..30, 0..80), at in 0_u32..30, is_least: bool, most in 0_usize..5,
        ) {
            let at = f64::from(at);
            let mut threshold =
                RuleThreshold { is_least, at, outside: ThresholdSide::default(), inside: ThresholdSide::default() };
            let all: Vec<ThresholdNeighbour> = (0_u64..)
                .zip(&values)
                .map(|(id, value)| ThresholdNeighbour { document: DocId(id), value: f64::from(*value) })
                .collect();
            all.iter().for_each(|near| threshold.look(*near, most));
            for (found, holds) in [(&threshold.inside, true), (&threshold.outside, false)] {
                let mut expected: Vec<ThresholdNeighbour> = all
                    .iter()
                    .filter(|it| (if is_least { it.value >= at } else { it.value <= at }) == holds)
                    .copied()
                    .collect();
                expected.sort_by(|a, b| (a.value - at).abs().total_cmp(&(b.value - at).abs()));
                expected.truncate(most);
                prop_assert_eq!(found.found(), expected.as_slice());
            }
        }
    }
}
