//! Evaluates a predicate on one block of documents by bitmaps, and by column scans where min and max do not decide.
//!
//! Ranges of numbers are compared in the width in which a block stores them; a key is looked up, not scanned for.

use super::intervals::IntervalSet;
use super::predicate::Predicate;
use crate::sql::error::SqlError;
use crate::sql::keys::find_keys;
use model::{BLOCK_SIZE, ColumnId, DocId, TermId};
use roaring::{RoaringBitmap, RoaringTreemap};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use store::system_fields;
use store::{NumberBlockHandle, NumberBlockRef, StoreError, View};

/// Where the documents in question are at most one in this many, a column is read value by value, not scanned.
const SPARSE: u64 = 8;

/// The indexes of one block. A trait, so that laws are tested without a database.
pub(crate) trait IndexBlock {
    /// The documents of the block, as ids.
    fn documents(&self) -> Range<u64>;
    /// Slots that have a term.
    fn posting(&self, term: TermId) -> Result<RoaringBitmap, StoreError>;
    /// What `read` makes of a column's stored values; none where no document of the block has one.
    fn values<T>(
        &self,
        column: ColumnId,
        read: impl FnOnce(&NumberBlockRef<'_>) -> T,
    ) -> Result<Option<T>, StoreError>;

    /// All slots of the block.
    fn slots(&self) -> RoaringBitmap {
        let documents = self.documents();
        let mut slots = RoaringBitmap::new();
        slots.insert_range(0..u32::try_from(documents.end - documents.start).unwrap_or(u32::MAX));
        slots
    }
}

/// A block of a view; each column is read once, and kept encoded.
pub(crate) struct StoredBlock<'a> {
    view: &'a View,
    number: u64,
    columns: RefCell<BTreeMap<ColumnId, Rc<NumberBlockHandle<'a>>>>,
}

impl<'a> StoredBlock<'a> {
    pub(crate) const fn new(view: &'a View, number: u64) -> Self {
        Self { view, number, columns: RefCell::new(BTreeMap::new()) }
    }

    /// The document at a slot.
    pub(crate) const fn document(&self, slot: u16) -> DocId {
        DocId::at(self.number, slot)
    }

    /// A column as it is stored.
    pub(crate) fn column(&self, column: ColumnId) -> Result<Rc<NumberBlockHandle<'a>>, StoreError> {
        if let Some(known) = self.columns.borrow().get(&column) {
            return Ok(Rc::clone(known));
        }
        let read = Rc::new(self.view.column(column, self.number)?);
        self.columns.borrow_mut().insert(column, Rc::clone(&read));
        Ok(read)
    }
}

impl IndexBlock for StoredBlock<'_> {
    fn documents(&self) -> Range<u64> {
        let start = self.number * BLOCK_SIZE;
        start..self.view.documents().min(start + BLOCK_SIZE).max(start)
    }

    fn posting(&self, term: TermId) -> Result<RoaringBitmap, StoreError> {
        self.view.posting_block(term, self.number)
    }

    fn values<T>(
        &self,
        column: ColumnId,
        read: impl FnOnce(&NumberBlockRef<'_>) -> T,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.column(column)?.values()?.map(|values| read(&values)))
    }
}

/// A predicate whose values have been looked up in the term dictionary.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ResolvedPredicate {
    All,
    Nothing,
    /// Cheapest part first.
    And(Vec<ResolvedPredicate>),
    Or(Vec<ResolvedPredicate>),
    NotTrue(Box<ResolvedPredicate>),
    Id(IntervalSet),
    /// One of these documents.
    Within(Arc<RoaringTreemap>),
    Number {
        column: ColumnId,
        within: IntervalSet,
    },
    Terms(Vec<TermId>),
    /// Has a value, and none of these; without a column, every document has a value.
    OtherTerms {
        terms: Vec<TermId>,
        present: Option<ColumnId>,
    },
    Present {
        column: ColumnId,
        negated: bool,
    },
}

