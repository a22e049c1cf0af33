//! The packed rows of one pass over a stratum: by pattern, from a list, or cut in order.
//!
//! `documents` has the documents of the pass; `patterns` finds rows by their number. Rows that are cut in order need
//! nothing but the blocks of their documents.

mod documents;
mod patterns;

pub(super) use documents::PassKey;

use super::{OpenPurpose, PassCount, RowContent, RowRef};
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{LengthIndex, LengthReader, LossReader, blocks_of};
use crate::epoch::pack::{LengthHistogram, Segment, without_repeated};
use crate::epoch::permutation::{self, Permutation};
use crate::epoch::plan::RowRules;
use crate::epoch::recipe::{MixUnit, OrderKind, PackKind};
use crate::epoch::torch::{Generator, OrderStep};
use documents::PassDocuments;
use model::TokenizerId;
use patterns::PatternedRows;
use roaring::RoaringTreemap;
use std::collections::BTreeSet;

/// What a pass holds, opened to give its rows.
pub(super) struct PassRows {
    held: PassDocuments,
    body: RowLayout,
}

enum RowLayout {
    Patterned(PatternedRows),
    Listed(ListedRows),
    /// The blocks that hold documents.
    InOrder(Vec<u64>),
}

impl PassRows {
    pub fn open(
        rules: &RowRules,
        lengths: &LengthReader,
        at: PassKey,
        trained: &LossReader,
        purpose: OpenPurpose,
    ) -> Result<Self, EpochError> {
        let coverage = at.coverage()?;
        let patterned = match rules.policy.kind {
            PackKind::BestFit => true,
            PackKind::None => rules.order != OrderKind::Sequential && rules.exact.is_none(),
            PackKind::Greedy | PackKind::Concat => false,
        };
        let counted = || {
            let mut histogram = LengthHistogram::new();
            for layer in coverage.whole.layers() {
                lengths.count(layer, &mut histogram)?;
            }
            Ok::<_, EpochError>(histogram)
        };
        if !patterned {
            let layers = coverage.whole.layers().iter().flat_map(blocks_of).map(|(block, _)| block);
            let fragments = coverage.parts.segments().iter().map(|part| part.document.block());
            let blocks: BTreeSet<u64> = layers.chain(fragments).collect();
            let (blocks, histogram) = (Vec::from_iter(blocks), counted()?);
            let held = PassDocuments::new(rules, lengths, at, trained, histogram)?;
            let body = match rules.exact {
                Some(_) => RowLayout::Listed(ListedRows::list(&held, &blocks)?),
                None => RowLayout::InOrder(blocks),
            };
            return Ok(Self { held, body });
        }
        // Loss tokens of a row are those of its documents, so that counting needs to find them.
        let find = purpose == OpenPurpose::Give || rules.unit == MixUnit::LossTokens;
        let (classes, histogram) = if find {
            let (classes, histogram) = LengthIndex::of(lengths, coverage.whole.layers())?;
            (Some(Box::new(classes)), histogram)
        } else {
            (None, counted()?)
        };
        let held = PassDocuments::new(rules, lengths, at, trained, histogram)?;
        let body = RowLayout::Patterned(PatternedRows::pack(&held, classes)?);
        Ok(Self { held, body })
    }

    pub const fn rules(&self) -> &RowRules {
        &self.held.rules
    }

    pub const fn packed_tokens(&self) -> u64 {
        self.held.packed_tokens
    }

    /// Places that its documents take up in rows, at least.
    pub fn places(&self) -> u64 {
        self.held.places()
    }

    pub const fn unfilled_tokens(&self) -> u64 {
        self.held.unfilled_tokens
    }

    /// The tokenizer whose ids its rows have.
    pub const fn tokenizer(&self) -> TokenizerId {
        self.held.lengths.tokenizer
    }

    pub const fn histogram(&self) -> &LengthHistogram {
        &self.held.histogram
    }

    /// Rows of the pass, where they are known without walking it.
    pub fn rows(&self) -> Option<u64> {
        match &self.body {
            RowLayout::Patterned(rows) => Some(rows.rows()),
            RowLayout::Listed(rows) => Some(rows.rows()),
            RowLayout::InOrder(_) => None,
        }
    }

