//! Token ids of rows: the effective sequence of each document, cut into its segments.

use super::error::EpochError;
use super::pack::Segment;
use super::special::SpecialIds;
use crate::model::{DocId, TokenizerId};
use crate::store::View;

/// A row with its token ids.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Index of its source in the plan.
    pub source: usize,
    /// Its ids, pads at the end included.
    pub ids: Vec<u32>,
    /// How many of them are not pads.
    pub real: usize,
    /// What the real ones are, in order.
    pub segments: Vec<Segment>,
}

/// Reads effective sequences; keeps the last one, since fragments of a document often follow each other.
pub(super) struct TokenReader<'a> {
    view: &'a View,
    tokenizer: TokenizerId,
    tokenizer_name: &'a str,
    specials: SpecialIds,
    document: Option<DocId>,
    sequence: Vec<u32>,
}

impl<'a> TokenReader<'a> {
    pub const fn new(
        view: &'a View,
        tokenizer: TokenizerId,
        tokenizer_name: &'a str,
        specials: SpecialIds,
    ) -> Self {
        Self { view, tokenizer, tokenizer_name, specials, document: None, sequence: Vec::new() }
    }

    /// BOS, the stored ids and EOS of a document.
    ///
    /// # Errors
    /// [`EpochError::NotEncoded`]; [`EpochError::Store`].
    pub fn sequence(&mut self, document: DocId) -> Result<&[u32], EpochError> {
        if self.document != Some(document) {
            self.document = None;
            self.sequence.clear();
            self.sequence.extend(self.specials.bos);
            if !self.view.tokens(self.tokenizer, document, &mut self.sequence)? {
                let tokenizer = self.tokenizer_name.to_owned();
                return Err(EpochError::NotEncoded { tokenizer, document: document.0 });
            }
            self.sequence.extend(self.specials.eos);
            self.document = Some(document);
        }
        Ok(&self.sequence)
    }

    /// Appends the ids of a segment.
    ///
    /// # Errors
    /// As [`TokenReader::sequence`]; [`EpochError::Stale`] when the document has another length than
    /// the length column says.
    pub fn append(&mut self, segment: &Segment, out: &mut Vec<u32>) -> Result<(), EpochError> {
        let sequence = self.sequence(segment.document)?;
        let start = segment.offset as usize;
        let piece = sequence.get(start..start + segment.length as usize);
        match piece.filter(|_| sequence.len() == segment.document_length as usize) {
            Some(piece) => {
                out.extend_from_slice(piece);
                Ok(())
            }
            None => Err(EpochError::Stale(format!(
                "document {} has {} tokens where its length column says {}; run `corpusdb check --deep`",
                segment.document,
                sequence.len(),
                segment.document_length
            ))),
        }
    }
}
