//! Compaction as a commit: what a damaged file hides from it comes out at once.

use crate::model::Context;
use crate::store::error::StoreError;
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
        let kind = "compact".to_owned();
        self.begin()?.commit(&CommitRecord { kind, ..CommitRecord::default() })?;
        self.flush()
    }
}