    /// The blocks that hold documents, where rows are cut in order.
    pub fn blocks(&self) -> &[u64] {
        match &self.body {
            RowLayout::InOrder(blocks) => blocks,
            RowLayout::Patterned(_) | RowLayout::Listed(_) => &[],
        }
    }

    /// The keyed permutation of `0..n` that a pass uses for a purpose.
    pub fn permutation(
        &self,
        n: u64,
        pass: u32,
        purpose: permutation::Purpose,
        class: u64,
    ) -> Permutation {
        self.held.permutation(n, pass, purpose, class)
    }

    /// The order that listed rows have in a pass, with each step to it shown to `seen`; none where rows are not listed.
    ///
    /// # Errors
    /// [`EpochError::Recipe`] when there are more rows in a batch than memory has places.
    pub fn listed_order(
        &self,
        pass: u32,
        seen: &mut dyn FnMut(OrderStep<'_>),
    ) -> Result<Option<Vec<u64>>, EpochError> {
        match &self.body {
            RowLayout::Listed(rows) => rows.order(&self.held, pass, seen).map(Some),
            RowLayout::Patterned(_) | RowLayout::InOrder(_) => Ok(None),
        }
    }

    /// The tokens of listed rows, in the order of documents; none where rows are not listed.
    pub fn listed_lengths(&self) -> Option<Vec<u32>> {
        match &self.body {
            RowLayout::Listed(rows) => Some(rows.lengths()),
            RowLayout::Patterned(_) | RowLayout::InOrder(_) => None,
        }
    }

    /// What documents give in a block, as the policy leaves it: ascending by document and offset.
    ///
    /// # Errors
    /// As [`Lengths::of`].
    pub fn parts(&self, block: u64) -> Result<Vec<Segment>, EpochError> {
        self.held.parts(block)
    }

    /// Whether any of the `documents` has packed tokens.
    ///
    /// # Errors
    /// As [`LengthReader::of`].
    pub fn packs_any(&self, documents: &RoaringTreemap) -> Result<bool, EpochError> {
        self.held.packs_any(documents)
    }

    /// Packed tokens of these documents, each once, without EOS at cuts.
    ///
    /// # Errors
    /// As [`LengthReader::count`].
    pub fn tokens_of(&self, documents: &RoaringTreemap) -> Result<u64, EpochError> {
        self.held.tokens_of(documents)
    }

    /// The `documents` that have packed tokens.
    ///
    /// # Errors
    /// As [`LengthReader::of`].
    pub fn packed_of(&self, documents: &RoaringTreemap) -> Result<RoaringTreemap, EpochError> {
        self.held.packed_of(documents)
    }

    /// What one pass comes to, where that is known without walking it.
    pub fn known_count(&self) -> Option<PassCount> {
        match &self.body {
            RowLayout::Patterned(rows) if self.counts_fast() => Some(rows.count(&self.held)),
            _ => None,
        }
    }

    /// Whether a row that was cut in order is full by segments alone. Of rows by pattern the patterns say how many are
    /// ([`PassRows::patterned_segment_full`]).
    pub fn is_full_by_segments(&self, row: &RowRef) -> bool {
        let policy = &self.held.rules.policy;
        let RowContent::Cut(segments) = &row.place else { return false };
        let places = segments.iter().map(|segment| policy.slot(segment.length)).sum();
        policy.is_full_by_segments(segments.len(), places)
    }

    /// Rows by pattern that are full by segments alone.
    pub fn patterned_segment_full(&self) -> u64 {
        match &self.body {
            RowLayout::Patterned(rows) => rows.segment_full_rows(&self.held),
            RowLayout::Listed(_) | RowLayout::InOrder(_) => 0,
        }
    }

    /// Whether what a row counts follows from its number alone, without its documents.
    pub const fn counts_fast(&self) -> bool {
        matches!(self.body, RowLayout::Patterned(_))
            && self.held.rules.policy.multiple == 1
            && matches!(self.held.rules.unit, MixUnit::Tokens | MixUnit::Rows)
    }

    /// Row `index` of the pass, as a reference.
    ///
    /// # Errors
    /// As [`PassRows::segments`].
    pub fn row(&self, stratum: u16, pass: u32, index: u64) -> Result<RowRef, EpochError> {
        let (tokens, amount) = match &self.body {
            RowLayout::Patterned(rows) => rows.size(&self.held, pass, index)?,
            RowLayout::Listed(rows) => {
                let row = rows.row(&self.held, index)?;
                (row.length, self.held.amount(row.length, || Ok(vec![*row]))?)
            }
            RowLayout::InOrder(_) => return Err(self.held.no_row(index)),
        };
        let (source, place) = (self.held.rules.source, RowContent::Packed(index));
        Ok(RowRef { source, pass, tokens, repeated: 0, amount, stratum, place })
    }

    /// A row cut in order, as a reference; `repeated`: tokens that the row before has too.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn cut(
        &self,
        stratum: u16,
        pass: u32,
        segments: Vec<Segment>,
        repeated: u32,
    ) -> Result<RowRef, EpochError> {
        let tokens = without_repeated(&segments, repeated).map(|segment| segment.length).sum();
        let amount =
            self.held.amount(tokens, || Ok(without_repeated(&segments, repeated).collect()))?;
        let (source, place) = (self.held.rules.source, RowContent::Cut(segments));
        Ok(RowRef { source, pass, tokens, repeated, amount, stratum, place })
    }

