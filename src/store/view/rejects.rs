//! Walks over rejected records: their raw bytes may be long, so one record is held at a time.

use crate::store::columns::Rejects;
use crate::store::error::StoreError;
use crate::store::rows::codec;
use crate::store::rows::keys::IdentityKey;
use crate::store::rows::records::RejectRecord;
use crate::store::view::View;
use std::collections::BTreeSet;

impl View {
    pub(in crate::store) fn has_reject(&self, hash: [u8; 16]) -> Result<bool, StoreError> {
        Ok(self.pinned().get::<Rejects>(&IdentityKey { hash })?.is_some())
    }

    /// Rejected records, ordered by source, path and number; `limit` bounds how many. Holds all of them:
    /// [`View::for_each_reject_in_order`] holds one.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn rejects(&self, limit: usize) -> Result<Vec<RejectRecord>, StoreError> {
        let mut found = Vec::new();
        self.for_each_reject_in_order(limit, |record| {
            found.push(record);
            Ok::<(), StoreError>(())
        })?;
        Ok(found)
    }

    /// Calls `each` with every rejected record, in an order that is the same at every call and means
    /// nothing. Holds one record.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read, or what `each` returns.
    pub fn for_each_reject<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(RejectRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows = self.pinned().scan::<Rejects>(&[], None)?;
        while let Some((_, record)) = rows.next_as("reject", codec::decode)? {
            each(record)?;
        }
        Ok(())
    }

    /// Calls `each` with the first `limit` rejected records by source, path and number. Holds one record,
    /// and the positions of `limit` of them.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read, or what `each` returns.
    pub fn for_each_reject_in_order<E: From<StoreError>>(
        &self,
        limit: usize,
        mut each: impl FnMut(RejectRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        // Keys are hashes: the first `limit` in order are known only at the end.
        let mut first: BTreeSet<(String, String, u64, [u8; 16])> = BTreeSet::new();
        let mut rows = self.pinned().scan::<Rejects>(&[], None)?;
        while let Some((key, record)) = rows.next_as("reject", codec::decode::<RejectRecord>)? {
            first.insert((record.source, record.path, record.number, key.hash));
            if first.len() > limit {
                first.pop_last();
            }
        }
        for (_, _, _, hash) in first {
            let key = IdentityKey { hash };
            let record = self.pinned().read::<Rejects, _>("reject", &key, codec::decode)?;
            if let Some(record) = record {
                each(record)?;
            }
        }
        Ok(())
    }
}
