//! Which files hold keys that another file's records superseded since: read again, their content wins again.

use crate::model::{FileId, SourceId};
use crate::store::batch::Batch;
use crate::store::columns::Meta;
use crate::store::error::StoreError;
use crate::store::rows::meta::MetaKey;
use crate::store::view::View;

impl View {
    /// Calls `each` with every file of a source some of whose documents were superseded by another file
    /// since it was last read from its start, and that other file; ascending by file.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn for_each_overtaken(
        &self,
        source: SourceId,
        mut each: impl FnMut(FileId, FileId),
    ) -> Result<(), StoreError> {
        let prefix = MetaKey::overtaken(source, None);
        let mut rows = self.pinned().scan_prefix::<Meta>(prefix.as_bytes())?;
        while let Some((key, _)) = rows.next("overtaken file")? {
            if let MetaKey::Overtaken { file, by, .. } = key {
                each(file, by);
            }
        }
        Ok(())
    }
}

impl Batch<'_> {
    /// Notes that records of one file superseded documents of another.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn overtake(
        &mut self,
        source: SourceId,
        file: FileId,
        by: FileId,
    ) -> Result<(), StoreError> {
        self.put::<Meta>(&MetaKey::Overtaken { source, file, by }, &[])
    }

    /// Forgets who overtook a file that is read from its start: what it says wins from here on.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn forget_overtaken(&mut self, source: SourceId, file: FileId) -> Result<(), StoreError> {
        let mut stored = Vec::new();
        let prefix = MetaKey::overtaken(source, Some(file));
        let mut rows = self.view().pinned().scan_prefix::<Meta>(prefix.as_bytes())?;
        while let Some((key, _)) = rows.next("overtaken file")? {
            stored.push(key);
        }
        drop(rows);
        stored.iter().try_for_each(|key| self.delete::<Meta>(key))
    }
}
