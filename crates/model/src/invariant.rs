//! Reads parts of what this program made itself: a wrong place is a fault of ours, and panics with a reason.
//!
//! It would otherwise become an empty answer. What comes from a disk or from a stranger is never read by these
//! functions: there a wrong place is an error value.

use std::slice::SliceIndex;

/// `of[range]`. The caller computed the range from `of`.
#[track_caller]
#[inline]
#[must_use]
#[expect(clippy::indexing_slicing, reason = "a range that does not fit is a bug of the caller")]
pub fn part<T, R: SliceIndex<[T], Output = [T]>>(of: &[T], range: R) -> &[T] {
    &of[range]
}

/// `of[range]`, where both ends were found in `of`, between two characters.
#[track_caller]
#[inline]
#[must_use]
pub fn text_part<R: SliceIndex<str, Output = str>>(of: &str, range: R) -> &str {
    &of[range]
}

/// `of[index]`. The caller made a list with that many items.
#[track_caller]
#[inline]
#[must_use]
#[expect(clippy::indexing_slicing, reason = "as `part`")]
pub fn at<T>(of: &[T], index: usize) -> &T {
    &of[index]
}

/// Run `index` of a flat list, where `ends` has the end of each run.
#[track_caller]
#[inline]
#[must_use]
pub fn run<'a, T>(of: &'a [T], ends: &[usize], index: usize) -> &'a [T] {
    let start = index.checked_sub(1).map_or(0, |before| *at(ends, before));
    part(of, start..*at(ends, index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn runs_of_a_flat_list_lie_between_two_ends() {
        let (flat, ends) = ([1, 2, 3, 4], [2, 2, 4]);
        let runs: Vec<_> = (0..3).map(|index| run(&flat, &ends, index)).collect();
        assert_eq!(runs, [&[1, 2][..], &[], &[3, 4]]);
        assert!(catch_unwind(|| run(&flat, &ends, 3)).is_err());
        assert!(catch_unwind(|| run(&flat, &[5], 0)).is_err());
    }

    #[test]
    fn a_place_outside_stops() {
        assert_eq!((part(&[1, 2], 1..), text_part("né", 1..), *at(&[7], 0)), (&[2][..], "é", 7));
        assert!(catch_unwind(|| part(&[1, 2], 1..3)).is_err());
        assert!(catch_unwind(|| text_part("né", 2..)).is_err());
        assert!(catch_unwind(|| at::<u8>(&[], 0)).is_err());
    }
}
