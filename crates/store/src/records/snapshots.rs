//! The family `snapshots`: named moments, each a record and, under a longer key, the documents that it has as kept.
//!
//! A record is read without its documents: they may be many.

use crate::batch::CommitBatch;
use crate::bytes::bitmap_block::{decode_treemap, put_treemap};
use crate::bytes::key::{NameRule, SnapshotKey, check_name};
use crate::bytes::record::{self, CommitRecord, SnapshotRecord};
use crate::database::family::{RowKind, StoreFamily, store_family};
use crate::database::reads::decode_row;
use crate::error::StoreError;
use crate::view::View;
use crate::writer::StoreWriter;
use model::near_names::UnknownName;
use model::{CommitSeq, Error, ErrorKind, Generation, Hint};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

store_family! {
    /// Named snapshots and the kept bitmap each one pins.
    Snapshots = "snapshots", Small,
    SnapshotKey, "name"
    => {
        /// A snapshot.
        SnapshotRecords = "snapshot", name: String [SnapshotKey::Record(name)]
        => SnapshotRecord, |_, bytes| record::decode(bytes);
        /// The documents that it has as kept.
        SnapshotDocuments = "snapshot", name: String [SnapshotKey::Kept(name)]
        => RoaringTreemap, |_, bytes| decode_treemap(bytes, 0);
    }
    "`NAME`: record; `NAME` 0x00 `kept`: roaring treemap, portable 64-bit format"
}

impl View {
    /// The snapshot of that name.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn snapshot(&self, name: &str) -> Result<Option<SnapshotRecord>, StoreError> {
        self.pinned().read::<SnapshotRecords, _>(&name.to_owned())
    }

    /// The documents a snapshot has as kept.
    ///
    /// # Errors
    /// [`StoreError`] when the row is absent or cannot be read.
    pub fn snapshot_kept(&self, name: &str) -> Result<RoaringTreemap, StoreError> {
        let found = self.pinned().read::<SnapshotDocuments, _>(&name.to_owned())?;
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
        self.named_records::<SnapshotRecords, _>()
    }

    /// The generations whose decisions are shown, by the present or by a snapshot: ascending, each with the last commit
    /// that counts.
    #[doc(hidden)]
    pub fn shown_generations(&self) -> Result<BTreeMap<Generation, CommitSeq>, StoreError> {
        let mut shown = BTreeMap::new();
        for snapshot in self.snapshots()? {
            let last = shown.entry(Generation(snapshot.generation)).or_insert(CommitSeq(0));
            *last = CommitSeq(snapshot.commit).max(*last);
        }
        shown.insert(self.generation(), CommitSeq(u64::MAX));
        Ok(shown)
    }

    /// The snapshot of that name, which must be there.
    ///
    /// # Errors
    /// [`StoreError::Unknown`], with those that there are.
    #[doc(hidden)]
    pub fn expect_snapshot(&self, name: &str) -> Result<SnapshotRecord, StoreError> {
        if let Some(record) = self.snapshot(name)? {
            return Ok(record);
        }
        let known = self.snapshots()?.into_iter().map(|record| record.name);
        Err(StoreError::Unknown(UnknownName::new("snapshot", name, known)))
    }

    /// All records of a family, ascending.
    pub(crate) fn named_records<K, T>(&self) -> Result<Vec<T>, StoreError>
    where
        K: for<'v> RowKind<Value<'v> = T>,
    {
        let mut found = Vec::new();
        let mut rows = self.pinned().scan::<K>(&[], None)?;
        while let Some((key, value)) = rows.advance()? {
            found.extend(decode_row::<K>(key, value)?.map(|(_, record)| record));
            // What goes with a record is behind its name and a zero byte; no name holds one.
            let name = key.split(|byte| *byte == 0).next().unwrap_or_default();
            let behind = [name, &[1]].concat();
            rows.seek(&behind);
        }
        Ok(found)
    }

    /// The name of a snapshot that shows what is stored now, and whether there is one: else it is a name that a new one
    /// may have.
    #[doc(hidden)]
    pub fn snapshot_of_now(&self) -> Result<(String, bool), StoreError> {
        let (documents, generation) = (self.documents(), self.generation().0);
        let kept = self.kept()?;
        for record in self.snapshots()? {
            let same = record.documents == documents
                && record.generation == generation
                && record.kept == kept.len();
            if same && self.snapshot_kept(&record.name)? == kept {
                return Ok((record.name, true));
            }
        }
        // Somebody may have given another moment this name.
        let first = format!("commit-{}", self.commit());
        let (mut name, mut tried) = (first.clone(), 1_u64);
        while self.snapshot(&name)?.is_some() || !self.plans_from(&name)?.is_empty() {
            tried += 1;
            name = format!("{first}-{tried}");
        }
        Ok((name, false))
    }
}

