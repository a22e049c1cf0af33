//! The family `postings`: bitmaps of the documents that have a term or a standing, and counters that follow from them.

use crate::batch::CommitBatch;
use crate::bytes::bitmap_block;
use crate::bytes::key::{BlockNumber, PostingKey, StoreKey};
use crate::database::family::{StoreFamily, corrupt_row, family_handle, store_family};
use crate::documents::tokens::add_tokens;
use crate::error::StoreError;
use crate::system_fields;
use crate::view::View;
use model::invariant::part;
use model::{DocId, FieldId, Standing, TermId, TokenizerId};
use roaring::{RoaringBitmap, RoaringTreemap};
use std::collections::BTreeMap;

store_family! {
    /// Bitmaps: which documents of a block have a term.
    Postings = "postings", Bitmaps,
    PostingKey, "term u32, block u48"
    => "bitmap": RoaringBitmap, |_, bytes| bitmap_block::decode(bytes),
    "roaring of one block (u16 list when <= 7); merge operand: (clear, set)"
}

impl View {
    /// Slots of one block that have a term.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn posting_block(&self, term: TermId, block: u64) -> Result<RoaringBitmap, StoreError> {
        let key = PostingKey { term, block: BlockNumber(block) };
        let found = self.pinned().read::<Postings, _>(&key)?;
        Ok(found.unwrap_or_default())
    }

    /// All documents that have a term.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn posting(&self, term: TermId) -> Result<RoaringTreemap, StoreError> {
        let prefix = term_prefix(term);
        let mut rows = self.pinned().scan_prefix::<Postings>(&prefix)?;
        let mut parts: BTreeMap<u32, RoaringBitmap> = BTreeMap::new();
        while let Some((key, value)) = rows.advance()? {
            let decoded = PostingKey::decode(key).and_then(|of| {
                let BlockNumber(block) = of.block;
                Ok((block, bitmap_block::decode_at(value, (block & 0xffff) as u16)?))
            });
            let (block, slots) =
                decoded.map_err(|why| corrupt_row::<Postings>("bitmap", key, why))?;
            if !slots.is_empty() {
                // A block is 48 bits wide.
                *parts.entry((block >> 16) as u32).or_default() |= slots;
            }
        }
        Ok(RoaringTreemap::from_bitmaps(parts))
    }

    /// All documents whose `field` has `value`.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn documents_with(
        &self,
        field: FieldId,
        value: &[u8],
    ) -> Result<RoaringTreemap, StoreError> {
        match self.term(field, value)? {
            Some(term) => self.posting(term),
            None => Ok(RoaringTreemap::new()),
        }
    }

    /// All documents of a standing.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn documents_standing(&self, standing: Standing) -> Result<RoaringTreemap, StoreError> {
        self.documents_with(
            system_fields::STANDING,
            &system_fields::standing_value(self.generation(), standing),
        )
    }

    /// All kept documents.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn kept(&self) -> Result<RoaringTreemap, StoreError> {
        self.documents_standing(Standing::Kept)
    }

    /// A document's standing.
    ///
    /// # Errors
    /// [`StoreError`] when no bitmap has the document or a row cannot be read.
    pub fn standing(&self, document: DocId) -> Result<Standing, StoreError> {
        for standing in Standing::ALL {
            let value = system_fields::standing_value(self.generation(), standing);
            if let Some(term) = self.term(system_fields::STANDING, &value)?
                && self.posting_block(term, document.block())?.contains(document.slot().into())
            {
                return Ok(standing);
            }
        }
        Err(StoreError::Missing {
            what: "standing",
            family: Postings::NAME,
            key: document.to_string(),
        })
    }

    /// The standings of all documents of a block.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn block_standings(&self, block: u64) -> Result<BlockStandings, StoreError> {
        let mut found = Vec::new();
        for standing in Standing::ALL {
            let value = system_fields::standing_value(self.generation(), standing);
            let Some(term) = self.term(system_fields::STANDING, &value)? else { continue };
            let key = PostingKey { term, block: BlockNumber(block) };
            let slots = self.pinned().read::<Postings, _>(&key)?;
            found.extend(slots.filter(|slots| !slots.is_empty()).map(|slots| (standing, slots)));
        }
        Ok(BlockStandings(found))
    }

    /// Documents marked under this generation.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn crowded(&self) -> Result<RoaringTreemap, StoreError> {
        self.documents_with(
            system_fields::CROWDED,
            &system_fields::crowded_value(self.generation()),
        )
    }
}

