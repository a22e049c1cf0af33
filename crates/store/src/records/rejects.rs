//! The family `rejects`: records that could not be read.
//!
//! Their raw bytes may be long, so one record is held at a time.

use crate::batch::CommitBatch;
use crate::bytes::key::IdentityKey;
use crate::bytes::record::{self, RejectRecord};
use crate::database::family::store_family;
use crate::error::StoreError;
use crate::view::View;
use std::collections::BTreeSet;

store_family! {
    /// Records that could not be read. Written by ingest, read by `rejects`.
    Rejects = "rejects", Hashed,
    IdentityKey, "blake3-128 of source, path, number, raw bytes"
    => "reject": RejectRecord, |_, bytes| record::decode(bytes),
    "record: reason, position, raw bytes"
}

/// What the store had of a rejected record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectNovelty {
    /// Nothing.
    New,
    /// The record, with another reason or position.
    Changed,
    /// The record, its reason and its position.
    Known,
}

impl CommitBatch<'_> {
    /// Stores a rejected record once. One that was stored before has the reason and the position of this time.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be read or encoded.
    pub fn reject(
        &mut self,
        identity: [u8; 16],
        record: &RejectRecord,
    ) -> Result<RejectNovelty, StoreError> {
        if self.rejects.contains(&identity) {
            return Ok(RejectNovelty::Known);
        }
        let novelty = match self.view.reject(identity)? {
            None => RejectNovelty::New,
            Some(stored) if stored == *record => return Ok(RejectNovelty::Known),
            Some(_) => RejectNovelty::Changed,
        };
        self.rejects.insert(identity);
        self.state.rejects += u64::from(novelty == RejectNovelty::New);
        self.put::<Rejects>(&IdentityKey { hash: identity }, &record::encode("reject", record)?)?;
        Ok(novelty)
    }

    /// Forgets a rejected record.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn forget_reject(&mut self, hash: [u8; 16]) -> Result<(), StoreError> {
        self.state.rejects = self.state.rejects.saturating_sub(1);
        self.delete::<Rejects>(&IdentityKey { hash })
    }
}

impl View {
    pub(crate) fn reject(&self, hash: [u8; 16]) -> Result<Option<RejectRecord>, StoreError> {
        self.pinned().read::<Rejects, _>(&IdentityKey { hash })
    }

    /// The first `limit` rejected records by source, path and number.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn rejects(&self, limit: usize) -> Result<RejectIter<'_>, StoreError> {
        // Keys are hashes: the first `limit` in order are known only at the end.
        let mut first: BTreeSet<(String, String, u64, [u8; 16])> = BTreeSet::new();
        let mut rows = self.pinned().scan::<Rejects>(&[], None)?;
        while let Some((key, record)) = rows.next()? {
            first.insert((record.source, record.path, record.number, key.hash));
            if first.len() > limit {
                first.pop_last();
            }
        }
        Ok(RejectIter { view: self, left: first.into_iter() })
    }

    /// Every rejected record with the hash that it stands under.
    #[doc(hidden)]
    pub fn keyed_rejects(
        &self,
    ) -> Result<impl Iterator<Item = Result<([u8; 16], RejectRecord), StoreError>>, StoreError>
    {
        let rows = self.pinned().scan::<Rejects>(&[], None)?;
        Ok(rows.filter_map(|key, record| Some((key.hash, record))))
    }

    /// Every rejected record, in an order that is the same at every call and means nothing. Holds one record.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a record that cannot be read is the last that comes.
    pub fn all_rejects(
        &self,
    ) -> Result<impl Iterator<Item = Result<RejectRecord, StoreError>>, StoreError> {
        let rows = self.pinned().scan::<Rejects>(&[], None)?;
        Ok(rows.filter_map(|_, record| Some(record)))
    }
}

/// Rejected records in the order of source, path and number. Holds one record, and the positions of those that are
/// left.
pub struct RejectIter<'a> {
    view: &'a View,
    left: std::collections::btree_set::IntoIter<(String, String, u64, [u8; 16])>,
}

impl Iterator for RejectIter<'_> {
    type Item = Result<RejectRecord, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        for (_, _, _, hash) in self.left.by_ref() {
            let key = IdentityKey { hash };
            let record = self.view.pinned().read::<Rejects, _>(&key);
            if let Some(record) = record.transpose() {
                return Some(record);
            }
        }
        None
    }
}

impl std::fmt::Debug for RejectIter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RejectIter").finish_non_exhaustive()
    }
}
