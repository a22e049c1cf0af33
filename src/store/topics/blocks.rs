//! What removals by the user block: the removed text, and the removed document's key.

use crate::model::{DocId, key_identity};
use crate::store::batch::Batch;
use crate::store::columns::Blocks;
use crate::store::error::StoreError;
use crate::store::rows::header::Header;
use crate::store::rows::ids;
use crate::store::rows::keys::BlockKey;
use crate::store::rows::kinds::Blocked;
use crate::store::view::View;

/// What a document can be blocked by beside its sketch, the strictest first: its text, of so many bytes, its identity,
/// if a key was given, and its normalised text, of so many words. All empty texts are alike, and so are those of which
/// nothing is left: they say nothing.
#[must_use]
pub fn block_hashes(
    (bytes, raw): (u64, [u8; 16]),
    identity: Option<[u8; 16]>,
    (words, normalised): (u32, [u8; 16]),
) -> [(Blocked, Option<[u8; 16]>); 3] {
    [
        (Blocked::Text, (bytes > 0).then_some(raw)),
        (Blocked::Identity, identity),
        (Blocked::Normalised, (words > 0).then_some(normalised)),
    ]
}

impl View {
    /// What a stored document can be blocked by, as [`block_hashes`] has it.
    #[must_use]
    pub fn block_hashes(&self, header: &Header) -> [(Blocked, Option<[u8; 16]>); 3] {
        let key = header.key.as_ref();
        let identity = key.map(|key| key_identity(self.source_name(header.source), key));
        block_hashes((header.bytes, header.raw), identity, (header.words, header.normalised))
    }

    /// The removed documents that block what has this hash, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn blockers(&self, what: Blocked, hash: [u8; 16]) -> Result<Vec<DocId>, StoreError> {
        let key = BlockKey { kind: what, hash };
        let found = self.pinned().read::<Blocks, _>("block", &key)?;
        Ok(found.unwrap_or_default())
    }

    /// Whether anything is blocked in this way.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn has_blocks(&self, what: Blocked) -> Result<bool, StoreError> {
        Ok(self.pinned().scan_prefix::<Blocks>(&[what.as_byte()])?.advance()?.is_some())
    }
}

impl Batch<'_> {
    /// Stores which removed documents block what has this hash, ascending; none forgets the hash.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn block(&mut self, what: Blocked, hash: [u8; 16], by: &[DocId]) -> Result<(), StoreError> {
        let key = BlockKey { kind: what, hash };
        if by.is_empty() {
            return self.delete::<Blocks>(&key);
        }
        self.put::<Blocks>(&key, &ids::encode_documents(by))
    }
}
