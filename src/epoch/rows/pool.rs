//! What one pass over a stratum holds, packed: the rows by pattern, or the order that rows are cut in.

use super::{PassCount, Place, Purpose, RowRef, Rules};
use crate::epoch::classes::ClassIndex;
use crate::epoch::documents::{Lengths, blocks_of};
use crate::epoch::error::EpochError;
use crate::epoch::order::torch::length_grouped_indices;
use crate::epoch::pack::{Fragment, Histogram, Item, Items, Patterns, Segment, own};
use crate::epoch::permutation::{self, Permutation};
use crate::epoch::pinned::{PinnedPool, PinnedSource};
use crate::epoch::recipe::{OrderKind, PackKind, Unit};
use crate::epoch::trained::Trained;
use crate::model::DocId;
use roaring::RoaringTreemap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where a pool stands among what a source pins.
pub(super) struct At {
    pub pinned: Arc<PinnedSource>,
    pub stratum: usize,
    pub pool: usize,
}

impl At {
    fn pool(&self) -> Result<&PinnedPool, EpochError> {
        let stratum = self.pinned.strata.get(self.stratum);
        stratum
            .and_then(|stratum| stratum.pools.get(self.pool))
            .ok_or_else(|| EpochError::bug("a pool that is not pinned"))
    }
}

/// A pool opened to give its rows.
pub(super) struct PoolRows {
    rules: Rules,
    lengths: Lengths,
    trained: Trained,
    at: At,
    /// Name that keys its permutations.
    key: String,
    histogram: Histogram,
    /// Tokens in the rows of a pass, and those at its end that fill none.
    packed_tokens: u64,
    partial_tokens: u64,
    body: Body,
}

enum Body {
    /// Rows by pattern; documents of a row are found by length and rank.
    Patterned { items: Items, patterns: Patterns, classes: Option<Box<ClassIndex>> },
    /// Rows cut from documents in order; the blocks that hold any.
    InOrder { blocks: Vec<u64> },
    /// One row each, put in an order that needs them all in memory.
    Listed { rows: Vec<Fragment> },
}

impl PoolRows {
    pub fn open(
        rules: &Rules,
        lengths: &Lengths,
        at: At,
        trained: &Trained,
        purpose: Purpose,
    ) -> Result<Self, EpochError> {
        let pool = at.pool()?;
        let patterned = match rules.policy.kind {
            PackKind::BestFit => true,
            PackKind::None => rules.order != OrderKind::Sequential && rules.exact.is_none(),
            PackKind::Greedy | PackKind::Concat => false,
        };
        // Loss tokens of a row are those of its documents, so that counting needs to find them.
        let find = purpose == Purpose::Give || rules.unit == Unit::LossTokens;
        let mut histogram = Histogram::new();
        let classes = if patterned && find {
            let (classes, found) = ClassIndex::of(lengths, &pool.layers)?;
            histogram = found;
            Some(Box::new(classes))
        } else {
            for layer in &pool.layers {
                lengths.count(layer, &mut histogram)?;
            }
            None
        };
        let fragments: u64 = pool.fragments.iter().map(|part| u64::from(part.length)).sum();
        let all_tokens = rules.policy.packed_tokens(&histogram) + fragments;
        let partial_tokens = rules.policy.partial(all_tokens);
        let body = if patterned {
            let items = Items::of(&histogram, &pool.fragments, &rules.policy);
            let patterns = match rules.policy.kind {
                PackKind::None => Patterns::single(items.descending()),
                _ => Patterns::pack(items.descending(), rules.policy.capacity),
            };
            Body::Patterned { items, patterns, classes }
        } else {
            let mut blocks = BTreeSet::new();
            for layer in &pool.layers {
                blocks.extend(blocks_of(layer).into_iter().map(|(block, _)| block));
            }
            blocks.extend(pool.fragments.iter().map(|part| part.document.block()));
            Body::InOrder { blocks: blocks.into_iter().collect() }
        };
        let key = match at.stratum {
            0 => rules.name.to_string(),
            // No name of a source holds a zero byte.
            stratum => format!("{}\0{stratum}", rules.name),
        };
        let mut opened = Self {
            rules: rules.clone(),
            lengths: lengths.clone(),
            trained: trained.clone(),
            at,
            key,
            histogram,
            packed_tokens: all_tokens - partial_tokens,
            partial_tokens,
            body,
        };
        if rules.exact.is_some() {
            opened.body = Body::Listed { rows: opened.list()? };
        }
        Ok(opened)
    }

