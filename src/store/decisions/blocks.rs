//! The family `blocks`: what removals by the user keep out, the removed text and the removed document's key.

use crate::model::DocId;
use crate::store::batch::CommitBatch;
use crate::store::bytes::key::{self, BlockKey, BlockKind, decode_documents};
use crate::store::database::family::store_family;
use crate::store::error::StoreError;
use crate::store::view::View;

store_family! {
    /// What the user's removals block. Written by `remove` and `restore`, read by ingest.
    Blocks = "blocks", Small,
    BlockKey, "kind u8 (0 raw text, 1 identity, 2 normalised text, 3 four slots of the sketch), 16 bytes of hash"
    => Vec<DocId>, |_, bytes| decode_documents(bytes),
    "removed documents, u64 BE each, ascending"
}

impl View {
    /// The removed documents that block what has this hash, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn blockers(&self, what: BlockKind, hash: [u8; 16]) -> Result<Vec<DocId>, StoreError> {
        let key = BlockKey { kind: what, hash };
        let found = self.pinned().read::<Blocks, _>("block", &key)?;
        Ok(found.unwrap_or_default())
    }

    /// Whether anything is blocked in this way.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn has_blocks(&self, what: BlockKind) -> Result<bool, StoreError> {
        Ok(self.pinned().scan_prefix::<Blocks>(&[what.as_byte()])?.advance()?.is_some())
    }
}

impl CommitBatch<'_> {
    /// Stores which removed documents block what has this hash, ascending; none forgets the hash.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn block(
        &mut self,
        what: BlockKind,
        hash: [u8; 16],
        by: &[DocId],
    ) -> Result<(), StoreError> {
        let key = BlockKey { kind: what, hash };
        if by.is_empty() {
            return self.delete::<Blocks>(&key);
        }
        self.put::<Blocks>(&key, &key::encode_documents(by))
    }
}
