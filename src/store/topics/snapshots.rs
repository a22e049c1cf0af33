//! Named moments: a snapshot of what is stored now, under a name that is given or made.

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
        let (kind, subject) = ("snapshot".to_owned(), name.to_owned());
        batch.commit(&CommitRecord { kind, subject, ..CommitRecord::default() })?;
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
        let name = format!("commit-{}", self.view().commit());
        Ok(self.create_snapshot(&name)?.name)
    }
}