    /// Every row of the pool in the order of documents, each cut from one.
    fn list(&self) -> Result<Vec<Fragment>, EpochError> {
        let Body::InOrder { blocks } = &self.body else { return Ok(Vec::new()) };
        let capacity = self.rules.policy.capacity;
        let mut rows = Vec::new();
        for block in blocks {
            rows.extend(self.parts(*block)?.into_iter().flat_map(|part| part.cut(capacity)));
        }
        Ok(rows)
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    pub const fn packed_tokens(&self) -> u64 {
        self.packed_tokens
    }

    /// Places that its documents take up in rows, at least.
    pub fn places(&self) -> u64 {
        let policy = &self.rules.policy;
        let slot = |tokens: u32| u64::from(policy.slot(tokens));
        let whole = self.histogram.iter();
        let whole: u64 = whole.map(|(length, count)| slot(policy.packed(*length)) * count).sum();
        let parts = self.at.pool().map(|pool| pool.fragments.as_slice()).unwrap_or_default();
        whole + parts.iter().map(|part| slot(part.length)).sum::<u64>()
    }

    pub const fn partial_tokens(&self) -> u64 {
        self.partial_tokens
    }

    pub const fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Rows of the pool, where they are known without walking it.
    pub fn rows(&self) -> Option<u64> {
        match &self.body {
            Body::Patterned { patterns, .. } => Some(patterns.rows()),
            Body::Listed { rows } => Some(rows.len() as u64),
            Body::InOrder { .. } => None,
        }
    }

    /// The blocks that hold documents, where rows are cut in order.
    pub fn blocks(&self) -> &[u64] {
        match &self.body {
            Body::InOrder { blocks } => blocks,
            _ => &[],
        }
    }

    pub fn permutation(
        &self,
        n: u64,
        pass: u32,
        purpose: permutation::Purpose,
        class: u64,
    ) -> Permutation {
        Permutation::new(n, self.rules.seed, &self.key, pass.into(), purpose, class)
    }

    /// The order that listed rows have in a pass; none where rows are not listed.
    ///
    /// # Errors
    /// [`EpochError::Recipe`] when there are more rows in a batch than memory has places.
    pub fn listed_order(&self, pass: u32) -> Result<Option<Vec<u64>>, EpochError> {
        let (Body::Listed { rows }, Some((batch, multiple))) = (&self.body, self.rules.exact)
        else {
            return Ok(None);
        };
        let lengths: Vec<u32> = rows.iter().map(|row| row.length).collect();
        let seed = self.rules.seed.wrapping_add(pass.into());
        let batch = usize::try_from(batch).unwrap_or(usize::MAX);
        let order = length_grouped_indices(&lengths, batch, multiple.map(|m| m as usize), seed);
        order.map(Some).map_err(|why| EpochError::Recipe(format!("order.length_grouped: {why}")))
    }

    /// What documents give in a block, as the policy leaves it: ascending by document and offset.
    ///
    /// # Errors
    /// As [`Lengths::of`].
    pub fn parts(&self, block: u64) -> Result<Vec<Fragment>, EpochError> {
        let pool = self.at.pool()?;
        let mut parts = Vec::new();
        for layer in &pool.layers {
            for (slot, length) in self.lengths.of(layer, block)? {
                let packed = self.rules.policy.packed(length);
                if packed > 0 {
                    let document = DocId::at(block, slot);
                    parts.push(Fragment {
                        document,
                        offset: 0,
                        length: packed,
                        document_length: length,
                    });
                }
            }
        }
        let from = pool.fragments.partition_point(|part| part.document.block() < block);
        let of_block = pool.fragments.iter().skip(from);
        parts.extend(of_block.take_while(|part| part.document.block() == block));
        parts.sort_unstable();
        Ok(parts)
    }

    /// Those of `documents` of which anything is packed.
    ///
    /// # Errors
    /// As [`Lengths::of`].
    pub fn packed_of(&self, documents: &RoaringTreemap) -> Result<RoaringTreemap, EpochError> {
        let mut packed = RoaringTreemap::new();
        for (block, _) in blocks_of(documents) {
            let lengths = self.lengths.of(documents, block)?;
            let any = lengths.iter().filter(|(_, length)| self.rules.policy.packed(*length) > 0);
            packed.extend(any.map(|(slot, _)| DocId::at(block, *slot).0));
        }
        Ok(packed)
    }

    /// What one pass comes to, where that is known without walking it.
    pub fn known_count(&self) -> Option<PassCount> {
        let Body::Patterned { patterns, .. } = &self.body else { return None };
        if !self.counts_fast() {
            return None;
        }
        let capacity = self.rules.policy.capacity;
        let full = patterns.patterns().iter().filter(|found| found.tokens == capacity);
        let (rows, tokens) = (patterns.rows(), self.packed_tokens);
        let amount = if self.rules.unit == Unit::Rows { rows } else { tokens };
        let full_rows = full.map(|pattern| pattern.rows).sum();
        Some(PassCount { rows, full_rows, tokens, amount })
    }

    /// Whether what a row counts follows from its number alone, without its documents.
    pub const fn counts_fast(&self) -> bool {
        matches!(self.body, Body::Patterned { .. })
            && self.rules.policy.multiple == 1
            && matches!(self.rules.unit, Unit::Tokens | Unit::Rows)
    }

    /// Row `index` of the pool, as a reference.
    ///
    /// # Errors
    /// As [`PoolRows::segments`].
    pub fn row(&self, lane: u16, pass: u32, index: u64) -> Result<RowRef, EpochError> {
        let none = || EpochError::bug(format!("source `{}` has no row {index}", self.rules.name));
        let place = Place::Packed(index);
        let Body::Patterned { items, patterns, .. } = &self.body else {
            let Body::Listed { rows } = &self.body else { return Err(none()) };
            let row = usize::try_from(index).ok().and_then(|index| rows.get(index));
            let tokens = row.ok_or_else(none)?.length;
            let segments = || self.segments(pass, index);
            return Ok(RowRef {
                pass,
                tokens,
                repeated: 0,
                amount: self.amount(tokens, segments)?,
                lane,
                place,
            });
        };
        let (pattern, nth) = patterns.row(index).ok_or_else(none)?;
        let mut tokens = pattern.tokens;
        let mut begun = 0;
        if self.rules.policy.multiple > 1 || self.rules.unit == Unit::Documents {
            tokens = 0;
            for item in self.items_of(items, pattern, nth, pass)? {
                tokens += item.tokens();
                begun += u64::from(item.offset() == 0);
            }
        }
        let amount = match self.rules.unit {
            Unit::Documents => begun,
            _ => self.amount(tokens, || self.segments(pass, index))?,
        };
        Ok(RowRef { pass, tokens, repeated: 0, amount, lane, place })
    }

    /// A row cut in order, as a reference; `repeated`: tokens that the row before has too.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn cut(
        &self,
        lane: u16,
        pass: u32,
        segments: Vec<Segment>,
        repeated: u32,
    ) -> Result<RowRef, EpochError> {
        let tokens = own(&segments, repeated).map(|segment| segment.length).sum();
        let amount = self.amount(tokens, || Ok(own(&segments, repeated).collect()))?;
        Ok(RowRef { pass, tokens, repeated, amount, lane, place: Place::Cut(segments) })
    }

