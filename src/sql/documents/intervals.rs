//! Sets of integers as sorted, disjoint, inclusive ranges: the values of a numeric column that satisfy a comparison.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use model::invariant::part;
use model::sortable_float;

/// How a value is compared with a literal that is not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompareOperator {
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
}

impl CompareOperator {
    /// The operator as the engine writes it; none for one that is not a comparison, or that takes nulls for values.
    pub(crate) const fn of(operator: Operator) -> Option<Self> {
        Some(match operator {
            Operator::Eq => Self::Eq,
            Operator::NotEq => Self::NotEq,
            Operator::Lt => Self::Lt,
            Operator::LtEq => Self::LtEq,
            Operator::Gt => Self::Gt,
            Operator::GtEq => Self::GtEq,
            _ => return None,
        })
    }

    /// For `literal operator value`: the operator of `value operator literal`.
    pub(crate) const fn swapped(self) -> Self {
        match self {
            Self::Eq => Self::Eq,
            Self::NotEq => Self::NotEq,
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
        }
    }
}

/// A set of 64-bit integers: ascending, disjoint, inclusive ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IntervalSet(Vec<(i64, i64)>);

impl IntervalSet {
    /// The range `low..=high`; empty when `low` is above `high`.
    pub(crate) fn inclusive(low: i128, high: i128) -> Self {
        let clamp = |value: i128| {
            i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
        };
        let outside = high < i128::from(i64::MIN) || low > i128::from(i64::MAX);
        if low > high || outside { Self(Vec::new()) } else { Self(vec![(clamp(low), clamp(high))]) }
    }

    /// The ranges that end at `low` or above and begin at `high` or below, ascending.
    pub(crate) fn between(&self, low: i64, high: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        let first = self.0.partition_point(|(_, to)| *to < low);
        let rest = part(&self.0, first..);
        rest.iter().copied().take_while(move |(from, _)| *from <= high)
    }

    /// The smallest and the largest of the set; none when it is empty.
    pub(crate) fn bounds(&self) -> Option<(i64, i64)> {
        Some((self.0.first()?.0, self.0.last()?.1))
    }

    /// Whether `value` is in the set.
    pub(crate) fn contains(&self, value: i64) -> bool {
        self.meets(value, value)
    }

    /// Whether any of `low..=high` is in the set.
    pub(crate) fn meets(&self, low: i64, high: i64) -> bool {
        self.between(low, high).next().is_some()
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self::union_of([self, other])
    }

    /// The union of all sets: sorted once, however many there are.
    pub(crate) fn union_of(sets: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<(i64, i64)> = Vec::new();
        for set in sets {
            all.extend(set.0);
        }
        #[cfg(test)]
        tests::SORTED.set(tests::SORTED.get() + all.len());
        all.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::with_capacity(all.len());
        for (low, high) in all {
            match merged.last_mut() {
                Some(last) if last.1 == i64::MAX || low <= last.1 + 1 => last.1 = last.1.max(high),
                _ => merged.push((low, high)),
            }
        }
        Self(merged)
    }

    pub(crate) fn complement(&self) -> Self {
        let mut gaps = Vec::with_capacity(self.0.len() + 1);
        let mut next = Some(i64::MIN);
        for (low, high) in &self.0 {
            if let Some(from) = next
                && from < *low
            {
                gaps.push((from, *low - 1));
            }
            next = high.checked_add(1);
        }
        if let Some(from) = next {
            gaps.push((from, i64::MAX));
        }
        Self(gaps)
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        self.complement().union(other.complement()).complement()
    }
}

