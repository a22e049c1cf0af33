//! The family `tokens`: token ids of one document, of many in the order they are stored in, and how many there are.

use crate::batch::CommitBatch;
use crate::bytes::key::{StoreKey, TokensKey};
use crate::bytes::record::SourceRecord;
use crate::database::family::{StoreFamily, corrupt_row, store_family};
use crate::error::{DecodeError, StoreError};
use crate::system_fields;
use crate::view::View;
use model::invariant::part;
use model::{DocId, SourceId, TokenizerId};
use std::ops::Range;

store_family! {
    /// Token ids of every document that is or was kept, and of near duplicates that a plan drew.
    Tokens = "tokens", DensePacked,
    TokensKey, "tokenizer u16, document u64"
    => "token ids": &'v [u8], |_, bytes| decode_tokens(bytes),
    "ids: u16 LE if the vocabulary has <= 65,536 ids, else u32 LE"
}

/// Whether ids of a vocabulary need four bytes.
#[must_use]
pub(crate) const fn is_wide(vocab_size: u32) -> bool {
    vocab_size > 65_536
}

/// Appends the stored form of `ids`; none when one does not fit the width.
pub(crate) fn encode(ids: &[u32], wide: bool) -> Option<Vec<u8>> {
    if wide {
        return Some(ids.iter().flat_map(|id| id.to_le_bytes()).collect());
    }
    let mut out = Vec::with_capacity(ids.len() * 2);
    for id in ids {
        out.extend_from_slice(&u16::try_from(*id).ok()?.to_le_bytes());
    }
    Some(out)
}

/// Appends the ids in `bytes` to `out`.
pub(crate) fn decode(bytes: &[u8], wide: bool, out: &mut Vec<u32>) -> Result<(), DecodeError> {
    let width = if wide { 4 } else { 2 };
    if !bytes.len().is_multiple_of(width) {
        return Err(DecodeError::at(
            bytes.len() / width * width,
            format!("ids of {width} bytes, {} in all", bytes.len()),
        ));
    }
    if wide {
        out.extend(
            bytes.chunks_exact(4).map(|b| b.try_into().map(u32::from_le_bytes).unwrap_or_default()),
        );
    } else {
        out.extend(
            bytes
                .chunks_exact(2)
                .map(|b| u32::from(b.try_into().map(u16::from_le_bytes).unwrap_or_default())),
        );
    }
    Ok(())
}

/// Token ids of two bytes or of four, which the tokenizer's record decides.
pub(crate) fn decode_tokens(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    if bytes.len().is_multiple_of(2) {
        Ok(bytes)
    } else {
        Err(DecodeError::at(bytes.len() / 2 * 2, format!("ids of {} bytes", bytes.len())))
    }
}

