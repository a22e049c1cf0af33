//! Which files hold keys that another file's records superseded since: read again, their content wins again.

use crate::model::{FileId, SourceId};
use crate::store::batch::Batch;
use crate::store::columns::Meta;
use crate::store::error::StoreError;
use crate::store::rows::meta::MetaKey;
use crate::store::view::View;

impl View {
    /// The files that superseded documents of a file since that was last read from its start.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub fn overtaken(
        &self,
        source: SourceId,
        file: FileId,
    ) -> Result<impl Iterator<Item = Result<FileId, StoreError>>, StoreError> {
        let prefix = MetaKey::overtaken(source, file);
        let rows = self.pinned().scan_prefix::<Meta>(prefix.as_bytes())?;
        Ok(rows.taken("overtaken file", |key, _| match key {
            MetaKey::Overtaken { by, .. } => Ok(Some(by)),
            _ => Ok(None),
        }))
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
        let prefix = MetaKey::overtaken(source, file);
        let mut rows = self.view().pinned().scan_prefix::<Meta>(prefix.as_bytes())?;
        while let Some((key, _)) = rows.next("overtaken file")? {
            stored.push(key);
        }
        drop(rows);
        stored.iter().try_for_each(|key| self.delete::<Meta>(key))
    }
}
