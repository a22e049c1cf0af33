//! Gives group numbers to combinations of codes, in the order in which they come.

use model::invariant::at;
use std::collections::HashMap;

/// Places of the table by group and code, of 4 bytes each; a larger table is replaced by a hash map.
const PLACES: usize = 1 << 20;
/// Recent combinations, each at the place that its low bits say; a power of two.
const RECENT: usize = 1 << 12;

/// The groups so far.
pub(super) struct GroupNumbering {
    /// One step for each column after the first: groups of the columns up to it.
    steps: Vec<GroupingStep>,
    /// For each code of the first column its group plus one; 0 for a code that no row has had.
    places: Vec<u32>,
    /// The codes of the first column, in the order in which they came.
    firsts: Vec<u32>,
}

/// Combines groups of the columns before with codes of the next one.
#[derive(Default)]
struct GroupingStep {
    /// For every group: the group by the columns before, and the code.
    pairs: Vec<(u32, u32)>,
    ways: GroupLookup,
}

/// Maps a group of the columns before and a code to a group.
enum GroupLookup {
    /// Indexed by the group of the columns before, shifted left by `bits`, and the code; holds the group plus one, 0
    /// for none.
    Table { bits: u32, places: Vec<u32> },
    Hash {
        known: HashMap<(u32, u32), u32>,
        /// Rows of one source come together, so many look-ups end here.
        recent: Vec<Option<((u32, u32), u32)>>,
    },
}

impl Default for GroupLookup {
    fn default() -> Self {
        Self::Table { bits: 0, places: Vec::new() }
    }
}

impl GroupNumbering {
    pub(super) fn of(columns: usize) -> Self {
        let steps = (1..columns).map(|_| GroupingStep::default()).collect();
        Self { steps, places: Vec::new(), firsts: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.steps.last().map_or(self.firsts.len(), |step| step.pairs.len())
    }

    /// The groups of some rows, from their codes column by column.
    pub(super) fn number(&mut self, codes: &[Vec<u32>]) -> Vec<usize> {
        let mut columns = codes.iter();
        let mut numbers = columns.next().cloned().unwrap_or_default();
        let most = numbers.iter().max().map_or(0, |most| *most as usize + 1);
        if self.places.len() < most {
            self.places.resize(most, 0);
        }
        for number in &mut numbers {
            let Some(place) = self.places.get_mut(*number as usize) else { continue };
            if *place == 0 {
                self.firsts.push(*number);
                *place = self.firsts.len() as u32;
            }
            *number = *place - 1;
        }
        for (step, codes) in self.steps.iter_mut().zip(columns) {
            step.number(&mut numbers, codes);
        }
        numbers.into_iter().map(|number| number as usize).collect()
    }

    /// The codes of every group, column by column.
    pub(super) fn codes(&self) -> Vec<Vec<u32>> {
        let mut groups: Vec<u32> = (0..self.len()).map(|group| group as u32).collect();
        let mut columns = Vec::with_capacity(self.steps.len() + 1);
        for step in self.steps.iter().rev() {
            let pair = |group: &u32| *at(&step.pairs, *group as usize);
            columns.push(groups.iter().map(|group| pair(group).1).collect());
            groups = groups.iter().map(|group| pair(group).0).collect();
        }
        let first = |group: &u32| *at(&self.firsts, *group as usize);
        columns.push(groups.iter().map(first).collect());
        columns.reverse();
        columns
    }
}

impl GroupingStep {
    /// Replaces each row's group by the columns before by its group with this column.
    fn number(&mut self, numbers: &mut [u32], codes: &[u32]) {
        let most = |of: &[u32]| of.iter().max().copied().unwrap_or_default();
        self.make_room(most(numbers), most(codes));
        let Self { pairs, ways } = self;
        let mut next = |pair| {
            pairs.push(pair);
            pairs.len() as u32 - 1
        };
        match ways {
            GroupLookup::Table { bits, places } => {
                for (number, code) in numbers.iter_mut().zip(codes) {
                    let place = ((*number as usize) << *bits) | *code as usize;
                    let Some(place) = places.get_mut(place) else { continue };
                    if *place == 0 {
                        *place = next((*number, *code)) + 1;
                    }
                    *number = *place - 1;
                }
            }
            GroupLookup::Hash { known, recent } => {
                for (number, code) in numbers.iter_mut().zip(codes) {
                    let pair = (*number, *code);
                    let place = (pair.0.wrapping_mul(0x9e37_79b1) ^ pair.1) as usize % RECENT;
                    if let Some(Some((met, group))) = recent.get(place)
                        && *met == pair
                    {
                        *number = *group;
                        continue;
                    }
                    *number = *known.entry(pair).or_insert_with(|| next(pair));
                    if let Some(place) = recent.get_mut(place) {
                        *place = Some((pair, *number));
                    }
                }
            }
        }
    }

