//! Records by name, and what goes with them under longer keys: snapshots with their documents, plans with what
//! they pin. A record is read without what goes with it, which may be large.

use crate::store::columns::{Column, Epochs, Snapshots, corrupt};
use crate::store::error::{Malformed, StoreError};
use crate::store::rows::keys::{Key, NameKey};
use crate::store::rows::marks::MarksRecord;
use crate::store::rows::named::{EpochRow, Named, WithPlan};
use crate::store::rows::records::{EpochRecord, SnapshotRecord};
use crate::store::view::View;
use roaring::RoaringTreemap;

impl View {
    /// The snapshot of that name.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn snapshot(&self, name: &str) -> Result<Option<SnapshotRecord>, StoreError> {
        let key = NameKey(name.to_owned());
        self.pinned().read_with::<Snapshots, _>("snapshot", &key, Named::record)
    }

    /// The documents a snapshot has as kept.
    ///
    /// # Errors
    /// [`StoreError`] when the row is absent or cannot be read.
    pub fn snapshot_kept(&self, name: &str) -> Result<RoaringTreemap, StoreError> {
        let key = NameKey(format!("{name}\0kept"));
        let found = self.pinned().read_with::<Snapshots, _>("snapshot", &key, Named::beside)?;
        found.ok_or_else(|| StoreError::Missing {
            what: "snapshot",
            family: Snapshots::NAME,
            key: format!("{name} kept"),
        })
    }

    /// Snapshots, by name.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn snapshots(&self) -> Result<Vec<SnapshotRecord>, StoreError> {
        self.named_records::<Snapshots, _>("snapshot", Named::record)
    }

    /// The snapshot of that name, which must be there.
    ///
    /// # Errors
    /// [`StoreError::NoSnapshot`], with those that there are.
    pub(crate) fn expect_snapshot(&self, name: &str) -> Result<SnapshotRecord, StoreError> {
        if let Some(record) = self.snapshot(name)? {
            return Ok(record);
        }
        let known: Vec<String> = self.snapshots()?.into_iter().map(|record| record.name).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(StoreError::NoSnapshot { name: name.to_owned(), known })
    }

    /// The numbers of the stored plans that draw from the snapshot of that name, ascending. No other snapshot ever gets
    /// the name while there are some.
    ///
    /// # Errors
    /// [`StoreError`] when the plans cannot be read.
    pub(crate) fn plans_from(&self, snapshot: &str) -> Result<Vec<u32>, StoreError> {
        let plans = self.epochs()?.into_iter().filter(|plan| plan.snapshot == snapshot);
        Ok(plans.map(|plan| plan.number).collect())
    }

    /// Epoch plans, by number.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn epochs(&self) -> Result<Vec<EpochRecord>, StoreError> {
        self.named_records::<Epochs, _>("epoch", |row| row.record())
    }

    /// An epoch plan.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn epoch(&self, number: u32) -> Result<Option<EpochRecord>, StoreError> {
        let key = NameKey(format!("{number:010}"));
        self.pinned().read_with::<Epochs, _>("epoch", &key, |row| row.record())
    }

    /// What an epoch plan pins under a name, as the epoch layer wrote it.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn epoch_part(&self, number: u32, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let key = NameKey(format!("{number:010}\0{name}"));
        let part = |row: EpochRow<'_>| match row.beside()? {
            WithPlan::Pinned(bytes) => Ok(bytes.to_vec()),
            WithPlan::Marks(_) => Err(Malformed::at(0, "marks, not what a plan pins")),
        };
        self.pinned().read_with::<Epochs, _>("epoch part", &key, part)
    }

    /// The marks that are stored of an epoch of a plan; none where there are none, or another release wrote them in
    /// a form of its own.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read, or is not as it was written.
    pub(crate) fn epoch_marks(
        &self,
        number: u32,
        epoch: u64,
    ) -> Result<Option<MarksRecord>, StoreError> {
        let marks = |row: EpochRow<'_>| match row.beside()? {
            WithPlan::Marks(marks) => Ok(marks),
            WithPlan::Pinned(_) => Err(Malformed::at(0, "what a plan pins, not marks")),
        };
        let key = NameKey::of_marks(number, epoch);
        Ok(self.pinned().read_with::<Epochs, _>("marks of an epoch", &key, marks)?.flatten())
    }

    /// The epochs of a plan of which marks are stored, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when the rows cannot be read.
    pub(crate) fn marked_epochs(&self, number: u32) -> Result<Vec<u64>, StoreError> {
        let (from, to) = (NameKey::of_marks(number, 0), NameKey::of_marks(number, u64::MAX));
        let mut rows = self.pinned().scan::<Epochs>(&from.to_bytes(), Some(to.to_bytes()))?;
        let mut epochs = Vec::new();
        while let Some((key, _)) = rows.advance()? {
            let decoded = NameKey::decode(key);
            let decoded =
                decoded.map_err(|why| corrupt::<Epochs>("marks of an epoch", key, why))?;
            epochs.extend(decoded.epoch_of_marks());
        }
        Ok(epochs)
    }

    /// All records of a family, ascending.
    fn named_records<C: Column<Key = NameKey>, T>(
        &self,
        what: &'static str,
        record: impl Fn(C::Value<'_>) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        let mut from = Vec::new();
        loop {
            let mut rows = self.pinned().scan::<C>(&from, None)?;
            let Some((key, value)) = rows.advance()? else { return Ok(found) };
            // What goes with a record is behind its name and a zero byte; no name holds one.
            from = key.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
            if from == key {
                let decoded = NameKey::decode(key).and_then(|name| C::decode(&name, value));
                let decoded = decoded.and_then(&record);
                found.push(decoded.map_err(|why| corrupt::<C>(what, key, why))?);
            }
            from.push(1);
        }
    }
}
