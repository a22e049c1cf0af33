//! Computes the derived rows of one block of documents from the rows that they follow from.
//!
//! There is one rule for both who use them: `check` compares them with what is stored, and a repair writes them.

use crate::batch::CommitBatch;
use crate::bytes::bitmap_block;
use crate::bytes::key::{BlockNumber, ColumnKey, PostingKey, StoreKey, TokensKey};
use crate::bytes::number_block::NumberBlock;
use crate::documents::indexed_values::indexed;
use crate::documents::numbers::Columns;
use crate::documents::pages::TextPages;
use crate::documents::postings::Postings;
use crate::documents::tokens::Tokens;
use crate::error::StoreError;
use crate::system_fields;
use crate::view::View;
use model::{
    BLOCK_SIZE, ColumnId, Context, DocId, FieldDeclaration, FieldId, Generation, SourceId,
    Standing, TermId,
};
use roaring::RoaringBitmap;
use std::collections::BTreeMap;

/// What the columns and bitmaps of one block must hold. Standings are apart: nothing computes them from one block.
pub struct BlockRows {
    pub(crate) block: u64,
    /// Lengths, sources, commits, counts of tokens, declared numbers.
    pub(crate) numbers: BTreeMap<ColumnId, NumberBlock>,
    /// The documents of each keyword; their columns follow from them.
    pub(crate) keywords: BTreeMap<(FieldId, Vec<u8>), RoaringBitmap>,
    /// The documents of each source.
    pub(crate) sources: BTreeMap<SourceId, RoaringBitmap>,
}

impl View {
    /// Computes the rows of a block from places, texts, commits, metadata and token ids, `fields` of the metadata.
    ///
    /// # Errors
    /// [`StoreError`] when these cannot be read; [`StoreError::Interrupted`].
    #[doc(hidden)]
    pub fn rebuild_block(
        &self,
        block: u64,
        fields: &[FieldDeclaration],
        context: &Context<'_>,
    ) -> Result<BlockRows, StoreError> {
        let (numbers, keywords, sources) = Default::default();
        let mut rows = BlockRows { block, numbers, keywords, sources };
        let range = block * BLOCK_SIZE..((block + 1) * BLOCK_SIZE).min(self.documents());
        let mut borrowers = Vec::new();
        for row in self.places(range.clone())? {
            context.check_interrupt()?;
            let (document, place) = row?;
            let slot = document.slot();
            rows.sources.entry(place.source).or_default().insert(slot.into());
            rows.number(system_fields::SOURCE_OF, slot, place.source.0.into());
            borrowers.extend(place.text_of.map(|owner| (document, owner)));
        }
        let mut pages = self.pages::<TextPages>(range.clone())?;
        while let Some(page) = pages.next()? {
            context.check_interrupt()?;
            for document in (page.first.0.max(range.start)..page.end().min(range.end)).map(DocId) {
                if let Some(text) = page.string::<TextPages>(document)? {
                    rows.lengths(document, text);
                }
            }
        }
        for (document, owner) in borrowers {
            context.check_interrupt()?;
            rows.lengths(document, &self.text_of_owner(owner)?);
        }
        for (commit, record) in self.commits()? {
            let end = record.first.saturating_add(record.added).min(range.end);
            for document in (record.first.max(range.start)..end).map(DocId) {
                rows.number(system_fields::COMMIT_OF, document.slot(), commit.0.cast_signed());
            }
        }
        for row in self.metadata_in(range.clone(), |text| indexed(text, fields))? {
            context.check_interrupt()?;
            let (document, values) = row?;
            let slot = document.slot();
            for (field, keyword) in values.keywords {
                let value = (field, system_fields::keyword_value(&keyword));
                rows.keywords.entry(value).or_default().insert(slot.into());
            }
            for (field, number) in values.numbers {
                rows.number(system_fields::column_of(field), slot, number);
            }
        }
        for (tokenizer, _) in self.tokenizers() {
            let width = if self.tokens_are_wide(tokenizer)? { 4 } else { 2 };
            let key = |document| TokensKey { tokenizer, document: DocId(document) }.to_bytes();
            let mut ids = self.pinned().scan::<Tokens>(&key(range.start), Some(key(range.end)))?;
            while let Some((key, ids)) = ids.next()? {
                let count = i64::try_from(ids.len() / width).unwrap_or(i64::MAX);
                rows.number(system_fields::tokens_of(tokenizer), key.document.slot(), count);
            }
        }
        Ok(rows)
    }
}

impl BlockRows {
    fn lengths(&mut self, document: DocId, text: &str) {
        let chars = text.chars().count();
        for (column, length) in [(system_fields::BYTES, text.len()), (system_fields::CHARS, chars)]
        {
            self.number(column, document.slot(), i64::try_from(length).unwrap_or(i64::MAX));
        }
    }

    fn number(&mut self, column: ColumnId, slot: u16, number: i64) {
        self.numbers.entry(column).or_default().set(slot, Some(number));
    }
}

impl CommitBatch<'_> {
    /// Writes the rows of a block into families that were made empty: its columns, its bitmaps, or both.
    pub fn put_block(
        &mut self,
        rows: BlockRows,
        with_columns: bool,
        with_postings: bool,
    ) -> Result<(), StoreError> {
        let BlockRows { block, mut numbers, keywords, sources } = rows;
        let sources = sources.into_iter().map(|(source, slots)| {
            ((system_fields::SOURCE, system_fields::source_value(source)), slots)
        });
        for ((field, value), slots) in keywords.into_iter().chain(sources) {
            let term = self.term(field, &value)?;
            if with_postings {
                let key = PostingKey { term, block: BlockNumber(block) };
                self.put::<Postings>(&key, &bitmap_block::encode(&slots))?;
            }
            if field != system_fields::SOURCE {
                add_term(numbers.entry(system_fields::column_of(field)).or_default(), term, &slots);
            }
        }
        for (column, numbers) in numbers.into_iter().filter(|_| with_columns) {
            let key = ColumnKey { column, block: BlockNumber(block) };
            // Nothing, but lengths in tokens that were carried over: their ids are made again later.
            let mut stored = self.view().column_block(column, block)?;
            for (slot, number) in numbers.iter() {
                stored.set(slot, Some(number));
            }
            self.put::<Columns>(&key, &stored.encode())?;
        }
        Ok(())
    }

    /// Gives documents of a block a standing in a generation, and counts nothing.
    pub fn put_standing(
        &mut self,
        generation: Generation,
        document: DocId,
        standing: Standing,
    ) -> Result<(), StoreError> {
        let value = system_fields::standing_value(generation, standing);
        self.add_posting(system_fields::STANDING, &value, document)?;
        if generation == self.view().generation() {
            self.kept.insert(document, standing == Standing::Kept);
        }
        Ok(())
    }
}

/// The column of a keyword field holds the terms of its values.
pub(crate) fn add_term(column: &mut NumberBlock, term: TermId, slots: &RoaringBitmap) {
    for slot in slots.iter().filter_map(|slot| u16::try_from(slot).ok()) {
        column.set(slot, Some(term.0.into()));
    }
}