    /// Widens the table for these numbers and codes, or changes to a hash map.
    fn make_room(&mut self, most_number: u32, most_code: u32) {
        let GroupLookup::Table { bits, places } = &mut self.ways else { return };
        let needed = u32::BITS - most_code.leading_zeros();
        let (widened, is_wider) = (needed.max(*bits), needed > *bits);
        let pairs = || (0..).zip(&self.pairs);
        let before = pairs().filter(|_| is_wider).map(|(_, pair)| pair.0).max().unwrap_or_default();
        let wanted = (u64::from(most_number.max(before)) + 1) << widened;
        if wanted > PLACES as u64 {
            let known = pairs().map(|(group, pair)| (*pair, group)).collect();
            self.ways = GroupLookup::Hash { known, recent: vec![None; RECENT] };
            return;
        }
        if is_wider {
            *bits = widened;
            places.clear();
        }
        let had = places.len();
        places.resize(had.max(wanted as usize), 0);
        for (group, (number, code)) in pairs().filter(|_| is_wider) {
            if let Some(place) = places.get_mut(((*number as usize) << widened) | *code as usize) {
                *place = group + 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_code_that_no_row_has_is_no_group() {
        // Groups of one column were its codes up to the largest one, whether a row had them or not.
        let mut groups = GroupNumbering::of(1);
        assert_eq!(groups.number(&[vec![5, 2, 5]]), [0, 1, 0]);
        assert_eq!(groups.number(&[vec![2, 9]]), [1, 2]);
        assert_eq!((groups.len(), groups.codes()), (3, vec![vec![5, 2, 9]]));
    }

    proptest! {
        #[test]
        fn rows_have_one_number_when_they_have_the_same_codes(
            rows in proptest::collection::vec((0_u32..7, 0_u32..5000, 0_u32..3), 0..300),
            // The codes of the last column: few, so many that its table grows, or too many for one.
            wide in prop_oneof![Just(1_u32), Just(97), Just(1 << 19)],
            cut in 0_usize..300,
        ) {
            let rows: Vec<(u32, u32, u32)> =
                rows.into_iter().map(|row| (row.0, row.1, row.2 * wide)).collect();
            let mut groups = GroupNumbering::of(3);
            let mut numbers = Vec::new();
            let (first, second) = rows.split_at(cut.min(rows.len()));
            for rows in [first, second] {
                let columns = [
                    rows.iter().map(|row| row.0).collect(),
                    rows.iter().map(|row| row.1).collect(),
                    rows.iter().map(|row| row.2).collect::<Vec<u32>>(),
                ];
                numbers.extend(groups.number(&columns));
            }
            let codes = groups.codes();
            for (row, number) in rows.iter().zip(numbers) {
                prop_assert_eq!(*row, (codes[0][number], codes[1][number], codes[2][number]));
            }
            let mut distinct = rows.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(groups.len(), distinct.len());
        }
    }
}
