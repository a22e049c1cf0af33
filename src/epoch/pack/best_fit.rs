//! Best-fit-decreasing bin packing over counts of sizes: the rows of per-item packing, many at a time.
//!
//! Sizes are taken from the largest down. With `k` items of size `x` left, the rows with the least free space `s >= x`
//! are taken; each holds `s / x` more copies, and per-item packing would fill one such row before the next, because the
//! row just begun has less space than the others. So whole rows get `s / x` copies, at most one gets the rest, and when
//! no row has room, new ones are opened. That is per-item packing exactly. To give each row one copy in turn is another
//! packing: with capacity 20, sizes 12, 12, 4, 4, 3, 3, 2 would then take three rows, and take two here.
//!
//! The outcome is a list of patterns (sizes of a row, and how many rows have them) whose length depends on the capacity
//! and not on the number of documents.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Equal rows: what each holds, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPattern {
    /// What each row holds, in placing order.
    pub items: Vec<PatternItem>,
    /// How many rows.
    pub rows: u64,
    /// Tokens of each row.
    pub tokens: u32,
}

impl RowPattern {
    /// Items of each row.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.items.iter().map(|item| item.copies as usize).sum()
    }
}

/// Equal items of a pattern. Row `r` of the pattern holds the items `first + r * copies` and the
/// `copies - 1` after it, counted among all items of the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternItem {
    /// Tokens of the item.
    pub size: u32,
    /// Items of that size in one row.
    pub copies: u32,
    /// Ordinal of the pattern's first item of that size.
    pub first: u64,
}

impl PatternItem {
    /// Ordinals of the items that row `row` of the pattern holds.
    #[must_use]
    pub fn ordinals(&self, row: u64) -> Range<u64> {
        let first = self.first + row * u64::from(self.copies);
        first..first + u64::from(self.copies)
    }
}

/// All rows of one pass over a source.
#[derive(Clone, Debug, Default)]
pub struct RowPatterns {
    patterns: Vec<RowPattern>,
    /// Rows up to and with each pattern.
    ends: Vec<u64>,
    /// For each run of `2^shift` rows, the pattern of its first row.
    guides: Vec<u32>,
    shift: u32,
}

/// Runs of rows that have a guide, about.
const GUIDES: u32 = 12;

/// A step of filling: rows that hold what `parent` holds and `copies` of `size`.
struct FillNode {
    parent: Option<usize>,
    size: u32,
    copies: u32,
}

/// Rows by free space; rows of equal space are in order of arrival.
struct RowFilling {
    nodes: Vec<FillNode>,
    open: BTreeMap<u32, VecDeque<(usize, u64)>>,
    full: Vec<(usize, u64)>,
}

impl RowPatterns {
    /// Packs `items`, given as (size, count) with the largest size first, into rows of `capacity`. Sizes are in
    /// `1..=capacity`.
    pub(super) fn best_fit(items: impl Iterator<Item = (u32, u64)>, capacity: u32) -> Self {
        let mut filling = RowFilling { nodes: Vec::new(), open: BTreeMap::new(), full: Vec::new() };
        for (size, count) in items {
            if size > 0 && size <= capacity {
                filling.place(size, count, capacity);
            }
        }
        filling.into_patterns(capacity)
    }

    /// Each item a row by itself, given as (size, count).
    #[must_use]
    pub fn single(items: impl Iterator<Item = (u32, u64)>) -> Self {
        let items = items.map(|(size, rows)| {
            let items = vec![PatternItem { size, copies: 1, first: 0 }];
            RowPattern { items, rows, tokens: size }
        });
        Self::of(items.collect())
    }

    /// These patterns, with guides to them: nearly every row is found without a search.
    pub(super) fn of(patterns: Vec<RowPattern>) -> Self {
        let mut packed = Self { patterns, ..Self::default() };
        let mut end = 0;
        packed.ends = packed
            .patterns
            .iter()
            .map(|pattern| {
                end += pattern.rows;
                end
            })
            .collect();
        packed.guided()
    }

    fn guided(mut self) -> Self {
        let bits = u64::BITS - self.rows().leading_zeros();
        self.shift = bits.saturating_sub(GUIDES);
        let mut at = 0;
        let starts = (0..=self.rows() >> self.shift).map(|run| run << self.shift);
        for start in starts {
            while self.ends.get(at).is_some_and(|end| *end <= start) {
                at += 1;
            }
            self.guides.push(u32::try_from(at).unwrap_or(u32::MAX));
        }
        self
    }