/// The integers `x` for which `x operator literal` holds; none when the literal is no number that we compare exactly.
pub(crate) fn of_integers(operator: CompareOperator, literal: &ScalarValue) -> Option<IntervalSet> {
    let (floor, exact) = floor(literal)?;
    let below = if exact { floor - 1 } else { floor };
    let at_least = if exact { floor } else { floor + 1 };
    let all = (i128::from(i64::MIN), i128::from(i64::MAX));
    let equal =
        || if exact { IntervalSet::inclusive(floor, floor) } else { IntervalSet(Vec::new()) };
    Some(match operator {
        CompareOperator::Eq => equal(),
        CompareOperator::NotEq => equal().complement(),
        CompareOperator::Lt => IntervalSet::inclusive(all.0, below),
        CompareOperator::LtEq => IntervalSet::inclusive(all.0, floor),
        CompareOperator::Gt => IntervalSet::inclusive(floor + 1, all.1),
        CompareOperator::GtEq => IntervalSet::inclusive(at_least, all.1),
    })
}

/// Which of 0 (false) and 1 (true) satisfy a comparison with a boolean.
pub(crate) fn of_truths(operator: CompareOperator, literal: &ScalarValue) -> Option<IntervalSet> {
    let ScalarValue::Boolean(Some(literal)) = literal else { return None };
    of_integers(operator, &ScalarValue::Int64(Some(i64::from(*literal))))
}

/// The microseconds since 1970 that satisfy a comparison with a timestamp of that unit.
pub(crate) fn of_timestamps(
    operator: CompareOperator,
    literal: &ScalarValue,
) -> Option<IntervalSet> {
    let ScalarValue::TimestampMicrosecond(Some(literal), None) = literal else { return None };
    of_integers(operator, &ScalarValue::Int64(Some(*literal)))
}

/// The integers `x` for which `CAST(x AS DOUBLE) operator literal` holds. Beyond 2^53 several integers are one
/// double, and all of them compare as it does.
pub(crate) fn of_doubles(operator: CompareOperator, literal: &ScalarValue) -> Option<IntervalSet> {
    let ScalarValue::Float64(Some(literal)) = literal else { return None };
    if literal.is_nan() {
        return None;
    }
    // The cast never falls as integers rise: the integers below the literal, and those at most equal to it, are
    // prefixes of the range.
    let below = i128::from(i64::MIN) + first(|x| double(x) >= *literal);
    let at_most = i128::from(i64::MIN) + first(|x| double(x) > *literal);
    let all = (i128::from(i64::MIN), i128::from(i64::MAX));
    let equal = IntervalSet::inclusive(below, at_most - 1);
    Some(match operator {
        CompareOperator::Eq => equal,
        CompareOperator::NotEq => equal.complement(),
        CompareOperator::Lt => IntervalSet::inclusive(all.0, below - 1),
        CompareOperator::LtEq => IntervalSet::inclusive(all.0, at_most - 1),
        CompareOperator::Gt => IntervalSet::inclusive(at_most, all.1),
        CompareOperator::GtEq => IntervalSet::inclusive(below, all.1),
    })
}

#[expect(clippy::cast_precision_loss, reason = "the engine's cast, which rounds")]
const fn double(value: i64) -> f64 {
    value as f64
}

