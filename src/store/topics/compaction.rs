//! Compaction as a commit: what a damaged file hides from it comes out at once.

use crate::model::Progress;
use crate::store::error::StoreError;
use crate::store::opening::Writer;
use crate::store::rows::records::CommitRecord;

impl Writer {
    /// Rewrites the files into their most compact form. What is stored stays the same.
    ///
    /// # Errors
    /// [`StoreError`] when the disk refuses.
    pub fn compact(&mut self, progress: &dyn Progress) -> Result<(), StoreError> {
        self.compact_files(progress)?;
        // A compaction that meets a damaged block says nothing, but no commit succeeds after it.
        let kind = "compact".to_owned();
        self.begin()?.commit(&CommitRecord { kind, ..CommitRecord::default() })?;
        self.flush()
    }
}
