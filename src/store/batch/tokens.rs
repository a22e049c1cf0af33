//! Token ids and how many there are.

use super::Batch;
use crate::model::{DocId, SourceId, TokenizerId};
use crate::store::columns::Tokens;
use crate::store::error::StoreError;
use crate::store::fields;
use crate::store::rows::ids;
use crate::store::rows::keys::TokensKey;
use crate::store::rows::records::SourceRecord;

impl Batch<'_> {
    /// Tokens of a document stored before this batch; none when it was never encoded.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn token_count(
        &self,
        tokenizer: TokenizerId,
        document: DocId,
    ) -> Result<Option<i64>, StoreError> {
        // Documents are asked about in order: the block of the last one is likely the next one's.
        let mut last = self.counts.borrow_mut();
        let wanted = (tokenizer, document.block());
        let block = match &mut *last {
            Some((held, block)) if *held == wanted => block,
            last => {
                let block = self.view.column_block(fields::tokens_of(tokenizer), wanted.1)?;
                &mut last.insert((wanted, block)).1
            }
        };
        Ok(block.get(document.slot()))
    }

    /// Stores the token ids of a document; answers how many. The tokens of kept documents are
    /// counted apart ([`Batch::count_tokens`]).
    ///
    /// # Errors
    /// [`StoreError::Encode`] when an id does not fit the tokenizer's width.
    pub fn put_tokens(
        &mut self,
        tokenizer: TokenizerId,
        document: DocId,
        tokens: &[u32],
        vocab_size: u32,
    ) -> Result<i64, StoreError> {
        let bytes = ids::encode(tokens, ids::is_wide(vocab_size)).ok_or_else(|| StoreError::Encode {
            what: "token ids",
            why: format!("an id of document {document} is over 65,535 but tokenizer {tokenizer} has {vocab_size} ids"),
        })?;
        self.put::<Tokens>(&TokensKey { tokenizer, document }, &bytes)?;
        let count = i64::try_from(tokens.len()).unwrap_or(i64::MAX);
        self.number(fields::tokens_of(tokenizer), document, count);
        Ok(count)
    }

    /// Adds to the tokens of kept documents of a source.
    ///
    /// # Errors
    /// [`StoreError`] when the source is unknown.
    pub fn count_tokens(
        &mut self,
        tokenizer: TokenizerId,
        source: SourceId,
        count: i64,
    ) -> Result<(), StoreError> {
        if self.is_current() {
            add_tokens(self.source_record(source)?, tokenizer, count);
        }
        Ok(())
    }

    /// The next tokenizer's number, if there are fewer than `most`.
    pub(in crate::store) fn next_tokenizer(&mut self, most: u16) -> Option<TokenizerId> {
        let next = self.state.next_tokenizer;
        (next < most).then(|| {
            self.state.next_tokenizer += 1;
            TokenizerId(next)
        })
    }
}

pub(super) fn add_tokens(record: &mut SourceRecord, tokenizer: TokenizerId, count: i64) {
    let at = match record.tokens.binary_search_by_key(&tokenizer.0, |(id, _)| *id) {
        Ok(at) => at,
        Err(at) => {
            record.tokens.insert(at, (tokenizer.0, 0));
            at
        }
    };
    if let Some((_, total)) = record.tokens.get_mut(at) {
        *total = total.saturating_add_signed(count);
    }
}
