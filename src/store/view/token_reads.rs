//! Token ids of many documents, read in the order they are stored in.

use crate::model::{DocId, TokenizerId};
use crate::store::columns::{Tokens, corrupt};
use crate::store::error::StoreError;
use crate::store::rows::ids;
use crate::store::rows::keys::{Key, TokensKey};
use crate::store::view::View;
use std::ops::Range;

/// Documents looked up at a time: what is found is held until all of them are, a block each.
const LOOK_UP: usize = 128;
/// Documents that are scanned together.
const STRETCH: usize = 1024;
/// Documents are scanned when at least one in so many of a stretch is asked for: passing over a row costs a
/// twentieth of looking one up.
const SCAN_ONE_IN: u64 = 16;

/// The stored ids of a document.
#[derive(Clone, Copy, Debug)]
pub struct StoredIds<'a> {
    bytes: &'a [u8],
    wide: bool,
}

impl<'a> StoredIds<'a> {
    fn new(document: DocId, key: &[u8], bytes: &'a [u8], wide: bool) -> Result<Self, StoreError> {
        let found = Self { bytes, wide };
        if found.len() * found.width() == bytes.len() {
            return Ok(found);
        }
        // Says what is wrong in the words of all readers.
        let mut out = Vec::new();
        ids::decode(bytes, wide, &mut out)
            .map_err(|why| corrupt::<Tokens>("token ids", key, why))
            .and_then(|()| {
                Err(StoreError::Missing {
                    what: "token ids",
                    family: "tokens",
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

    /// Those of `range`, as far as there are any.
    #[must_use]
    pub fn slice(self, range: Range<usize>) -> Self {
        let end = range.end.min(self.len()) * self.width();
        let start = range.start.saturating_mul(self.width()).min(end);
        Self { bytes: self.bytes.get(start..end).unwrap_or_default(), wide: self.wide }
    }

    /// Appends the ids to `out`.
    pub fn append(self, out: &mut Vec<u32>) {
        // Of whole ids, so this cannot fail.
        let _ = ids::decode(self.bytes, self.wide, out);
    }

    /// Puts them into `place`, as far as there is room.
    pub(crate) fn copy_to(self, place: &mut [u32]) {
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

    /// Their bytes as stored, to be kept and read again by [`StoredIds::again`].
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

impl View {
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
        mut each: impl FnMut(DocId, Option<StoredIds<'_>>) -> Result<(), E>,
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
        each: &mut impl FnMut(DocId, Option<StoredIds<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let keys: Vec<Vec<u8>> = documents
            .iter()
            .map(|document| TokensKey { tokenizer, document: *document }.to_bytes())
            .collect();
        let found = self.pinned().multi_get::<Tokens>(&keys)?;
        for ((document, key), bytes) in documents.iter().zip(&keys).zip(found) {
            match bytes {
                Some(bytes) => {
                    each(*document, Some(StoredIds::new(*document, key, &bytes, wide)?))?;
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
        each: &mut impl FnMut(DocId, Option<StoredIds<'_>>) -> Result<(), E>,
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
                each(document, Some(StoredIds::new(document, &key, bytes, wide)?))?;
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
