//! Rejects, snapshots and plans.

use super::Batch;
use crate::store::columns::{Column, Epochs, Rejects, Snapshots};
use crate::store::error::StoreError;
use crate::store::rows::codec;
use crate::store::rows::keys::{IdentityKey, NameKey, after_prefix};
use crate::store::rows::marks::MarksRecord;
use crate::store::rows::records::{EpochRecord, RejectRecord, SnapshotRecord};
use roaring::RoaringTreemap;

/// What the store had of a rejected record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectNovelty {
    /// Nothing.
    New,
    /// The record, with another reason or position.
    Changed,
    /// All of it.
    Known,
}

impl Batch<'_> {
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
        self.put::<Rejects>(&IdentityKey { hash: identity }, &codec::encode("reject", record)?)?;
        Ok(novelty)
    }

    /// Stores a named snapshot of the moment before this batch.
    ///
    /// # Errors
    /// [`StoreError::Name`] when the name is taken or malformed.
    pub fn add_snapshot(&mut self, name: &str) -> Result<SnapshotRecord, StoreError> {
        self.check_new_snapshot(name)?;
        let kept = treemap_bytes(&self.writer.kept)?;
        let record = SnapshotRecord {
            name: name.to_owned(),
            commit: self.view.commit().0,
            generation: self.view.generation().0,
            documents: self.view.documents(),
            kept: self.writer.kept.len(),
            kept_hash: *blake3::hash(&kept).as_bytes(),
            purged: 0,
        };
        self.put_snapshot(&record, &kept)?;
        Ok(record)
    }

    /// Gives a snapshot another name.
    ///
    /// # Errors
    /// [`StoreError::Name`] when the name is taken or malformed.
    pub fn rename_snapshot(
        &mut self,
        record: SnapshotRecord,
        name: &str,
    ) -> Result<SnapshotRecord, StoreError> {
        self.check_new_snapshot(name)?;
        // As written: the record has their hash.
        let key = NameKey(format!("{}\0kept", record.name));
        let found = self.view.pinned().get::<Snapshots>(&key)?.map(|bytes| bytes.to_vec());
        let kept = found.ok_or_else(|| StoreError::Missing {
            what: "snapshot",
            family: Snapshots::NAME,
            key: format!("{} kept", record.name),
        })?;
        self.drop_snapshot(&record.name)?;
        let record = SnapshotRecord { name: name.to_owned(), ..record };
        self.put_snapshot(&record, &kept)?;
        Ok(record)
    }

    /// Forgets a snapshot with the documents it has as kept.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn drop_snapshot(&mut self, name: &str) -> Result<(), StoreError> {
        self.delete::<Snapshots>(&NameKey(name.to_owned()))?;
        self.delete::<Snapshots>(&NameKey(format!("{name}\0kept")))
    }

    fn put_snapshot(&mut self, record: &SnapshotRecord, kept: &[u8]) -> Result<(), StoreError> {
        let name = &record.name;
        self.put::<Snapshots>(&NameKey(name.clone()), &codec::encode("snapshot", record)?)?;
        self.put::<Snapshots>(&NameKey(format!("{name}\0kept")), kept)
    }

    fn check_new_snapshot(&self, name: &str) -> Result<(), StoreError> {
        if name.is_empty() || name.len() > 200 || name.chars().any(char::is_control) {
            return Err(StoreError::Name(format!(
                "snapshot name {name:?} must have 1 to 200 bytes and no control characters"
            )));
        }
        if self.view.snapshot(name)?.is_some() {
            return Err(StoreError::Name(format!(
                "snapshot `{name}` exists already; choose another name"
            )));
        }
        // A plan says by this name what it was made of, also when that was dropped.
        if let Some(plan) = self.view.plans_from(name)?.first() {
            return Err(StoreError::Name(format!(
                "plan {plan} draws from a snapshot `{name}` that was dropped; choose another name"
            )));
        }
        Ok(())
    }

    /// Stores an epoch plan with what it pins, by name, and gives it the next number.
    ///
    /// # Errors
    /// [`StoreError`] when the plan cannot be encoded.
    pub fn add_epoch(
        &mut self,
        record: EpochRecord,
        parts: &[(String, Vec<u8>)],
    ) -> Result<EpochRecord, StoreError> {
        let record = EpochRecord { number: self.state.next_epoch, ..record };
        self.state.next_epoch += 1;
        let name = format!("{:010}", record.number);
        self.put::<Epochs>(&NameKey(name.clone()), &codec::encode("epoch", &record)?)?;
        for (part, bytes) in parts {
            self.put::<Epochs>(&NameKey(format!("{name}\0{part}")), bytes)?;
        }
        Ok(record)
    }

    /// Stores the marks of an epoch with plan `number`.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn put_marks(&mut self, number: u32, marks: &MarksRecord) -> Result<(), StoreError> {
        self.put::<Epochs>(&NameKey::of_marks(number, marks.epoch), &marks.encode())
    }

    /// Writes a plan without the words that quoted what was purged; its number, hash and what it pins stay.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn redact_epoch(&mut self, record: &EpochRecord) -> Result<(), StoreError> {
        let name = format!("{:010}", record.number);
        self.put::<Epochs>(&NameKey(name), &codec::encode("epoch", record)?)
    }

    /// Forgets an epoch plan with what it pins and its marks.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn drop_epoch(&mut self, number: u32) -> Result<(), StoreError> {
        let name = format!("{number:010}");
        let end = after_prefix(format!("{name}\0").as_bytes());
        self.delete::<Epochs>(&NameKey(name.clone()))?;
        self.delete_range::<Epochs>(format!("{name}\0").into_bytes(), end.unwrap_or_default())
    }
}

pub(super) fn treemap_bytes(map: &RoaringTreemap) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::with_capacity(map.serialized_size());
    map.serialize_into(&mut bytes)
        .map_err(|error| StoreError::Encode { what: "bitmap", why: error.to_string() })?;
    Ok(bytes)
}