impl View {
    /// Appends a document's token ids to `out`; false when it was never encoded.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn tokens(
        &self,
        tokenizer: TokenizerId,
        document: DocId,
        out: &mut Vec<u32>,
    ) -> Result<bool, StoreError> {
        let wide = self.tokens_are_wide(tokenizer)?;
        let key = TokensKey { tokenizer, document };
        let Some(bytes) = self.pinned().get::<Tokens>(&key)? else {
            return Ok(false);
        };
        decode(&bytes, wide, out)
            .map_err(|why| corrupt_row::<Tokens>("token ids", &key.to_bytes(), why))?;
        Ok(true)
    }

    /// A document's token ids as they are stored; none when it was never encoded.
    #[doc(hidden)]
    pub fn token_bytes(
        &self,
        tokenizer: TokenizerId,
        document: DocId,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.pinned().get::<Tokens>(&TokensKey { tokenizer, document })?;
        Ok(found.map(|bytes| bytes.to_vec()))
    }

    pub(crate) fn tokens_are_wide(&self, tokenizer: TokenizerId) -> Result<bool, StoreError> {
        let record = self.moment.records.tokenizers.get(usize::from(tokenizer.0));
        let record = record.ok_or(StoreError::Missing {
            what: "tokenizer",
            family: "tokenizers",
            key: tokenizer.to_string(),
        })?;
        Ok(is_wide(record.vocab_size))
    }

    /// Calls `each` with every one of `documents`, which ascend, and its token ids; none when it has
    /// none of this tokenizer. No iterator: the ids are the bytes of a block of the cache, and are not copied for a
    /// caller that may keep them.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read; what `each` returns.
    pub fn for_each_tokens<E: From<StoreError>>(
        &self,
        tokenizer: TokenizerId,
        documents: &[DocId],
        mut each: impl FnMut(DocId, Option<TokenIdsRef<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let wide = self.tokens_are_wide(tokenizer)?;
        for documents in documents.chunks(STRETCH) {
            let (Some(first), Some(last)) = (documents.first(), documents.last()) else { continue };
            let stretch = last.0.saturating_sub(first.0);
            if stretch / SCAN_ONE_IN < documents.len() as u64 {
                self.scan_tokens(tokenizer, documents, wide, &mut each)?;
            } else {
                for documents in documents.chunks(LOOK_UP) {
                    self.look_up_tokens(tokenizer, documents, wide, &mut each)?;
                }
            }
        }
        Ok(())
    }

    fn look_up_tokens<E: From<StoreError>>(
        &self,
        tokenizer: TokenizerId,
        documents: &[DocId],
        wide: bool,
        each: &mut impl FnMut(DocId, Option<TokenIdsRef<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let keys: Vec<Vec<u8>> = documents
            .iter()
            .map(|document| TokensKey { tokenizer, document: *document }.to_bytes())
            .collect();
        let found = self.pinned().multi_get::<Tokens>(&keys)?;
        for ((document, key), bytes) in documents.iter().zip(&keys).zip(found) {
            match bytes {
                Some(bytes) => {
                    each(*document, Some(TokenIdsRef::new(*document, key, &bytes, wide)?))?;
                }
                None => each(*document, None)?,
            }
        }
        Ok(())
    }

    fn scan_tokens<E: From<StoreError>>(
        &self,
        tokenizer: TokenizerId,
        documents: &[DocId],
        wide: bool,
        each: &mut impl FnMut(DocId, Option<TokenIdsRef<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let key = |document: DocId| TokensKey { tokenizer, document }.to_bytes();
        let (Some(first), Some(last)) = (documents.first(), documents.last()) else {
            return Ok(());
        };
        let end = last.0.checked_add(1).map(|after| key(DocId(after)));
        let mut rows = self.pinned().scan::<Tokens>(&key(*first), end)?;
        let mut left = documents.iter().copied().map(|document| (document, key(document)));
        let mut next = left.next();
        while let Some((found, bytes)) = rows.advance()? {
            while let Some((document, _)) = next.take_if(|(_, key)| key.as_slice() < found) {
                each(document, None)?;
                next = left.next();
            }
            if let Some((document, key)) = next.take_if(|(_, key)| key.as_slice() == found) {
                each(document, Some(TokenIdsRef::new(document, &key, bytes, wide)?))?;
                next = left.next();
            }
        }
        while let Some((document, _)) = next {
            each(document, None)?;
            next = left.next();
        }
        Ok(())
    }
}

/// Documents looked up at a time: what is found is held until all of them are, a block each.
const LOOK_UP: usize = 128;
/// Documents that are scanned together.
const STRETCH: usize = 1024;
/// Documents are scanned when at least one in this many of a stretch is asked for: passing over a row costs a
/// twentieth of looking one up.
const SCAN_ONE_IN: u64 = 16;

/// The stored ids of a document.
#[derive(Clone, Copy, Debug)]
pub struct TokenIdsRef<'a> {
    bytes: &'a [u8],
    wide: bool,
}

impl<'a> TokenIdsRef<'a> {
    fn new(document: DocId, key: &[u8], bytes: &'a [u8], wide: bool) -> Result<Self, StoreError> {
        let found = Self { bytes, wide };
        if found.len() * found.width() == bytes.len() {
            return Ok(found);
        }
        // Says what is wrong in the words of all readers.
        let mut out = Vec::new();
        decode(bytes, wide, &mut out)
            .map_err(|why| corrupt_row::<Tokens>("token ids", key, why))
            .and_then(|()| {
                Err(StoreError::Missing {
                    what: "token ids",
                    family: Tokens::NAME,
                    key: document.to_string(),
                })
            })
    }

    const fn width(self) -> usize {
        if self.wide { 4 } else { 2 }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(self) -> usize {
        self.bytes.len() / self.width()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// The ids of `range`, as far as there are any.
    #[must_use]
    pub fn slice(self, range: Range<usize>) -> Self {
        let end = range.end.min(self.len()) * self.width();
        let start = range.start.saturating_mul(self.width()).min(end);
        Self { bytes: part(self.bytes, start..end), wide: self.wide }
    }

    /// Appends the ids to `out`.
    pub fn append(self, out: &mut Vec<u32>) {
        // The bytes are whole ids, so this cannot fail.
        let _ = decode(self.bytes, self.wide, out);
    }

    /// Puts them into `place`, as far as there is room.
    #[doc(hidden)]
    pub fn copy_to(self, place: &mut [u32]) {
        if self.wide {
            for (to, bytes) in place.iter_mut().zip(self.bytes.as_chunks().0) {
                *to = u32::from_le_bytes(*bytes);
            }
        } else {
            for (to, bytes) in place.iter_mut().zip(self.bytes.as_chunks().0) {
                *to = u16::from_le_bytes(*bytes).into();
            }
        }
    }

    /// The bytes of the ids as stored, to be kept and read again by [`TokenIdsRef::again`].
    #[must_use]
    pub const fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Whether they have four bytes each, not two.
    #[must_use]
    pub const fn is_wide(self) -> bool {
        self.wide
    }

    /// Ids whose bytes were kept, four each when `wide`, else two.
    #[must_use]
    pub const fn again(bytes: &'a [u8], wide: bool) -> Self {
        Self { bytes, wide }
    }
}

impl CommitBatch<'_> {
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
                let block =
                    self.view.column_block(system_fields::tokens_of(tokenizer), wanted.1)?;
                &mut last.insert((wanted, block)).1
            }
        };
        Ok(block.get(document.slot()))
    }

    /// Stores the token ids of a document; answers how many. The tokens of kept documents are
    /// counted apart ([`CommitBatch::count_tokens`]).
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
        let bytes = encode(tokens, is_wide(vocab_size)).ok_or_else(|| StoreError::Encode {
            what: "token ids",
            why: format!("an id of document {document} is over 65,535 but tokenizer {tokenizer} has {vocab_size} ids"),
        })?;
        self.put::<Tokens>(&TokensKey { tokenizer, document }, &bytes)?;
        let count = i64::try_from(tokens.len()).unwrap_or(i64::MAX);
        self.number(system_fields::tokens_of(tokenizer), document, count);
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
}

pub(crate) fn add_tokens(record: &mut SourceRecord, tokenizer: TokenizerId, count: i64) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ids_round_trip(ids: Vec<u32>) {
            let mut out = Vec::new();
            decode(&encode(&ids, true).unwrap(), true, &mut out).unwrap();
            prop_assert_eq!(&out, &ids);
            let narrow: Vec<u32> = ids.iter().map(|id| id % 65_536).collect();
            out.clear();
            decode(&encode(&narrow, false).unwrap(), false, &mut out).unwrap();
            prop_assert_eq!(out, narrow);
        }
    }

    #[test]
    fn golden_bytes() {
        assert_eq!(encode(&[1, 50_256], false), Some(vec![1, 0, 0x50, 0xc4]));
        assert_eq!(encode(&[70_000], false), None);
        assert!(!is_wide(65_536) && is_wide(65_537));
        assert!(decode(&[1], false, &mut Vec::new()).is_err());
    }
}
