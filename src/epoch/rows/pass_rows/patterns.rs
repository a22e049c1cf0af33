//! Rows by pattern: the lengths that share a row are known for all rows, its documents are found by length and rank.

use super::documents::PassDocuments;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::LengthIndex;
use crate::epoch::pack::{PackItem, PackItems, RowPattern, RowPatterns, Segment};
use crate::epoch::permutation::Purpose;
use crate::epoch::recipe::MixUnit;
use crate::epoch::rows::PassCount;

/// The rows of a pool by pattern.
pub struct PatternedRows {
    items: PackItems,
    patterns: RowPatterns,
    /// None where rows are only counted.
    classes: Option<Box<LengthIndex>>,
}

impl PatternedRows {
    /// Packs what a pool holds; `classes` finds its documents.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when the plan does not pin the pass.
    pub fn pack(
        held: &PassDocuments,
        classes: Option<Box<LengthIndex>>,
    ) -> Result<Self, EpochError> {
        let policy = &held.rules.policy;
        let items = PackItems::of(&held.histogram, held.at.coverage()?.parts.segments(), policy);
        let patterns = items.patterns(policy);
        Ok(Self { items, patterns, classes })
    }

    /// Rows of a pass.
    pub fn rows(&self) -> u64 {
        self.patterns.rows()
    }

    /// Rows of a pass that are full by segments alone.
    pub fn segment_full_rows(&self, held: &PassDocuments) -> u64 {
        let policy = &held.rules.policy;
        let full = self.patterns.patterns().iter();
        let full = full.filter(|found| policy.is_full_by_segments(found.segments(), found.tokens));
        full.map(|pattern| pattern.rows).sum()
    }

    /// What one pass comes to, where rows count without their documents.
    pub fn count(&self, held: &PassDocuments) -> PassCount {
        let capacity = held.rules.policy.capacity;
        let full = self.patterns.patterns().iter().filter(|found| found.tokens == capacity);
        let full_rows = full.map(|pattern| pattern.rows).sum();
        let (rows, tokens) = (self.patterns.rows(), held.packed_tokens);
        let amount = if held.rules.unit == MixUnit::Rows { rows } else { tokens };
        let segment_full_rows = self.segment_full_rows(held);
        PassCount { rows, full_rows, segment_full_rows, tokens, amount }
    }

    /// Real tokens of row `index`, and what it counts in the mix's unit.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when there is no such row; [`EpochError::Store`].
    pub fn size(
        &self,
        held: &PassDocuments,
        pass: u32,
        index: u64,
    ) -> Result<(u32, u64), EpochError> {
        let (pattern, nth) = self.patterns.row(index).ok_or_else(|| held.no_row(index))?;
        let mut tokens = pattern.tokens;
        let mut begun = 0;
        if held.rules.policy.multiple > 1 || held.rules.unit == MixUnit::Documents {
            tokens = 0;
            for item in self.items_of(held, pattern, nth, pass)? {
                tokens += item.tokens();
                begun += u64::from(item.offset() == 0);
            }
        }
        let amount = match held.rules.unit {
            MixUnit::Documents => begun,
            _ => held.amount(tokens, || self.segments(held, pass, index))?,
        };
        Ok((tokens, amount))
    }

    /// The items of a row, in placing order.
    fn items_of(
        &self,
        held: &PassDocuments,
        pattern: &RowPattern,
        nth: u64,
        pass: u32,
    ) -> Result<Vec<PackItem>, EpochError> {
        let mut found = Vec::new();
        for item in &pattern.items {
            let count = self.items.count(item.size);
            let order = held.permutation(count, pass, Purpose::Items, item.size.into());
            for ordinal in item.ordinals(nth) {
                let located = self.items.locate(item.size, order.at(ordinal));
                let located = located.ok_or_else(|| EpochError::bug("an item that is nowhere"))?;
                found.push(located);
            }
        }
        Ok(found)
    }

    /// Tokens of each segment of row `index`, without finding its documents.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when there is no such row.
    pub fn segment_lengths(
        &self,
        held: &PassDocuments,
        pass: u32,
        index: u64,
    ) -> Result<Vec<u32>, EpochError> {
        let (pattern, nth) = self.patterns.row(index).ok_or_else(|| held.no_row(index))?;
        let items = self.items_of(held, pattern, nth, pass)?;
        Ok(items.iter().map(PackItem::tokens).collect())
    }

    /// What is in row `index`.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when there is no such row, or rows are only counted; [`EpochError::Store`].
    pub fn segments(
        &self,
        held: &PassDocuments,
        pass: u32,
        index: u64,
    ) -> Result<Vec<Segment>, EpochError> {
        let Some(classes) = &self.classes else {
            return Err(EpochError::bug("a source opened to count was asked for a row"));
        };
        let (pattern, nth) = self.patterns.row(index).ok_or_else(|| held.no_row(index))?;
        let layers = held.at.coverage()?.whole.layers();
        let mut segments = Vec::new();
        for item in self.items_of(held, pattern, nth, pass)? {
            segments.push(match item {
                PackItem::Part(part) => part,
                PackItem::Ranked { length, rank, offset, tokens } => Segment {
                    document: classes.select(&held.lengths, layers, length, rank)?,
                    offset,
                    length: tokens,
                    document_length: length,
                },
            });
        }
        Ok(segments)
    }
}