impl CommitBatch<'_> {
    /// Stores a named snapshot of the moment before this batch.
    ///
    /// # Errors
    /// [`StoreError::Name`] when the name is taken or malformed.
    pub fn add_snapshot(&mut self, name: &str) -> Result<SnapshotRecord, StoreError> {
        self.check_new_snapshot(name)?;
        let all = self.writer.kept()?;
        let kept = put_treemap(&all, Vec::new())?;
        let record = SnapshotRecord {
            name: name.to_owned(),
            commit: self.view.commit().0,
            generation: self.view.generation().0,
            documents: self.view.documents(),
            kept: all.len(),
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
        // The documents are taken as written: the record has their hash.
        let found = self.view.pinned().get::<SnapshotDocuments>(&record.name)?;
        let found = found.map(|bytes| bytes.to_vec());
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
        self.delete::<Snapshots>(&SnapshotKey::Record(name.to_owned()))?;
        self.delete::<Snapshots>(&SnapshotKey::Kept(name.to_owned()))
    }

    fn put_snapshot(&mut self, record: &SnapshotRecord, kept: &[u8]) -> Result<(), StoreError> {
        let bytes = record::encode("snapshot", record)?;
        self.put::<Snapshots>(&SnapshotKey::Record(record.name.clone()), &bytes)?;
        self.put::<Snapshots>(&SnapshotKey::Kept(record.name.clone()), kept)
    }

    fn check_new_snapshot(&self, name: &str) -> Result<(), StoreError> {
        check_name("snapshot name", name, NameRule::Shown)?;
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

    /// Takes purged documents out of what a snapshot shows as kept, and counts them in its record.
    ///
    /// # Errors
    /// [`StoreError`] when the snapshot cannot be read or encoded.
    pub fn purge_from_snapshot(
        &mut self,
        record: SnapshotRecord,
        purged: &RoaringTreemap,
    ) -> Result<(), StoreError> {
        let kept = self.view().snapshot_kept(&record.name)? - purged;
        let bytes = put_treemap(&kept, Vec::new())?;
        let lost = record.kept.saturating_sub(kept.len());
        let record = SnapshotRecord {
            kept: kept.len(),
            kept_hash: *blake3::hash(&bytes).as_bytes(),
            purged: record.purged + lost,
            ..record
        };
        self.put_snapshot(&record, &bytes)
    }
}

impl StoreWriter {
    /// Names this moment, in a commit of its own.
    ///
    /// # Errors
    /// [`StoreError::Name`] when the name is taken or malformed.
    pub fn create_snapshot(&mut self, name: &str) -> Result<SnapshotRecord, StoreError> {
        let mut batch = self.begin()?;
        let record = batch.add_snapshot(name)?;
        batch.commit(&about(name))?;
        Ok(record)
    }

    /// Names what a snapshot of another corpus keeps of the documents that were copied from there, in a commit of its own:
    /// `kept` of the first `documents`.
    ///
    /// # Errors
    /// [`StoreError::Name`] when the name is taken.
    pub fn carry_snapshot(
        &mut self,
        other: &SnapshotRecord,
        kept: &RoaringTreemap,
        documents: u64,
    ) -> Result<(), StoreError> {
        let mut batch = self.begin()?;
        batch.check_new_snapshot(&other.name)?;
        let bytes = put_treemap(kept, Vec::new())?;
        let record = SnapshotRecord {
            name: other.name.clone(),
            commit: batch.view.commit().0,
            generation: batch.view.generation().0,
            documents,
            kept: kept.len(),
            kept_hash: *blake3::hash(&bytes).as_bytes(),
            purged: other.purged,
        };
        batch.put_snapshot(&record, &bytes)?;
        batch.commit(&about(&other.name))?;
        Ok(())
    }

    /// Gives a snapshot another name. One that a stored plan draws from keeps its own: the hash of the plan is over it.
    ///
    /// # Errors
    /// [`StoreError::Unknown`]; [`StoreError`] when plans draw from it; [`StoreError::Name`] when the new name is taken or
    /// malformed.
    pub fn rename_snapshot(&mut self, old: &str, new: &str) -> Result<SnapshotRecord, StoreError> {
        let record = self.view().expect_snapshot(old)?;
        let plans = self.view().plans_from(old)?;
        if !plans.is_empty() {
            let way_out =
                "the hash of a plan includes the name; only snapshots without plans can be renamed";
            return Err(drawn(old, &plans, way_out));
        }
        let mut batch = self.begin()?;
        let record = batch.rename_snapshot(record, new)?;
        batch.commit(&about(format!("{old} renamed to {new}")))?;
        Ok(record)
    }

    /// Forgets a snapshot, and the decisions of an earlier policy that nothing else shows. While stored plans draw from
    /// it, it is refused unless `force`; they are the second answer, and pin what they need themselves.
    ///
    /// # Errors
    /// [`StoreError::Unknown`]; [`StoreError`] when plans draw from it.
    pub fn drop_snapshot(
        &mut self,
        name: &str,
        force: bool,
    ) -> Result<(SnapshotRecord, Vec<u32>), StoreError> {
        let record = self.view().expect_snapshot(name)?;
        let plans = self.view().plans_from(name)?;
        if !force && !plans.is_empty() {
            let way_out =
                "they pin their documents and can be built without it; `force=` drops it anyway";
            return Err(drawn(name, &plans, way_out));
        }
        let generation = record.generation;
        let shows = |other: &SnapshotRecord| other.generation == generation && other.name != name;
        let is_shown =
            generation == self.view().generation().0 || self.view().snapshots()?.iter().any(shows);
        let mut batch = self.begin()?;
        batch.drop_snapshot(name)?;
        if !is_shown {
            batch.forget_decisions(Generation(generation))?;
        }
        batch.commit(&about(format!("{name} dropped")))?;
        Ok((record, plans))
    }
}

fn about(subject: impl Into<String>) -> CommitRecord {
    CommitRecord::about("snapshot", subject)
}

/// The error that stored plans draw from a snapshot.
fn drawn(name: &str, plans: &[u32], way_out: &'static str) -> StoreError {
    let message = match plans {
        [plan] => format!("plan {plan} draws from snapshot `{name}`"),
        _ => {
            let plans: Vec<String> = plans.iter().map(u32::to_string).collect();
            format!("plans {} draw from snapshot `{name}`", plans.join(", "))
        }
    };
    Error::of(ErrorKind::Failed, message).with_hint(Hint::text(way_out)).into()
}
