//! Bin packing with a limit of items a row: the rows of `pack.most_segments`, many at a time.
//!
//! Best-fit-decreasing puts few large items into most rows and leaves the small ones for the last, which would be rows
//! with as many items as they may have, and hardly filled. So rows are filled one after the other: each takes the largest
//! item left, then some of the smallest, then the largest that fit, until it is full or has as many as it may. How many
//! of the smallest is the one choice that is open, and some are tried: the fewest rows decide.
//!
//! Equal rows are found together: what the first of them takes, the following ones take too, as long as there is enough.

use super::best_fit::{PatternItem, RowPattern};
use std::collections::BTreeMap;

/// Choices tried one after the other without fewer rows, before the search ends.
const IN_VAIN: u32 = 2;

/// Packs `items`, counts by size, into rows of `capacity` with `most` items each at most.
pub(super) fn pack(items: &BTreeMap<u32, u64>, capacity: u32, most: u32) -> Vec<RowPattern> {
    let places: u128 = items.iter().map(|(size, n)| u128::from(*size) * u128::from(*n)).sum();
    let count: u128 = items.values().copied().map(u128::from).sum();
    let least = places.div_ceil(capacity.max(1).into()).max(count.div_ceil(most.max(1).into()));
    let mut best = fill(items.clone(), capacity, most, 0);
    let (mut smallest, mut in_vain) = (1, 0);
    // One place is for the item that fits best, and one for the largest. A row in a thousand is not worth the search.
    while smallest + 2 <= most && rows(&best) * 1000 > least * 1001 && in_vain < IN_VAIN {
        let tried = fill(items.clone(), capacity, most, smallest);
        if rows(&tried) < rows(&best) {
            (best, in_vain) = (tried, 0);
        } else {
            in_vain += 1;
        }
        smallest += (smallest / 2).max(1);
    }
    best
}

fn rows(patterns: &[RowPattern]) -> u128 {
    patterns.iter().map(|pattern| u128::from(pattern.rows)).sum()
}

/// Fills rows one after the other, each with `smallest` of the smallest items, where they fit.
fn fill(mut left: BTreeMap<u32, u64>, capacity: u32, most: u32, smallest: u32) -> Vec<RowPattern> {
    let mut patterns = Vec::new();
    let mut given: BTreeMap<u32, u64> = BTreeMap::new();
    while let Some((largest, _)) = left.last_key_value() {
        let largest = *largest;
        let mut row =
            Filling { left: &mut left, items: BTreeMap::new(), space: capacity, room: most };
        row.take(largest, 1);
        let mut small = smallest.min(row.room.saturating_sub(1));
        while small > 0
            && let Some(size) = row.left.keys().next().copied().filter(|size| *size <= row.space)
        {
            small -= row.take(size, small);
        }
        while row.room > 0
            && let Some(size) = row.left.range(..=row.space).next_back().map(|(size, _)| *size)
        {
            row.take(size, u32::MAX);
        }
        let Filling { items, space, .. } = row;
        let enough = |(size, copies): (&u32, &u32)| {
            left.get(size).map_or(0, |left| left / u64::from((*copies).max(1)))
        };
        let more = items.iter().map(enough).min().unwrap_or(0);
        let mut found = Vec::new();
        for (size, copies) in items.into_iter().rev() {
            take_from(&mut left, size, more * u64::from(copies));
            let first = given.entry(size).or_default();
            found.push(PatternItem { size, copies, first: *first });
            *first += (1 + more) * u64::from(copies);
        }
        patterns.push(RowPattern { items: found, rows: 1 + more, tokens: capacity - space });
    }
    patterns
}

/// A row under way.
struct Filling<'a> {
    left: &'a mut BTreeMap<u32, u64>,
    /// What it has, counts by size.
    items: BTreeMap<u32, u32>,
    space: u32,
    /// Items that it may still get.
    room: u32,
}

impl Filling<'_> {
    /// Takes items of `size`, which fits: as many as fit, are left and are allowed, `most` at most; answers how many.
    fn take(&mut self, size: u32, most: u32) -> u32 {
        let left = self.left.get(&size).copied().unwrap_or(0);
        let fits = most.min(self.room).min(self.space / size.max(1));
        let copies = u32::try_from(left).map_or(fits, |left| left.min(fits));
        take_from(self.left, size, copies.into());
        *self.items.entry(size).or_default() += copies;
        self.space -= size * copies;
        self.room -= copies;
        copies
    }
}

