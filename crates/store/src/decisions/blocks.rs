//! The family `blocks`: hashes of the texts, keys and sketches that a user removed, by which an ingest keeps them out.

use crate::batch::CommitBatch;
use crate::bytes::key::{self, BlockKey, BlockKind, decode_documents};
use crate::database::family::store_family;
use crate::documents::document::DocumentRecord;
use crate::error::StoreError;
use crate::view::View;
use model::{DocId, key_identity, text_hash};

store_family! {
    /// What the user's removals block. Written by `remove` and `restore`, read by ingest.
    Blocks = "blocks", Small,
    BlockKey, "kind u8 (0 raw text, 1 identity, 2 normalised text, 3 four slots of the sketch), 16 bytes of hash"
    => "block": Vec<DocId>, |_, bytes| decode_documents(bytes),
    "removed documents, u64 BE each, ascending"
}

/// A hash of each kind, the strictest first; none where a document has nothing of that kind.
type BlockHashes = [(BlockKind, Option<[u8; 16]>); 3];

/// The hashes that can block a document beside its sketch, the strictest first: of its text, of its identity, if a key
/// was given, and of its normalised text. Empty texts, and texts of which the normaliser leaves nothing, have none:
/// they are all equal.
#[must_use]
pub fn block_hashes(
    raw: [u8; 16],
    identity: Option<[u8; 16]>,
    (words, normalised): (u32, [u8; 16]),
) -> BlockHashes {
    [
        (BlockKind::Text, (raw != text_hash("")).then_some(raw)),
        (BlockKind::Identity, identity),
        (BlockKind::Normalised, (words > 0).then_some(normalised)),
    ]
}

impl View {
    /// What a stored document can be blocked by, as [`block_hashes`] has it.
    ///
    /// # Errors
    /// [`StoreError::Missing`] for a source that there is not.
    #[doc(hidden)]
    pub fn block_hashes(&self, record: &DocumentRecord) -> Result<BlockHashes, StoreError> {
        let identity = match &record.key {
            Some(key) => Some(key_identity(self.source_name(record.place.source)?, key)),
            None => None,
        };
        Ok(block_hashes(record.print.raw, identity, (record.print.words, record.print.normalised)))
    }

    /// The identity by which a stored document can be blocked: that of its key, if one was given.
    ///
    /// # Errors
    /// As [`View::block_hashes`], or when a row cannot be read.
    #[doc(hidden)]
    pub fn block_identity(&self, document: DocId) -> Result<Option<[u8; 16]>, StoreError> {
        let Some(key) = self.key(document)? else { return Ok(None) };
        Ok(Some(key_identity(self.source_name(self.place(document)?.source)?, &key)))
    }

    /// The removed documents that block what has this hash, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn blockers(&self, what: BlockKind, hash: [u8; 16]) -> Result<Vec<DocId>, StoreError> {
        let key = BlockKey { kind: what, hash };
        let found = self.pinned().read::<Blocks, _>(&key)?;
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