    /// Rows of one pass.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The patterns.
    #[must_use]
    pub fn patterns(&self) -> &[RowPattern] {
        &self.patterns
    }

    /// The pattern of `row`, and the row's number among those of the pattern; none past the last.
    #[must_use]
    pub fn row(&self, row: u64) -> Option<(&RowPattern, u64)> {
        let run = usize::try_from(row >> self.shift).ok()?;
        let from = *self.guides.get(run)? as usize;
        let to = self.guides.get(run + 1).map_or(self.ends.len(), |to| *to as usize + 1);
        let near = self.ends.get(from..to.min(self.ends.len()))?;
        let at = from + near.partition_point(|end| *end <= row);
        let pattern = self.patterns.get(at)?;
        let before = at.checked_sub(1).and_then(|at| self.ends.get(at)).copied().unwrap_or(0);
        Some((pattern, row - before))
    }
}

impl RowFilling {
    fn place(&mut self, size: u32, mut left: u64, capacity: u32) {
        while left > 0 {
            let Some((space, (node, rows))) = self.take_fitting(size) else {
                self.open_rows(size, left, capacity);
                return;
            };
            let copies = space / size;
            let whole = rows.min(left / u64::from(copies));
            left -= whole * u64::from(copies);
            self.add(Some(node), size, copies, space, whole);
            let mut untouched = rows - whole;
            if untouched > 0 && left > 0 {
                // Less than `copies` are left: one row takes them all.
                let rest = u32::try_from(left).unwrap_or(copies);
                self.add(Some(node), size, rest, space, 1);
                untouched -= 1;
                left = 0;
            }
            if untouched > 0 {
                self.open.entry(space).or_default().push_front((node, untouched));
            }
        }
    }

    /// Takes the first group of rows with the least free space that is at least `size`.
    fn take_fitting(&mut self, size: u32) -> Option<(u32, (usize, u64))> {
        let (space, groups) = self.open.range_mut(size..).next()?;
        let space = *space;
        let group = groups.pop_front();
        if groups.is_empty() {
            self.open.remove(&space);
        }
        group.map(|group| (space, group))
    }

    fn open_rows(&mut self, size: u32, left: u64, capacity: u32) {
        let copies = capacity / size;
        let whole = left / u64::from(copies);
        self.add(None, size, copies, capacity, whole);
        let rest = u32::try_from(left % u64::from(copies)).unwrap_or(0);
        if rest > 0 {
            self.add(None, size, rest, capacity, 1);
        }
    }

    /// `rows` rows with `space` free get `copies` of `size` each.
    fn add(&mut self, parent: Option<usize>, size: u32, copies: u32, space: u32, rows: u64) {
        if rows == 0 {
            return;
        }
        let node = self.nodes.len();
        self.nodes.push(FillNode { parent, size, copies });
        match space - size * copies {
            0 => self.full.push((node, rows)),
            space => self.open.entry(space).or_default().push_back((node, rows)),
        }
    }

