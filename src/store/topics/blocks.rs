//! What removals by the user block: the removed text, and the removed document's key.

use crate::model::DocId;
use crate::store::batch::Batch;
use crate::store::columns::Blocks;
use crate::store::error::StoreError;
use crate::store::rows::ids;
use crate::store::rows::keys::BlockKey;
use crate::store::view::View;

/// What a removed document blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Blocked {
    /// Documents whose raw text has the hash.
    Text = 0,
    /// Documents whose identity is the hash.
    Identity = 1,
    /// Documents whose normalised text has the hash.
    Normalised = 2,
    /// Documents whose sketch has the hash among its own, and that are similar to the removed ones.
    Similar = 3,
}

impl Blocked {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Text, Self::Identity, Self::Normalised, Self::Similar];
}

impl View {
    /// The removed documents that block what has this hash, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn blockers(&self, what: Blocked, hash: [u8; 16]) -> Result<Vec<DocId>, StoreError> {
        let key = BlockKey { kind: what as u8, hash };
        let found = self.pinned().read::<Blocks, _>("block", &key, ids::decode_documents)?;
        Ok(found.unwrap_or_default())
    }

    /// Whether anything is blocked in this way.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn has_blocks(&self, what: Blocked) -> Result<bool, StoreError> {
        Ok(self.pinned().scan_prefix::<Blocks>(&[what as u8])?.advance()?.is_some())
    }
}

impl Batch<'_> {
    /// Stores which removed documents block what has this hash, ascending; none forgets the hash.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn block(&mut self, what: Blocked, hash: [u8; 16], by: &[DocId]) -> Result<(), StoreError> {
        let key = BlockKey { kind: what as u8, hash };
        if by.is_empty() {
            return self.delete::<Blocks>(&key);
        }
        self.put::<Blocks>(&key, &ids::encode_documents(by))
    }
}