/// Takes items of a size from those that are left; none is left of a size without.
fn take_from(left: &mut BTreeMap<u32, u64>, size: u32, count: u64) {
    if let Some(of) = left.get_mut(&size) {
        *of -= count;
        if *of == 0 {
            left.remove(&size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::pack::RowPatterns;
    use crate::epoch::pack::best_fit::tests::web_like;
    use proptest::prelude::*;

    type Counts = BTreeMap<u32, u64>;

    /// Row by row and item by item, from a sorted list.
    fn naive(items: &Counts, capacity: u32, most: usize, smallest: usize) -> Vec<Vec<u32>> {
        let each = |(size, n): (&u32, &u64)| std::iter::repeat_n(*size, *n as usize);
        let mut left: Vec<u32> = items.iter().flat_map(each).collect();
        let mut rows = Vec::new();
        while let Some(largest) = left.pop() {
            let mut row = vec![largest];
            let free = |row: &[u32]| capacity - row.iter().sum::<u32>();
            while row.len() <= smallest && row.len() + 1 < most {
                match left.first() {
                    Some(size) if *size <= free(&row) => row.push(left.remove(0)),
                    _ => break,
                }
            }
            while row.len() < most
                && let Some(at) = left.iter().rposition(|size| *size <= free(&row))
            {
                row.push(left.remove(at));
            }
            row.sort_unstable();
            rows.push(row);
        }
        rows.sort();
        rows
    }

    fn expand(patterns: &[RowPattern]) -> Vec<Vec<u32>> {
        let mut rows = Vec::new();
        for pattern in patterns {
            let each = pattern.items.iter().rev();
            let row = each.flat_map(|item| std::iter::repeat_n(item.size, item.copies as usize));
            rows.extend(std::iter::repeat_n(row.collect::<Vec<u32>>(), pattern.rows as usize));
        }
        rows.sort();
        rows
    }

    proptest! {
        #[test]
        fn equal_rows_are_those_of_filling_one_by_one(
            items in proptest::collection::btree_map(1_u32..=40, 1_u64..30, 0..25),
            capacity in 40_u32..50,
            most in 1_u32..9,
            smallest in 0_u32..8,
        ) {
            let patterns = fill(items.clone(), capacity, most, smallest);
            let rows = naive(&items, capacity, most as usize, smallest as usize);
            prop_assert_eq!(expand(&patterns), rows);
        }

        /// Every item has a row, no row has more than it may, and what is tried never costs rows.
        #[test]
        fn no_row_has_more_items_than_it_may(
            items in proptest::collection::btree_map(1_u32..=64, 1_u64..200, 1..40),
            capacity in 64_u32..200,
            most in 1_u32..40,
        ) {
            let patterns = pack(&items, capacity, most);
            let mut found = Counts::new();
            for pattern in &patterns {
                prop_assert!((1..=most as usize).contains(&pattern.segments()));
                let places: u32 = pattern.items.iter().map(|item| item.size * item.copies).sum();
                prop_assert!(places == pattern.tokens && places <= capacity);
                for item in &pattern.items {
                    *found.entry(item.size).or_default() += u64::from(item.copies) * pattern.rows;
                }
            }
            prop_assert_eq!(&found, &items);
            prop_assert!(rows(&patterns) <= rows(&fill(items.clone(), capacity, most, 0)));
        }

        /// A limit that no row reaches is none.
        #[test]
        fn a_limit_that_no_row_reaches_changes_nothing(
            items in proptest::collection::btree_map(1_u32..=64, 1_u64..20, 1..30),
        ) {
            let sizes = || items.iter().rev().map(|(size, n)| (*size, *n));
            let free = RowPatterns::pack(sizes(), 64, None);
            let most = free.patterns().iter().map(RowPattern::segments).max().unwrap() as u32;
            let limited = RowPatterns::pack(sizes(), 64, Some(most));
            prop_assert_eq!(limited.patterns(), free.patterns());
            let one_less = RowPatterns::pack(sizes(), 64, Some(most - 1).filter(|most| *most > 0));
            prop_assert!(most == 1 || one_less.patterns() != free.patterns());
        }
    }

    /// Lognormal lengths as web text has them, ten a row of 8,192 on average: per mille of the places that are filled, with
    /// the limit alone and with small documents in rows that have room, as docs/explanation/epochs.md says.
    #[test]
    fn small_documents_are_spread_over_rows_that_have_room() {
        let mut items = web_like(8192);
        items.retain(|_, n| *n > 0);
        let places: u64 = items.iter().map(|(size, n)| u64::from(*size) * n).sum();
        let filled = |patterns: &[RowPattern]| {
            let share = places as f64 / (rows(patterns) as f64 * 8192.0);
            (share * 1000.0).round() as u32
        };
        let found = [32, 16, 8].map(|most| {
            let alone = filled(&fill(items.clone(), 8192, most, 0));
            (most, alone, filled(&pack(&items, 8192, most)))
        });
        assert_eq!(found, [(32, 953, 998), (16, 838, 996), (8, 618, 762)]);
    }
}
