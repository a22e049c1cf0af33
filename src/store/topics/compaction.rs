//! Compaction as a commit: what a damaged file hides from it comes out at once.

use crate::model::Context;
use crate::store::database::compact::{PIECE, compact};
use crate::store::error::StoreError;
use crate::store::files::{scratch, twin};
use crate::store::opening::Writer;
use crate::store::rows::records::CommitRecord;

impl Writer {
    /// Rewrites the files into their most compact form. What is stored stays the same, also after a stop.
    ///
    /// # Errors
    /// [`StoreError`] when the disk refuses; [`StoreError::Interrupted`] between two pieces of a family.
    pub fn compact(&mut self, context: &Context<'_>) -> Result<(), StoreError> {
        self.compact_files(context)?;
        // A compaction that meets a damaged block says nothing, but no commit succeeds after it.
        self.begin()?.commit(&CommitRecord::about("compact", ""))?;
        self.flush()
    }

    /// Rewrites the files of these families: what was deleted from them, or replaced, is in no table and no log after
    /// it.
    ///
    /// # Errors
    /// [`StoreError::Held`] when this process shows an earlier moment, which the files are kept for; otherwise as
    /// [`Writer::compact`].
    pub fn rewrite(
        &mut self,
        families: &[&'static str],
        context: &Context<'_>,
    ) -> Result<(), StoreError> {
        self.flush()?;
        // Of all moments only this one is to be seen.
        self.committed()?;
        let oldest = self.db.property_int_value("rocksdb.oldest-snapshot-sequence")?;
        if oldest.is_some_and(|oldest| oldest != 0 && oldest < self.db.latest_sequence_number()) {
            return Err(StoreError::Held);
        }
        let compacted = compact(&self.db, families.iter().copied(), PIECE, context);
        self.committed()?;
        compacted
    }

    /// Removes what RocksDB tells people of earlier openings.
    pub fn remove_old_reports(&self) {
        self.place().remove_old_reports();
    }

    /// Directories of dry runs: of processes that go on, since those of others were removed when this writer opened.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn living_twins(&self) -> Result<Vec<String>, StoreError> {
        scratch::named(self.place(), twin::KIND)
    }

    /// Removes the checkpoints that migrations made beside the database; answers their names.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn remove_checkpoints(&self) -> Result<Vec<String>, StoreError> {
        self.place().remove_checkpoints()
    }
}
