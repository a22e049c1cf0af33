//! Documents by hash: of their text, of their identity.

use super::View;
use crate::model::DocId;
use crate::store::columns::{Column, Exact, Keys, corrupt};
use crate::store::error::StoreError;
use crate::store::rows::ids::decode_document;
use crate::store::rows::keys::{ExactKey, IdentityKey, Key};
use crate::store::rows::kinds::TextKind;

impl View {
    /// Best-ranked eligible document with that text hash.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn exact(&self, kind: TextKind, hash: [u8; 16]) -> Result<Option<DocId>, StoreError> {
        let key = ExactKey { generation: self.generation(), kind, hash };
        self.pinned().read::<Exact, _>("exact row", &key)
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

    /// As [`View::exact`] for many hashes of one kind; answers in their order.
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

    fn sorted_lookup<C: Column>(
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
                let document =
                    decode_document(&bytes).map_err(|why| corrupt::<C>("document id", key, why))?;
                *answer = Some(document);
            }
        }
        Ok(answers)
    }
}