    fn amount(
        &self,
        tokens: u32,
        segments: impl FnOnce() -> Result<Vec<Segment>, EpochError>,
    ) -> Result<u64, EpochError> {
        match self.rules.unit {
            Unit::Tokens => Ok(tokens.into()),
            Unit::Rows => Ok(1),
            Unit::Documents => {
                Ok(segments()?.iter().filter(|segment| segment.offset == 0).count() as u64)
            }
            Unit::LossTokens => segments()?.iter().map(|segment| self.trained.count(segment)).sum(),
        }
    }

    /// The items of a row, in placing order.
    fn items_of(
        &self,
        items: &Items,
        pattern: &crate::epoch::pack::Pattern,
        nth: u64,
        pass: u32,
    ) -> Result<Vec<Item>, EpochError> {
        let mut found = Vec::new();
        for item in &pattern.items {
            let count = items.count(item.size);
            let order =
                self.permutation(count, pass, permutation::Purpose::Items, item.size.into());
            for copy in 0..item.copies {
                let ordinal = item.first + nth * u64::from(item.copies) + u64::from(copy);
                let located = items.locate(item.size, order.at(ordinal));
                let located = located.ok_or_else(|| EpochError::bug("an item that is nowhere"))?;
                found.push(located);
            }
        }
        Ok(found)
    }

    /// Tokens of each segment of row `index`.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when there is no such row.
    pub fn segment_lengths(&self, pass: u32, index: u64) -> Result<Vec<u32>, EpochError> {
        let Body::Patterned { items, patterns, .. } = &self.body else {
            let segments = self.segments(pass, index)?;
            return Ok(segments.iter().map(|segment| segment.length).collect());
        };
        let found = patterns.row(index).ok_or_else(|| EpochError::bug("a row that is nowhere"))?;
        let items = self.items_of(items, found.0, found.1, pass)?;
        Ok(items.iter().map(Item::tokens).collect())
    }

    /// Row `index` of the pool: random access, at the cost of a few look-ups.
    ///
    /// # Errors
    /// [`EpochError::Store`]; [`EpochError::Bug`] when there is no such row.
    pub fn segments(&self, pass: u32, index: u64) -> Result<Vec<Segment>, EpochError> {
        let none = || EpochError::bug(format!("source `{}` has no row {index}", self.rules.name));
        let (items, patterns, classes) = match &self.body {
            Body::Patterned { items, patterns, classes: Some(classes) } => {
                (items, patterns, classes)
            }
            Body::Listed { rows } => {
                let row = usize::try_from(index).ok().and_then(|index| rows.get(index));
                return Ok(vec![row.ok_or_else(none)?.segment()]);
            }
            _ => return Err(EpochError::bug("a source opened to count was asked for a row")),
        };
        let (pattern, nth) = patterns.row(index).ok_or_else(none)?;
        let layers = &self.at.pool()?.layers;
        let mut segments = Vec::new();
        for item in self.items_of(items, pattern, nth, pass)? {
            segments.push(match item {
                Item::Fragment(fragment) => fragment.segment(),
                Item::Ranked { length, rank, offset, tokens } => Segment {
                    document: classes.select(&self.lengths, layers, length, rank)?,
                    offset,
                    length: tokens,
                    document_length: length,
                },
            });
        }
        Ok(segments)
    }
}
