//! The families `keys` and `exact`: documents by the hash of their identity, and by that of their text.

use crate::batch::CommitBatch;
use crate::bytes::grid_rows::DocumentPrint;
use crate::bytes::key::{
    ExactKey, IdentityKey, StoreKey, TextKind, decode_document, encode_document,
};
use crate::database::family::{StoreFamily, corrupt_row, family_handle, store_family};
use crate::error::StoreError;
use crate::view::View;
use model::{ComparedPart, DedupMode, DocId, Policy};

store_family! {
    /// Identity of records: re-ingest is idempotent.
    Keys = "keys", Hashed,
    IdentityKey, "blake3-128 of source and key"
    => "document id": DocId, |_, bytes| decode_document(bytes),
    "document u64 BE"
}

store_family! {
    /// Best-ranked eligible document of each text.
    Exact = "exact", Hashed,
    ExactKey, "generation u32, kind u8 (0 raw, 1 normalised), blake3-128 (in scope per source its first 4 bytes xor source u32 LE)"
    => "exact row": DocId, |_, bytes| decode_document(bytes),
    "document u64 BE"
}

impl TextKind {
    /// The forms of a text by which documents are equal under a policy. Of prompts the raw text is none: the same text may
    /// have two of them.
    #[must_use]
    pub const fn of_policy(policy: &Policy) -> &'static [Self] {
        match (policy.mode, policy.compared) {
            (DedupMode::None, _) => &[],
            (_, ComparedPart::Prompt) => &[Self::Normalised],
            (DedupMode::Exact, _) => &[Self::Raw],
            (DedupMode::Witness | DedupMode::Components | DedupMode::Lsh, _) => {
                &[Self::Raw, Self::Normalised]
            }
        }
    }

    /// The hash of a document's text in this form.
    #[must_use]
    pub const fn hash_of(self, print: &DocumentPrint) -> [u8; 16] {
        match self {
            Self::Raw => print.raw,
            Self::Normalised => print.normalised,
        }
    }
}

impl View {
    /// Best-ranked eligible document with that text hash.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn exact(&self, kind: TextKind, hash: [u8; 16]) -> Result<Option<DocId>, StoreError> {
        let key = ExactKey { generation: self.generation(), kind, hash };
        self.pinned().read::<Exact, _>(&key)
    }

    /// The documents stored under identity hashes; `hashes` in any order, answers in theirs.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn identities(&self, hashes: &[[u8; 16]]) -> Result<Vec<Option<DocId>>, StoreError> {
        self.sorted_lookup::<Keys>(
            hashes.iter().map(|hash| IdentityKey { hash: *hash }.to_bytes()).collect(),
        )
    }

    /// Looks up many hashes of one kind, as [`View::exact`] does; answers are in their order.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn exacts(
        &self,
        kind: TextKind,
        hashes: &[[u8; 16]],
    ) -> Result<Vec<Option<DocId>>, StoreError> {
        self.sorted_lookup::<Exact>(
            hashes
                .iter()
                .map(|hash| {
                    ExactKey { generation: self.generation(), kind, hash: *hash }.to_bytes()
                })
                .collect(),
        )
    }

    fn sorted_lookup<C: StoreFamily>(
        &self,
        keys: Vec<Vec<u8>>,
    ) -> Result<Vec<Option<DocId>>, StoreError> {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by(|a, b| keys.get(*a).cmp(&keys.get(*b)));
        let sorted: Vec<Vec<u8>> = order.iter().filter_map(|at| keys.get(*at).cloned()).collect();
        let mut answers = vec![None; keys.len()];
        for ((at, key), found) in
            order.iter().zip(&sorted).zip(self.pinned().multi_get::<C>(&sorted)?)
        {
            if let (Some(answer), Some(bytes)) = (answers.get_mut(*at), found) {
                let document = decode_document(&bytes)
                    .map_err(|why| corrupt_row::<C>("document id", key, why))?;
                *answer = Some(document);
            }
        }
        Ok(answers)
    }
}

impl CommitBatch<'_> {
    /// Writes the identities of the documents that came, in the order of their keys.
    pub(crate) fn write_identities(&mut self) -> Result<(), StoreError> {
        let identities = std::mem::take(&mut self.identities);
        identities.write(&family_handle::<Keys>(&self.writer.db)?, &mut self.rows);
        Ok(())
    }

    /// Puts the documents that these identities lead to under others, each `(old, new)`. One that leads to no document is
    /// passed over.
    pub fn move_identities(&mut self, moves: &[([u8; 16], [u8; 16])]) -> Result<(), StoreError> {
        let old: Vec<[u8; 16]> = moves.iter().map(|(old, _)| *old).collect();
        for ((old, new), document) in moves.iter().zip(self.view().identities(&old)?) {
            let Some(document) = document else { continue };
            self.delete::<Keys>(&IdentityKey { hash: *old })?;
            let key = IdentityKey { hash: *new }.to_bytes();
            self.identities.put(&key, &encode_document(document));
        }
        Ok(())
    }

    /// Forgets the identity of a document, unless a newer one has it.
    pub fn forget_identity(
        &mut self,
        identity: [u8; 16],
        document: DocId,
    ) -> Result<(), StoreError> {
        if self.view().identities(&[identity])?.first() == Some(&Some(document)) {
            self.delete::<Keys>(&IdentityKey { hash: identity })?;
        }
        Ok(())
    }
}
