//! Records by name, and what goes with them under longer keys: snapshots with their documents, plans with what
//! they pin. A record is read without what goes with it, which may be large.

use crate::store::columns::{Column, Epochs, Snapshots, corrupt};
use crate::store::error::{Malformed, StoreError};
use crate::store::rows::codec;
use crate::store::rows::keys::NameKey;
use crate::store::rows::records::{EpochRecord, SnapshotRecord};
use crate::store::view::View;
use roaring::RoaringTreemap;

impl View {
    /// The snapshot of that name.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn snapshot(&self, name: &str) -> Result<Option<SnapshotRecord>, StoreError> {
        self.pinned().read::<Snapshots, _>("snapshot", &NameKey(name.to_owned()), codec::decode)
    }

    /// The documents a snapshot has as kept.
    ///
    /// # Errors
    /// [`StoreError`] when the row is absent or cannot be read.
    pub fn snapshot_kept(&self, name: &str) -> Result<RoaringTreemap, StoreError> {
        self.treemap::<Snapshots>("snapshot", NameKey(format!("{name}\0kept")))
    }

    fn treemap<C: Column<Key = NameKey>>(
        &self,
        what: &'static str,
        key: NameKey,
    ) -> Result<RoaringTreemap, StoreError> {
        let found = self.pinned().read::<C, _>(what, &key, |bytes| {
            RoaringTreemap::deserialize_from(bytes)
                .map_err(|error| Malformed::at(0, error.to_string()))
        })?;
        found.ok_or(StoreError::Missing { what, family: C::NAME, key: key.0.replace('\0', " ") })
    }

    /// Snapshots, by name.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn snapshots(&self) -> Result<Vec<SnapshotRecord>, StoreError> {
        self.named_records::<Snapshots, _>("snapshot")
    }

    /// Epoch plans, by number.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn epochs(&self) -> Result<Vec<EpochRecord>, StoreError> {
        self.named_records::<Epochs, _>("epoch")
    }

    /// An epoch plan.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn epoch(&self, number: u32) -> Result<Option<EpochRecord>, StoreError> {
        self.pinned().read::<Epochs, _>("epoch", &NameKey(format!("{number:010}")), codec::decode)
    }

    /// What an epoch plan pins under a name, as the epoch layer wrote it.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn epoch_part(&self, number: u32, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let key = NameKey(format!("{number:010}\0{name}"));
        self.pinned().read::<Epochs, _>("epoch part", &key, |bytes| Ok(bytes.to_vec()))
    }

    /// All records of a family, ascending.
    fn named_records<C: Column<Key = NameKey>, T: bincode::Decode<()>>(
        &self,
        what: &'static str,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        let mut from = Vec::new();
        loop {
            let mut rows = self.pinned().scan::<C>(&from, None)?;
            let Some((key, value)) = rows.advance()? else { return Ok(found) };
            // What goes with a record is behind its name and a zero byte; no name holds one.
            from = key.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
            if from == key {
                found.push(codec::decode(value).map_err(|why| corrupt::<C>(what, key, why))?);
            }
            from.push(1);
        }
    }
}
