//! Named moments: a snapshot of what is stored now, under a name that is given or made; renamed and dropped.

use crate::model::Generation;
use crate::store::error::StoreError;
use crate::store::opening::Writer;
use crate::store::rows::records::{CommitRecord, SnapshotRecord};

impl Writer {
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

    /// The name of a snapshot that shows what is stored now; made when there is none.
    ///
    /// # Errors
    /// [`StoreError`] when a snapshot cannot be read or made.
    pub fn snapshot_of_now(&mut self) -> Result<String, StoreError> {
        let (documents, generation) = (self.view().documents(), self.view().generation().0);
        let kept = self.view().kept()?;
        for record in self.view().snapshots()? {
            let same = record.documents == documents
                && record.generation == generation
                && record.kept == kept.len();
            if same && self.view().snapshot_kept(&record.name)? == kept {
                return Ok(record.name);
            }
        }
        // Somebody may have given another moment this name.
        let first = format!("commit-{}", self.view().commit());
        let (mut name, mut tried) = (first.clone(), 1_u64);
        while self.view().snapshot(&name)?.is_some() {
            tried += 1;
            name = format!("{first}-{tried}");
        }
        Ok(self.create_snapshot(&name)?.name)
    }

    /// Gives a snapshot another name. One that a stored plan draws from keeps its own: the hash of the plan is over it.
    ///
    /// # Errors
    /// [`StoreError::NoSnapshot`]; [`StoreError::Drawn`]; [`StoreError::Name`] when the new name is taken or malformed.
    pub fn rename_snapshot(&mut self, old: &str, new: &str) -> Result<SnapshotRecord, StoreError> {
        let record = self.view().expect_snapshot(old)?;
        let plans = self.view().plans_from(old)?;
        if !plans.is_empty() {
            let way_out = "the hash of a plan is over that name: give another name to a snapshot that no plan draws from";
            return Err(StoreError::Drawn { name: old.to_owned(), plans, way_out });
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
    /// [`StoreError::NoSnapshot`]; [`StoreError::Drawn`].
    pub fn drop_snapshot(
        &mut self,
        name: &str,
        force: bool,
    ) -> Result<(SnapshotRecord, Vec<u32>), StoreError> {
        let record = self.view().expect_snapshot(name)?;
        let plans = self.view().plans_from(name)?;
        if !force && !plans.is_empty() {
            let way_out = "they pin their documents and can be built without it; `--force` drops it all the same";
            return Err(StoreError::Drawn { name: name.to_owned(), plans, way_out });
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
