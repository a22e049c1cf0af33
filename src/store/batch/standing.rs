//! The standing of a document, with the counters that follow from it.

use super::Batch;
use super::tokens::add_tokens;
use crate::model::{DocId, Standing, TokenizerId};
use crate::store::error::StoreError;
use crate::store::fields;
use crate::store::rows::header::Header;

impl Batch<'_> {
    /// Gives a document its standing; `before` is the one it had, none for one just added.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn stand(
        &mut self,
        document: DocId,
        header: &Header,
        before: Option<Standing>,
        now: Standing,
    ) -> Result<(), StoreError> {
        let generation = self.view.generation();
        if let Some(before) = before {
            let term = self.term(fields::STANDING, &fields::standing_value(generation, before))?;
            self.postings.entry((term, document.block())).or_default().clear(document.slot());
        }
        self.mark(fields::STANDING, &fields::standing_value(generation, now), document)?;
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
        let record = self.source_record(header.source)?;
        if is {
            record.kept += 1;
            record.kept_bytes += header.bytes;
        } else {
            record.kept = record.kept.saturating_sub(1);
            record.kept_bytes = record.kept_bytes.saturating_sub(header.bytes);
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
}
