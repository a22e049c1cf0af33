//! Sums documents, bytes of text and tokens.
//!
//! Columns are read block by block, and only blocks with documents that are counted.

use crate::sql::QueryError;
use model::{DocId, TokenizerId};
use serde::Serialize;
use std::collections::BTreeMap;
use store::{NumberBlock, View, system_fields};

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

/// Bytes and tokens of one document.
#[derive(Clone, Debug, Default)]
pub(super) struct DocumentSize {
    bytes: u64,
    /// By tokenizer, in the order of tokenizers.
    tokens: Vec<u64>,
}

/// Sums over documents.
#[derive(Clone, Debug, Default)]
pub(super) struct CountsSum {
    documents: u64,
    size: DocumentSize,
}

impl CountsSum {
    pub(super) fn add(&mut self, size: &DocumentSize) {
        self.documents += 1;
        self.size.bytes += size.bytes;
        self.size.tokens.resize(size.tokens.len(), 0);
        for (sum, tokens) in self.size.tokens.iter_mut().zip(&size.tokens) {
            *sum += tokens;
        }
    }

    /// The sums with the names of the tokenizers.
    pub(super) fn counts(&self, view: &View) -> DocumentCounts {
        let tokens = self.size.tokens.iter().copied().chain(std::iter::repeat(0));
        let named = view.own_tokenizers().zip(tokens);
        DocumentCounts {
            documents: self.documents,
            bytes: self.size.bytes,
            tokens: named.map(|((_, record), tokens)| (record.name.clone(), tokens)).collect(),
        }
    }
}

/// Gives the size of documents, which must be asked for in ascending order. Holds the columns of one block.
pub(super) struct DocumentSizes<'a> {
    view: &'a View,
    tokenizers: Vec<TokenizerId>,
    block: Option<u64>,
    bytes: NumberBlock,
    tokens: Vec<NumberBlock>,
}

impl<'a> DocumentSizes<'a> {
    pub(super) fn new(view: &'a View) -> Self {
        let tokenizers = view.own_tokenizers().map(|(id, _)| id).collect();
        Self { view, tokenizers, block: None, bytes: NumberBlock::default(), tokens: Vec::new() }
    }

    pub(super) fn of(&mut self, document: DocId) -> Result<DocumentSize, QueryError> {
        let block = document.block();
        if self.block != Some(block) {
            self.bytes = self.view.column_block(system_fields::BYTES, block)?;
            self.tokens.clear();
            for id in &self.tokenizers {
                self.tokens.push(self.view.column_block(system_fields::tokens_of(*id), block)?);
            }
            self.block = Some(block);
        }
        let tokens =
            |column: &NumberBlock| column.get(document.slot()).map_or(0, i64::unsigned_abs);
        Ok(DocumentSize {
            bytes: self.bytes.expect(system_fields::BYTES, document)?,
            tokens: self.tokens.iter().map(tokens).collect(),
        })
    }
}