impl ResolvedPredicate {
    /// Looks the predicate's values up in a view.
    pub(crate) fn resolve(predicate: &Predicate, view: &View) -> Result<Self, SqlError> {
        Ok(match predicate {
            Predicate::All => Self::All,
            Predicate::Nothing => Self::Nothing,
            Predicate::And(parts) => {
                let mut parts = Self::resolve_all(parts, view)?;
                parts.sort_by_key(Self::cost);
                Self::And(parts)
            }
            Predicate::Or(parts) => Self::Or(Self::resolve_all(parts, view)?),
            Predicate::NotTrue(inner) => Self::NotTrue(Box::new(Self::resolve(inner, view)?)),
            Predicate::Id(ranges) => Self::Id(ranges.clone()),
            Predicate::Number { column, within } => {
                Self::Number { column: *column, within: within.clone() }
            }
            Predicate::Key { keys, negated } => {
                let documents = find_keys(view, keys)?;
                let single = |id: &DocId| IntervalSet::inclusive(id.0.into(), id.0.into());
                let found = IntervalSet::union_of(documents.iter().map(single));
                Self::Id(if *negated { found.complement() } else { found })
            }
            Predicate::Value { field, values, negated } => {
                let mut terms = Vec::with_capacity(values.len());
                for value in values {
                    terms.extend(view.term(*field, value)?);
                }
                terms.sort_unstable();
                terms.dedup();
                let total = matches!(*field, system_fields::STANDING | system_fields::SOURCE);
                let present = (!total).then(|| system_fields::column_of(*field));
                if *negated { Self::OtherTerms { terms, present } } else { Self::Terms(terms) }
            }
            Predicate::Present { column, negated } => {
                Self::Present { column: *column, negated: *negated }
            }
        })
    }

    fn resolve_all(parts: &[Predicate], view: &View) -> Result<Vec<Self>, SqlError> {
        parts.iter().map(|part| Self::resolve(part, view)).collect()
    }

    /// Rank of the work a block costs.
    fn cost(&self) -> u8 {
        match self {
            Self::All | Self::Nothing | Self::Id(_) | Self::Within(_) => 0,
            Self::Terms(_) | Self::OtherTerms { present: None, .. } => 1,
            Self::And(parts) | Self::Or(parts) => parts.iter().map(Self::cost).max().unwrap_or(0),
            Self::NotTrue(inner) => inner.cost(),
            Self::OtherTerms { .. } | Self::Present { .. } => 2,
            Self::Number { .. } => 3,
        }
    }

    /// The slots of `among` for which the predicate is true.
    pub(crate) fn evaluate(
        &self,
        block: &impl IndexBlock,
        among: &RoaringBitmap,
    ) -> Result<RoaringBitmap, StoreError> {
        if among.is_empty() {
            return Ok(RoaringBitmap::new());
        }
        Ok(match self {
            Self::All => among.clone(),
            Self::Nothing => RoaringBitmap::new(),
            Self::And(parts) => {
                let mut left = among.clone();
                for part in parts {
                    left = part.evaluate(block, &left)?;
                }
                left
            }
            Self::Or(parts) => {
                let mut found = RoaringBitmap::new();
                for part in parts {
                    found |= part.evaluate(block, &(among - &found))?;
                }
                found
            }
            Self::NotTrue(inner) => among - inner.evaluate(block, among)?,
            Self::Id(ranges) => ids(ranges, block.documents()) & among,
            Self::Within(kept) => slots_of(kept, block.documents()) & among,
            Self::Number { column, within } => numbers(block, *column, within, among)?,
            Self::Terms(terms) => among & union(block, terms)?,
            Self::OtherTerms { terms, present } => {
                let others = among - union(block, terms)?;
                match present {
                    Some(column) => with_value(block, *column, &others)?,
                    None => others,
                }
            }
            Self::Present { column, negated } => {
                let present = with_value(block, *column, among)?;
                if *negated { among - present } else { present }
            }
        })
    }