    /// Tokens of each segment of row `index`.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when there is no such row.
    pub fn segment_lengths(&self, pass: u32, index: u64) -> Result<Vec<u32>, EpochError> {
        match &self.body {
            RowLayout::Patterned(rows) => rows.segment_lengths(&self.held, pass, index),
            RowLayout::Listed(rows) => Ok(vec![rows.row(&self.held, index)?.length]),
            RowLayout::InOrder(_) => Err(self.held.no_row(index)),
        }
    }

    /// Row `index` of the pass: random access, at the cost of a few look-ups.
    ///
    /// # Errors
    /// [`EpochError::Store`]; [`EpochError::Bug`] when there is no such row.
    pub fn segments(&self, pass: u32, index: u64) -> Result<Vec<Segment>, EpochError> {
        match &self.body {
            RowLayout::Patterned(rows) => rows.segments(&self.held, pass, index),
            RowLayout::Listed(rows) => Ok(vec![*rows.row(&self.held, index)?]),
            RowLayout::InOrder(_) => Err(self.held.no_row(index)),
        }
    }
}

/// One row a document or part of one, in an order that needs all of them in memory: that of another sampler.
struct ListedRows(Vec<Segment>);

impl ListedRows {
    /// Lists the rows of a pass whose documents lie in `blocks`.
    fn list(held: &PassDocuments, blocks: &[u64]) -> Result<Self, EpochError> {
        let policy = held.rules.policy;
        let mut rows = Vec::new();
        for block in blocks {
            let pieces = held.parts(*block)?.into_iter().flat_map(|part| policy.pieces(part));
            rows.extend(pieces.map(|part| policy.in_row(part)));
        }
        Ok(Self(rows))
    }

    /// Rows of a pass.
    fn rows(&self) -> u64 {
        self.0.len() as u64
    }

    /// Their tokens.
    fn lengths(&self) -> Vec<u32> {
        self.0.iter().map(|row| row.length).collect()
    }

    /// What is in row `index`.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when there is no such row.
    fn row(&self, held: &PassDocuments, index: u64) -> Result<&Segment, EpochError> {
        let row = usize::try_from(index).ok().and_then(|index| self.0.get(index));
        row.ok_or_else(|| held.no_row(index))
    }

    /// The order that the rows have in a pass: positions in the order of documents.
    ///
    /// # Errors
    /// [`EpochError::Recipe`] when there are more rows in a batch than memory has places.
    fn order(
        &self,
        held: &PassDocuments,
        pass: u32,
        seen: &mut dyn FnMut(OrderStep<'_>),
    ) -> Result<Vec<u64>, EpochError> {
        let Some((batch, multiple)) = held.rules.exact else {
            return Err(EpochError::bug("listed rows without another sampler's order"));
        };
        let mut generator = Generator::new(held.rules.exact_seed(pass));
        let batch = usize::try_from(batch).unwrap_or(usize::MAX);
        let multiple = multiple.map(|multiple| multiple as usize);
        let order = generator.group_by_length(&self.lengths(), batch, multiple, seen);
        order.map_err(|why| EpochError::Recipe(format!("order.length_grouped: {why}")))
    }
}
