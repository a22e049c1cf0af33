//! Sums documents, bytes of text and tokens: of groups, sources, moments.
//!
//! Columns are read block by block, and only blocks with documents that are counted.

use crate::inspect::InspectError;
use model::DocId;
use serde::Serialize;
use std::collections::BTreeMap;
use store::{NumberBlock, StoreError, View, system_fields};

/// Documents with their bytes and tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DocumentCounts {
    /// Documents.
    pub documents: u64,
    /// UTF-8 bytes of their texts.
    pub bytes: u64,
    /// Their tokens, by tokenizer; documents that it has not encoded count as 0.
    pub tokens: BTreeMap<String, u64>,
}

impl DocumentCounts {
    /// Adds others.
    pub(in crate::inspect) fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        self.bytes += other.bytes;
        for (name, tokens) in &other.tokens {
            *self.tokens.entry(name.clone()).or_default() += tokens;
        }
    }
}

/// Sums over documents, their tokens in the order of tokenizers.
#[derive(Clone, Debug, Default)]
pub(in crate::inspect) struct CountsSum {
    pub(in crate::inspect) documents: u64,
    bytes: u64,
    tokens: Vec<u64>,
}

impl CountsSum {
    pub(in crate::inspect) fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        self.bytes += other.bytes;
        self.tokens.resize(other.tokens.len().max(self.tokens.len()), 0);
        self.tokens.iter_mut().zip(&other.tokens).for_each(|(sum, tokens)| *sum += tokens);
    }

    /// The sums with the names of the tokenizers.
    pub(in crate::inspect) fn counts(&self, view: &View) -> DocumentCounts {
        let tokens = self.tokens.iter().copied().chain(std::iter::repeat(0));
        let named = view.own_tokenizers().zip(tokens);
        DocumentCounts {
            documents: self.documents,
            bytes: self.bytes,
            tokens: named.map(|((_, record), tokens)| (record.name.clone(), tokens)).collect(),
        }
    }
}

/// The columns of a block that are summed.
#[derive(Default)]
pub(in crate::inspect) struct SizeBlock {
    bytes: NumberBlock,
    tokens: Vec<NumberBlock>,
}

impl SizeBlock {
    pub(in crate::inspect) fn read(view: &View, block: u64) -> Result<Self, StoreError> {
        let tokens = view
            .own_tokenizers()
            .map(|(id, _)| view.column_block(system_fields::tokens_of(id), block));
        Ok(Self {
            tokens: tokens.collect::<Result<_, _>>()?,
            bytes: view.column_block(system_fields::BYTES, block)?,
        })
    }

    /// What a document of the block comes to.
    pub(in crate::inspect) fn of(&self, document: DocId) -> Result<CountsSum, StoreError> {
        let mut sum = CountsSum::default();
        self.add_to(&mut sum, document)?;
        Ok(sum)
    }

    pub(in crate::inspect) fn add_to(
        &self,
        sum: &mut CountsSum,
        document: DocId,
    ) -> Result<(), StoreError> {
        sum.documents += 1;
        sum.bytes += self.bytes.expect(system_fields::BYTES, document)?;
        sum.tokens.resize(self.tokens.len(), 0);
        for (sum, column) in sum.tokens.iter_mut().zip(&self.tokens) {
            *sum += column.get(document.slot()).map_or(0, i64::unsigned_abs);
        }
        Ok(())
    }
}

/// Gives the size of documents, which must be asked for in ascending order. Holds the columns of one block.
pub(in crate::inspect) struct DocumentSizes<'a> {
    view: &'a View,
    block: Option<(u64, SizeBlock)>,
}

impl<'a> DocumentSizes<'a> {
    pub(in crate::inspect) const fn new(view: &'a View) -> Self {
        Self { view, block: None }
    }

    pub(in crate::inspect) fn of(&mut self, document: DocId) -> Result<CountsSum, InspectError> {
        let number = document.block();
        let (_, columns) = match &mut self.block {
            Some(block) if block.0 == number => block,
            place => {
                *place = None;
                place.insert((number, SizeBlock::read(self.view, number)?))
            }
        };
        Ok(columns.of(document)?)
    }
}