    fn into_patterns(self, capacity: u32) -> RowPatterns {
        let open = self
            .open
            .iter()
            .flat_map(|(space, groups)| groups.iter().map(|group| (*space, *group)));
        let full = self.full.iter().map(|group| (0, *group));
        let mut next: BTreeMap<u32, u64> = BTreeMap::new();
        let mut patterns = Vec::new();
        for (space, (node, rows)) in full.chain(open) {
            let mut items = Vec::new();
            let mut at = Some(node);
            while let Some(node) = at.and_then(|at| self.nodes.get(at)) {
                let first = next.entry(node.size).or_default();
                items.push(PatternItem { size: node.size, copies: node.copies, first: *first });
                *first += u64::from(node.copies) * rows;
                at = node.parent;
            }
            items.reverse();
            patterns.push(RowPattern { items, rows, tokens: capacity - space });
        }
        RowPatterns::of(patterns)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    type Counts = BTreeMap<u32, u64>;

    /// Best-fit-decreasing item by item: the rows as lists of sizes, sorted.
    fn naive(sizes: &Counts, capacity: u32) -> Vec<Vec<u32>> {
        let mut rows: Vec<(u32, Vec<u32>)> = Vec::new();
        for (size, count) in sizes.iter().rev() {
            for _ in 0..*count {
                let best =
                    rows.iter_mut().filter(|(free, _)| free >= size).min_by_key(|(free, _)| *free);
                match best {
                    Some((free, row)) => {
                        *free -= size;
                        row.push(*size);
                    }
                    None => rows.push((capacity - size, vec![*size])),
                }
            }
        }
        let mut rows: Vec<Vec<u32>> = rows.into_iter().map(|(_, row)| row).collect();
        rows.sort();
        rows
    }

    /// Lognormal lengths of 10^9 documents as web text has them: chunks of long ones and what is left, by size.
    pub fn web_like(capacity: u32) -> Counts {
        let documents = 1e9;
        let (mu, sigma) = (6.0_f64, 1.2_f64);
        let mut sizes = Counts::new();
        for length in 1..200_000_u32 {
            let x = (f64::from(length).ln() - mu) / sigma;
            let density = (-x * x / 2.0).exp()
                / (f64::from(length) * sigma * (2.0 * std::f64::consts::PI).sqrt());
            let count = (density * documents).round() as u64;
            let (full, tail) = (length / capacity, length % capacity);
            *sizes.entry(capacity).or_default() += count * u64::from(full);
            if tail > 0 {
                *sizes.entry(tail).or_default() += count;
            }
        }
        sizes
    }

    fn expand(patterns: &RowPatterns) -> Vec<Vec<u32>> {
        let mut rows = Vec::new();
        for pattern in patterns.patterns() {
            let row: Vec<u32> = pattern
                .items
                .iter()
                .flat_map(|item| std::iter::repeat_n(item.size, item.copies as usize))
                .collect();
            rows.extend(std::iter::repeat_n(row, pattern.rows as usize));
        }
        rows.sort();
        rows
    }

    proptest! {
        #[test]
        fn bins_are_those_of_per_item_packing(
            sizes in proptest::collection::btree_map(1_u32..=40, 1_u64..30, 0..25),
            capacity in 40_u32..50,
        ) {
            let patterns = RowPatterns::best_fit(sizes.iter().rev().map(|(s, n)| (*s, *n)), capacity);
            let rows = naive(&sizes, capacity);
            prop_assert_eq!(patterns.rows(), rows.len() as u64);
            for pattern in patterns.patterns() {
                let tokens: u32 = pattern.items.iter().map(|item| item.size * item.copies).sum();
                prop_assert_eq!(tokens, pattern.tokens);
                prop_assert!(tokens <= capacity);
            }
            // Which of two rows with equal space takes an item is free; the spaces left are not.
            let spaces = |rows: &[Vec<u32>]| {
                let mut sums: Vec<u32> = rows.iter().map(|row| row.iter().sum()).collect();
                sums.sort_unstable();
                sums
            };
            prop_assert_eq!(spaces(&expand(&patterns)), spaces(&rows));
        }

        #[test]
        fn every_item_has_one_place(
            sizes in proptest::collection::btree_map(1_u32..=64, 1_u64..20, 1..30),
            most in proptest::option::of(1_u32..20),
        ) {
            let patterns = RowPatterns::pack(sizes.iter().rev().map(|(s, n)| (*s, *n)), 64, most);
            let mut places: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
            for row in 0..patterns.rows() {
                let (pattern, nth) = patterns.row(row).unwrap();
                for item in &pattern.items {
                    let first = item.first + nth * u64::from(item.copies);
                    places.entry(item.size).or_default().extend(first..first + u64::from(item.copies));
                }
            }
            prop_assert!(patterns.row(patterns.rows()).is_none());
            for (size, count) in sizes {
                let mut ordinals = places.remove(&size).unwrap();
                ordinals.sort_unstable();
                prop_assert!(ordinals.into_iter().eq(0..count));
            }
        }
    }

    #[test]
    fn one_row_is_filled_before_the_next_is_begun() {
        let sizes = Counts::from([(12, 2), (4, 2), (3, 2), (2, 1)]);
        let patterns = RowPatterns::best_fit(sizes.iter().rev().map(|(s, n)| (*s, *n)), 20);
        assert_eq!(expand(&patterns), vec![vec![12, 3, 3, 2], vec![12, 4, 4]]);
    }

    /// Efficiency and plan size of the published table.
    #[test]
    fn web_like_lengths_pack_almost_full_in_few_patterns() {
        let capacity = 2048;
        let sizes = web_like(capacity);
        let tokens: u64 = sizes.iter().map(|(size, n)| u64::from(*size) * n).sum();
        let patterns = RowPatterns::best_fit(sizes.iter().rev().map(|(s, n)| (*s, *n)), capacity);
        let efficiency = tokens as f64 / (patterns.rows() as f64 * f64::from(capacity));
        assert!(efficiency > 0.99998, "{efficiency}");
        assert!(patterns.patterns().len() < 20_000, "{}", patterns.patterns().len());
    }
}