/// How many 64-bit integers there are before the first for which `reached` holds; it then holds for all after it.
fn first(reached: impl Fn(i64) -> bool) -> i128 {
    let (mut low, mut high) = (i128::from(i64::MIN), i128::from(i64::MAX) + 1);
    while low < high {
        let middle = (low + high).div_euclid(2);
        if i64::try_from(middle).is_ok_and(&reached) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low - i128::from(i64::MIN)
}

/// As [`of_integers`], over the sortable form of floats. Both zeros are one value; NaN is null in the store, and a
/// literal NaN is left to the engine.
pub(crate) fn of_floats(operator: CompareOperator, literal: &ScalarValue) -> Option<IntervalSet> {
    let value = float(literal)?;
    let (low, high) = if value == 0.0 { (-0.0, 0.0) } else { (value, value) };
    let (low, high) = (i128::from(sortable_float(low)), i128::from(sortable_float(high)));
    let least = i128::from(sortable_float(f64::NEG_INFINITY));
    let most = i128::from(sortable_float(f64::INFINITY));
    Some(match operator {
        CompareOperator::Eq => IntervalSet::inclusive(low, high),
        CompareOperator::NotEq => IntervalSet::inclusive(low, high).complement(),
        CompareOperator::Lt => IntervalSet::inclusive(least, low - 1),
        CompareOperator::LtEq => IntervalSet::inclusive(least, high),
        CompareOperator::Gt => IntervalSet::inclusive(high + 1, most),
        CompareOperator::GtEq => IntervalSet::inclusive(low, most),
    })
}

/// The largest integer not above a number, and whether it is the number.
fn floor(literal: &ScalarValue) -> Option<(i128, bool)> {
    if let Some(whole) = whole(literal) {
        return Some((whole, true));
    }
    match literal {
        ScalarValue::Decimal128(Some(value), _, scale) => {
            let unit = 10_i128.checked_pow(u32::try_from(*scale).ok()?)?;
            Some((value.div_euclid(unit), value.rem_euclid(unit) == 0))
        }
        ScalarValue::Float64(Some(value)) => floor_float(*value),
        ScalarValue::Float32(Some(value)) => floor_float(f64::from(*value)),
        _ => None,
    }
}

fn floor_float(value: f64) -> Option<(i128, bool)> {
    // Beyond 2^100 every 64-bit integer compares alike; the clamp keeps the arithmetic in range.
    let limit = 2_f64.powi(100);
    let floor = value.clamp(-limit, limit).floor();
    (!value.is_nan()).then_some((floor as i128, floor == value))
}

fn whole(literal: &ScalarValue) -> Option<i128> {
    Some(match literal {
        ScalarValue::Int8(Some(value)) => i128::from(*value),
        ScalarValue::Int16(Some(value)) => i128::from(*value),
        ScalarValue::Int32(Some(value)) => i128::from(*value),
        ScalarValue::Int64(Some(value)) => i128::from(*value),
        ScalarValue::UInt8(Some(value)) => i128::from(*value),
        ScalarValue::UInt16(Some(value)) => i128::from(*value),
        ScalarValue::UInt32(Some(value)) => i128::from(*value),
        ScalarValue::UInt64(Some(value)) => i128::from(*value),
        _ => return None,
    })
}

fn float(literal: &ScalarValue) -> Option<f64> {
    match literal {
        ScalarValue::Float64(Some(value)) => (!value.is_nan()).then_some(*value),
        ScalarValue::Float32(Some(value)) => (!value.is_nan()).then_some(f64::from(*value)),
        // 2^53: integers up to it are floats too.
        other => whole(other).filter(|value| value.abs() <= 1 << 53).map(|value| value as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    thread_local! {
        /// Counts ranges that were sorted, for tests.
        pub(crate) static SORTED: Cell<usize> = const { Cell::new(0) };
    }

    const OPERATORS: [CompareOperator; 6] = [
        CompareOperator::Eq,
        CompareOperator::NotEq,
        CompareOperator::Lt,
        CompareOperator::LtEq,
        CompareOperator::Gt,
        CompareOperator::GtEq,
    ];

    fn holds<T: PartialOrd>(operator: CompareOperator, left: T, right: T) -> bool {
        match operator {
            CompareOperator::Eq => left == right,
            CompareOperator::NotEq => left != right,
            CompareOperator::Lt => left < right,
            CompareOperator::LtEq => left <= right,
            CompareOperator::Gt => left > right,
            _ => left >= right,
        }
    }

    fn small() -> impl Strategy<Value = IntervalSet> {
        let range =
            (-20_i128..20, 0_i128..8).prop_map(|(low, len)| IntervalSet::inclusive(low, low + len));
        proptest::collection::vec(range, 0..5)
            .prop_map(|all| all.into_iter().fold(IntervalSet(Vec::new()), IntervalSet::union))
    }

    proptest! {
        #[test]
        fn integers_compare_as_numbers(value in -6_i64..6, literal in -12_i64..12) {
            for operator in OPERATORS {
                let half = ScalarValue::Float64(Some(literal as f64 / 2.0));
                let ranges = of_integers(operator, &half).unwrap();
                prop_assert_eq!(ranges.contains(value), holds(operator, value as f64, literal as f64 / 2.0));
                let tenths = ScalarValue::Decimal128(Some(i128::from(literal)), 5, 1);
                let ranges = of_integers(operator, &tenths).unwrap();
                prop_assert_eq!(ranges.contains(value), holds(operator, value * 10, literal));
                let ranges = of_integers(operator, &ScalarValue::Int64(Some(literal))).unwrap();
                prop_assert_eq!(ranges.contains(value), holds(operator, value, literal));
            }
        }

        #[test]
        fn floats_compare_as_floats(value: f64, literal: f64) {
            prop_assume!(!value.is_nan() && !literal.is_nan());
            for (value, literal) in [(value, literal), (value, value), (0.0, -0.0), (-0.0, 0.0), (value, 0.0)] {
                for operator in OPERATORS {
                    let ranges = of_floats(operator, &ScalarValue::Float64(Some(literal))).unwrap();
                    prop_assert_eq!(ranges.contains(sortable_float(value)), holds(operator, value, literal));
                }
            }
        }

        #[test]
        fn integers_cast_to_doubles_compare_as_doubles(value: i64, literal: i64, near in -3_i64..3, bits in 0_u32..63) {
            let (value, literal) = (value >> bits, literal >> bits);
            for literal in [literal as f64, value as f64, value.saturating_add(near) as f64, literal as f64 / 3.0] {
                for operator in OPERATORS {
                    let ranges = of_doubles(operator, &ScalarValue::Float64(Some(literal))).unwrap();
                    prop_assert_eq!(ranges.contains(value), holds(operator, value as f64, literal));
                }
            }
        }

        #[test]
        fn set_algebra(a in small(), b in small(), value in -30_i64..30) {
            let (in_a, in_b) = (a.contains(value), b.contains(value));
            prop_assert_eq!(a.complement().contains(value), !in_a);
            prop_assert_eq!(a.intersection(&b).contains(value), in_a && in_b);
            prop_assert_eq!(a.meets(value, value), in_a);
            prop_assert_eq!(a.complement().complement(), a.clone());
            prop_assert_eq!(a.union(b).contains(value), in_a || in_b);
        }
    }

    #[test]
    fn a_list_of_values_is_sorted_once() {
        // Every value was a union of its own: 64,000 ids took half a minute.
        let sorted = |count: i128| {
            let before = SORTED.get();
            let set = IntervalSet::union_of(
                (0..count).rev().map(|n| IntervalSet::inclusive(3 * n, 3 * n + 1)),
            );
            assert_eq!(set.0.len() as i128, count);
            assert_eq!(set.between(7, 12).collect::<Vec<_>>(), [(6, 7), (9, 10), (12, 13)]);
            SORTED.get() - before
        };
        assert_eq!((sorted(10_000), sorted(20_000)), (10_000, 20_000));
    }

    #[test]
    fn extremes_do_not_overflow() {
        let most = ScalarValue::UInt64(Some(u64::MAX));
        assert!(of_integers(CompareOperator::Lt, &most).unwrap().contains(i64::MAX));
        assert!(!of_integers(CompareOperator::Gt, &most).unwrap().contains(i64::MAX));
        let infinite = ScalarValue::Float64(Some(f64::NEG_INFINITY));
        assert!(of_integers(CompareOperator::Gt, &infinite).unwrap().contains(i64::MIN));
        assert!(of_doubles(CompareOperator::Gt, &infinite).unwrap().contains(i64::MIN));
        assert!(!of_doubles(CompareOperator::LtEq, &infinite).unwrap().contains(i64::MIN));
        assert_eq!(of_integers(CompareOperator::Eq, &ScalarValue::Float64(Some(f64::NAN))), None);
        assert_eq!(of_floats(CompareOperator::Eq, &ScalarValue::Float64(Some(f64::NAN))), None);
    }
}
