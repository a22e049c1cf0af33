//! Exact moments: when a source's share reaches an amount, as a rational number that compares exactly.

use std::cmp::Ordering;

/// A piece on which shares are linear: pieces ascend with time and do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SchedulePart {
    /// The stretch of the schedule.
    pub stretch: usize,
    /// The piece within it.
    pub piece: u64,
}

/// A moment inside piece `place`, `above / rise` of a full run after its start.
///
/// `floor` orders almost everything in one comparison; the fraction decides the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShareTime {
    /// The total then, rounded down.
    pub floor: u64,
    /// Whether `floor` is all of it.
    pub whole: bool,
    /// Whether the source's share may stand still from here on: the moment is the end of its piece.
    pub ends: bool,
    pub place: SchedulePart,
    pub above: u128,
    pub rise: u128,
}

impl ShareTime {
    /// The total then, rounded up.
    pub const fn ceil(&self) -> u64 {
        self.floor.saturating_add(if self.whole { 0 } else { 1 })
    }

    /// Which comes first, exactly.
    pub fn order(&self, other: &Self) -> Ordering {
        self.floor.cmp(&other.floor).then_with(|| self.order_within(other))
    }

    fn order_within(&self, other: &Self) -> Ordering {
        self.place
            .cmp(&other.place)
            .then_with(|| wide(self.above, other.rise).cmp(&wide(other.above, self.rise)))
    }
}

/// `a * b` as (high, low) halves of 256 bits.
fn wide(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    if (a | b) >> 64 == 0 {
        return (0, a * b);
    }
    let (a_high, a_low, b_high, b_low) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let low = a_low * b_low;
    // Each half is below 2^64, so a product and two carries of 64 bits fit.
    let middle = a_high * b_low + (low >> 64);
    let other = a_low * b_high + (middle & LOW);
    (a_high * b_high + (middle >> 64) + (other >> 64), (other << 64) | (low & LOW))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_moments_order_by_piece_then_fraction() {
        let moment = |piece, above, rise| {
            let place = SchedulePart { stretch: 0, piece };
            ShareTime { floor: 7, whole: false, ends: above == rise, place, above, rise }
        };
        assert_eq!(moment(3, 9, 9).order(&moment(4, 1, 100)), Ordering::Less);
        assert_eq!(moment(4, 1, 3).order(&moment(4, 33, 100)), Ordering::Greater);
        assert_eq!(moment(4, 1 << 90, 3 << 90).order(&moment(4, 1, 3)), Ordering::Equal);
        assert_eq!(moment(4, 1, 3).ceil(), 8);
    }

    #[test]
    fn products_have_256_bits() {
        assert_eq!(wide(u128::MAX, u128::MAX), (u128::MAX - 1, 1));
        assert_eq!(wide(1 << 100, 1 << 100), (1 << 72, 0));
        assert_eq!(wide((3 << 64) + 5, (7 << 64) + 11), (21, (68 << 64) + 55));
        assert_eq!(wide(u128::MAX, 2), (1, u128::MAX - 1));
        assert_eq!(wide(6, 7), (0, 42));
    }
}