    /// The run of blocks in which the predicate can be true.
    pub(crate) fn blocks(&self, all: Range<u64>) -> Range<u64> {
        match self {
            Self::Nothing => all.start..all.start,
            Self::And(parts) => parts.iter().fold(all, |blocks, part| part.blocks(blocks)),
            Self::Id(ranges) => {
                let block = |id: i64| u64::try_from(id).unwrap_or(0) / BLOCK_SIZE;
                let ids = ranges.bounds().filter(|(_, high)| *high >= 0);
                let blocks = ids.map_or(0..0, |(low, high)| block(low)..block(high) + 1);
                let start = blocks.start.max(all.start);
                start..blocks.end.min(all.end).max(start)
            }
            _ => all,
        }
    }

    /// Whether the predicate can be true for one document only.
    pub(crate) fn is_single(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::And(parts) => parts.iter().any(Self::is_single),
            Self::Id(ranges) => ranges.bounds().is_none_or(|(low, high)| low == high),
            _ => false,
        }
    }

    /// All slots of the block for which the predicate is true.
    pub(crate) fn select(&self, block: &impl IndexBlock) -> Result<RoaringBitmap, StoreError> {
        self.evaluate(block, &block.slots())
    }
}

fn union(block: &impl IndexBlock, terms: &[TermId]) -> Result<RoaringBitmap, StoreError> {
    let mut found = RoaringBitmap::new();
    for term in terms {
        found |= block.posting(*term)?;
    }
    Ok(found)
}

/// Slots of `documents` that are in a set.
fn slots_of(set: &RoaringTreemap, documents: Range<u64>) -> RoaringBitmap {
    let mut inside = set.iter();
    inside.advance_to(documents.start);
    let inside = inside.take_while(|document| *document < documents.end);
    inside.filter_map(|document| u32::try_from(document - documents.start).ok()).collect()
}

/// Slots of `documents` whose ids are in the set.
fn ids(ranges: &IntervalSet, documents: Range<u64>) -> RoaringBitmap {
    let mut found = RoaringBitmap::new();
    let bound = |id: u64| i64::try_from(id).unwrap_or(i64::MAX);
    for (low, high) in ranges.between(bound(documents.start), bound(documents.end)) {
        let low = u64::try_from(low).unwrap_or(0).max(documents.start);
        let Ok(high) = u64::try_from(high) else { continue };
        let end = high.saturating_add(1).min(documents.end);
        if low < end {
            let slot = |id: u64| u32::try_from(id - documents.start).unwrap_or(u32::MAX);
            found.insert_range(slot(low)..slot(end));
        }
    }
    found
}

fn numbers(
    block: &impl IndexBlock,
    column: ColumnId,
    within: &IntervalSet,
    among: &RoaringBitmap,
) -> Result<RoaringBitmap, StoreError> {
    let found = block.values(column, |values| {
        let (low, high) = values.range();
        let mut ranges = within.between(low, high);
        match (ranges.next(), ranges.next()) {
            (None, _) => RoaringBitmap::new(),
            // One range is the common case; it is compared without decoding the column.
            (Some((low, high)), None) => matching(
                values,
                among,
                || values.bits_between(low, high),
                |value| low <= value && value <= high,
            ),
            _ => among
                .iter()
                .filter(|slot| has(values, *slot, |value| within.contains(value)))
                .collect(),
        }
    })?;
    Ok(found.unwrap_or_default())
}

fn with_value(
    block: &impl IndexBlock,
    column: ColumnId,
    among: &RoaringBitmap,
) -> Result<RoaringBitmap, StoreError> {
    let found = block
        .values(column, |values| matching(values, among, || values.bits_present(), |_| true))?;
    Ok(found.unwrap_or_default())
}

/// Slots of `among` whose value satisfies `test`; `all` has a bit for every slot of the block that has a value.
fn matching(
    values: &NumberBlockRef<'_>,
    among: &RoaringBitmap,
    all: impl FnOnce() -> Vec<u8>,
    test: impl Fn(i64) -> bool,
) -> RoaringBitmap {
    if among.len() < BLOCK_SIZE / SPARSE {
        return among.iter().filter(|slot| has(values, *slot, &test)).collect();
    }
    RoaringBitmap::from_lsb0_bytes(0, &all()) & among
}