fn term_prefix(term: TermId) -> Vec<u8> {
    let key = PostingKey { term, block: BlockNumber(0) }.to_bytes();
    part(&key, ..4).to_vec()
}

/// The standings of the documents of one block, as a view has them: at most 57 kB.
#[derive(Clone, Debug, Default)]
pub struct BlockStandings(Vec<(Standing, RoaringBitmap)>);

impl BlockStandings {
    /// The standing of the document in that slot; none when no bitmap has it.
    #[must_use]
    pub fn of(&self, slot: u16) -> Option<Standing> {
        let slot = u32::from(slot);
        self.0.iter().find(|(_, slots)| slots.contains(slot)).map(|(standing, _)| *standing)
    }
}

impl CommitBatch<'_> {
    pub(crate) fn add_posting(
        &mut self,
        field: FieldId,
        value: &[u8],
        document: DocId,
    ) -> Result<TermId, StoreError> {
        let term = self.term(field, value)?;
        self.postings.entry((term, document.block())).or_default().set(document.slot());
        Ok(term)
    }

    /// Takes a document out of the postings of a value.
    pub(crate) fn remove_posting(
        &mut self,
        field: FieldId,
        value: &[u8],
        document: DocId,
    ) -> Result<(), StoreError> {
        let term = self.term(field, value)?;
        self.postings.entry((term, document.block())).or_default().clear(document.slot());
        Ok(())
    }

    /// Writes the bitmaps that changed, one operand a block.
    pub(crate) fn merge_postings(&mut self) -> Result<(), StoreError> {
        let postings = family_handle::<Postings>(&self.writer.db)?;
        for ((term, block), delta) in &self.postings {
            let key = PostingKey { term: *term, block: BlockNumber(*block) };
            self.rows.merge_cf(&postings, key.to_bytes(), delta.encode());
        }
        Ok(())
    }

    /// Gives a document its standing; `before` is the one it had, none for one just added.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn set_standing(
        &mut self,
        document: DocId,
        before: Option<Standing>,
        now: Standing,
    ) -> Result<(), StoreError> {
        let generation = self.view.generation();
        if let Some(before) = before {
            let term = self.term(
                system_fields::STANDING,
                &system_fields::standing_value(generation, before),
            )?;
            self.postings.entry((term, document.block())).or_default().clear(document.slot());
        }
        self.add_posting(
            system_fields::STANDING,
            &system_fields::standing_value(generation, now),
            document,
        )?;
        let (was, is) = (before == Some(Standing::Kept), now == Standing::Kept);
        if was == is {
            return Ok(());
        }
        self.kept.insert(document, is);
        if !self.is_current() {
            return Ok(());
        }
        let counts = if was { self.stored_token_counts(document)? } else { Vec::new() };
        self.state.kept = if is { self.state.kept + 1 } else { self.state.kept.saturating_sub(1) };
        let (bytes, source) = self.length_and_source(document)?;
        let record = self.source_record(source)?;
        if is {
            record.kept += 1;
            record.kept_bytes += bytes;
        } else {
            record.kept = record.kept.saturating_sub(1);
            record.kept_bytes = record.kept_bytes.saturating_sub(bytes);
            for (tokenizer, count) in counts {
                add_tokens(record, tokenizer, -count);
            }
        }
        Ok(())
    }

    /// Token counts the document has in the store; what this batch encodes is counted when encoded.
    fn stored_token_counts(&self, document: DocId) -> Result<Vec<(TokenizerId, i64)>, StoreError> {
        let mut counts = Vec::new();
        for (tokenizer, _) in self.view.tokenizers() {
            if let Some(count) = self.token_count(tokenizer, document)? {
                counts.push((tokenizer, count));
            }
        }
        Ok(counts)
    }

    /// Marks a document, or takes its mark away.
    ///
    /// # Errors
    /// [`StoreError`] when the term cannot be read or made.
    pub fn mark_crowded(&mut self, document: DocId, is_crowded: bool) -> Result<(), StoreError> {
        let value = system_fields::crowded_value(self.view().generation());
        let term = self.term(system_fields::CROWDED, &value)?;
        let delta = self.postings.entry((term, document.block())).or_default();
        if is_crowded {
            delta.set(document.slot());
        } else {
            delta.clear(document.slot());
        }
        Ok(())
    }
}
