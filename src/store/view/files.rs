//! Sources, and what was read of their files.

use super::View;
use crate::model::{FileId, SourceId};
use crate::store::columns::{Files, Sources};
use crate::store::error::StoreError;
use crate::store::rows::keys::{FileKey, Key, SourceKey};
use crate::store::rows::named::SourceRow;
use crate::store::rows::records::{FileRecord, SourceRecord};

impl View {
    /// Sources, ascending by id.
    pub fn sources(&self) -> impl Iterator<Item = (SourceId, &SourceRecord)> {
        (0..).map(SourceId).zip(&self.moment.sources)
    }

    /// The source of that name.
    #[must_use]
    pub fn source_named(&self, name: &str) -> Option<(SourceId, &SourceRecord)> {
        self.sources().find(|(_, record)| record.name == name)
    }

    /// The name of a source; `?` for an id that was never given.
    #[must_use]
    pub fn source_name(&self, source: SourceId) -> &str {
        self.moment.sources.get(source.0 as usize).map_or("?", |record| &record.name)
    }

    /// What was read of a file.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn file(&self, source: SourceId, path: &[u8]) -> Result<Option<FileRecord>, StoreError> {
        let key = FileKey { source, path: path.to_vec() };
        self.pinned().read::<Files, _>("file", &key)
    }

    /// The numbers of files: of those `paths`, which ascend, under every source that has them, or under `only` one. Each
    /// comes with the place of its path. What is read grows with what is found and with the sources, not with the files
    /// times the sources.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub(crate) fn file_numbers(
        &self,
        paths: &[&[u8]],
        only: Option<SourceId>,
    ) -> Result<Vec<(usize, SourceId, FileId)>, StoreError> {
        let mut found = Vec::new();
        let Some(first) = paths.first() else { return Ok(found) };
        let key = |source, path: &[u8]| FileKey { source, path: path.to_vec() }.to_bytes();
        let mut rows =
            self.pinned().scan::<Files>(&key(only.unwrap_or(SourceId(0)), first), None)?;
        while let Some((FileKey { source, path }, file)) =
            rows.next_with("file", |file| Ok(FileId(file.file)))?
        {
            if only.is_some_and(|only| source > only) {
                break;
            }
            let at = paths.partition_point(|wanted| *wanted < path.as_slice());
            match paths.get(at) {
                Some(wanted) if **wanted == *path => found.push((at, source, file)),
                Some(wanted) => rows.seek(&key(source, wanted)),
                None => match source.0.checked_add(1) {
                    Some(next) => rows.seek(&key(SourceId(next), first)),
                    None => break,
                },
            }
        }
        Ok(found)
    }

    /// The files of a source whose path is shown so: the one of those bytes, and where something in it stands for bytes
    /// that are no UTF-8, all that look like it.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub(crate) fn files_shown_as(
        &self,
        source: SourceId,
        shown: &str,
    ) -> Result<Vec<FileRecord>, StoreError> {
        let Some((before, _)) = shown.split_once(char::REPLACEMENT_CHARACTER) else {
            return Ok(self.file(source, shown.as_bytes())?.into_iter().collect());
        };
        let alike = FileKey { source, path: before.as_bytes().to_vec() }.to_bytes();
        let files = self.pinned().scan_prefix::<Files>(&alike)?;
        let is_shown_so = |key: &FileKey| String::from_utf8_lossy(&key.path) == shown;
        files.taken("file", |key, file| Ok(is_shown_so(&key).then_some(file))).collect()
    }

    /// The absolute path of a file of a source, as its bytes are.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub(crate) fn file_bytes(
        &self,
        source: SourceId,
        file: FileId,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let key = SourceKey { source, file };
        let path = |row: SourceRow<'_>| row.beside().map(<[u8]>::to_vec);
        self.pinned().read_with::<Sources, _>("path", &key, path)
    }

    /// The absolute path of a file of a source, lossily decoded.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn file_path(&self, source: SourceId, file: FileId) -> Result<Option<String>, StoreError> {
        let key = SourceKey { source, file };
        self.pinned().read_with::<Sources, _>("path", &key, |row| {
            row.beside().map(|path| String::from_utf8_lossy(path).into_owned())
        })
    }
}