fn has(values: &NumberBlockRef<'_>, slot: u32, test: impl Fn(i64) -> bool) -> bool {
    u16::try_from(slot).is_ok_and(|slot| values.get(slot).is_some_and(test))
}

/// The slots of a set, which are below the size of a block.
pub(in crate::sql) fn slots_of_bitmap(set: &RoaringBitmap) -> Vec<u16> {
    // roaring 0.12 takes a run of all slots for an empty one when it gives many at a time.
    if set.len() == BLOCK_SIZE {
        return (0..=u16::MAX).collect();
    }
    let mut slots = Vec::with_capacity(set.len() as usize);
    let (mut rest, mut some) = (set.iter(), [0; 1 << 10]);
    loop {
        let next = rest.next_many(&mut some);
        if next.is_empty() {
            return slots;
        }
        slots.extend(next.iter().map(|slot| *slot as u16));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_outside_of_a_run_have_nothing_that_is_looked_for() {
        let id = |low: i128, high: i128| IntervalSet::inclusive(low, high);
        let sets = [
            (id(70_000, 70_000), 1..2),
            (id(-5, 65_535), 0..1),
            (id(65_535, 65_536), 0..2),
            (id(0, i128::from(i64::MAX)), 0..9),
            (id(-9, -1), 0..0),
            (id(3, 2), 0..0),
            (id(900_000, 900_000), 9..9),
            (id(5, 5).union(id(200_000, 200_000)), 0..4),
            (id(5, 5).complement(), 0..9),
        ];
        for (ranges, expected) in sets {
            let test = ResolvedPredicate::Id(ranges.clone());
            let blocks = test.blocks(0..9);
            assert!(
                blocks == expected || blocks.is_empty() && expected.is_empty(),
                "{ranges:?}: {blocks:?}"
            );
            for block in (0..9).filter(|block| !blocks.contains(block)) {
                assert!(ids(&ranges, block * BLOCK_SIZE..(block + 1) * BLOCK_SIZE).is_empty());
            }
            let both = ResolvedPredicate::And(vec![
                ResolvedPredicate::All,
                test,
                ResolvedPredicate::Id(id(0, 300_000)),
            ]);
            let all =
                ResolvedPredicate::Or(vec![ResolvedPredicate::Id(ranges), ResolvedPredicate::All]);
            let within = both.blocks(0..9);
            assert!(within.start >= blocks.start && within.end <= blocks.end.max(within.start));
            assert_eq!(all.blocks(0..9), 0..9);
        }
        assert!(
            ResolvedPredicate::Nothing.blocks(0..9).is_empty()
                && ResolvedPredicate::Nothing.is_single()
        );
        let one = ResolvedPredicate::Id(id(7, 7));
        assert!(ResolvedPredicate::And(vec![ResolvedPredicate::All, one.clone()]).is_single());
        assert!(
            !ResolvedPredicate::Or(vec![one.clone(), ResolvedPredicate::Id(id(9, 9))]).is_single()
        );
        assert!(
            !ResolvedPredicate::NotTrue(Box::new(one)).is_single()
                && !ResolvedPredicate::Id(id(7, 8)).is_single()
        );
    }

    #[test]
    fn slots_are_listed_however_a_set_is_stored() {
        let run = |slots: Range<u32>| {
            let mut set = RoaringBitmap::new();
            set.insert_range(slots);
            set
        };
        let few: RoaringBitmap = [3, 70, 65_535].into_iter().collect();
        let many: RoaringBitmap = (0..65_536).filter(|slot| slot % 3 > 0).collect();
        let runs = run(0..9) | run(4_000..9_000) | run(65_000..65_536);
        for set in
            [RoaringBitmap::new(), few, many, runs, run(0..65_535), run(1..65_536), run(0..65_536)]
        {
            let expected: Vec<u16> = set.iter().map(|slot| u16::try_from(slot).unwrap()).collect();
            assert_eq!(slots_of_bitmap(&set), expected);
        }
    }
}
