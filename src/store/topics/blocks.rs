//! What removals by the user block: the removed text, and the removed document's key.

use crate::model::DocId;
use crate::store::batch::Batch;
use crate::store::columns::Blocks;
use crate::store::error::StoreError;
use crate::store::rows::ids;
use crate::store::rows::keys::BlockKey;
use crate::store::rows::kinds::Blocked;
use crate::store::view::View;

impl View {
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
