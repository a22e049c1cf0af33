//! Sources of documents, and how far their files were read.

use super::Batch;
use crate::model::{FileId, SourceId};
use crate::store::columns::{Column, Files, Sources};
use crate::store::error::StoreError;
use crate::store::rows::codec;
use crate::store::rows::keys::{FileKey, SourceKey};
use crate::store::rows::records::{FileRecord, SourceRecord};

impl Batch<'_> {
    /// The source of that name; made if new.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn source(&mut self, name: &str) -> Result<SourceId, StoreError> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        if name.is_empty() || name.len() > 200 || name.chars().any(char::is_control) {
            return Err(StoreError::Name(format!(
                "source name {name:?} must have 1 to 200 bytes and no control characters"
            )));
        }
        let id = SourceId(self.state.next_source);
        self.state.next_source += 1;
        self.names.insert(name.to_owned(), id);
        let record =
            SourceRecord { name: name.to_owned(), next_file: 1, ..SourceRecord::default() };
        self.sources.insert(id, record);
        Ok(id)
    }

    pub(in crate::store) fn source_record(
        &mut self,
        source: SourceId,
    ) -> Result<&mut SourceRecord, StoreError> {
        if let std::collections::btree_map::Entry::Vacant(slot) = self.sources.entry(source) {
            let found =
                self.view.sources().find(|(id, _)| *id == source).map(|(_, record)| record.clone());
            slot.insert(found.ok_or(StoreError::Missing {
                what: "source",
                family: Sources::NAME,
                key: source.to_string(),
            })?);
        }
        self.sources.get_mut(&source).ok_or(StoreError::Missing {
            what: "source",
            family: Sources::NAME,
            key: source.to_string(),
        })
    }

    /// The number of a file of a source; given if new.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn file(&mut self, source: SourceId, path: &[u8]) -> Result<FileId, StoreError> {
        if let Some(id) = self.files.get(&(source, path.to_vec())) {
            return Ok(*id);
        }
        let id = match self.view.file(source, path)? {
            Some(record) => FileId(record.file),
            None => {
                let record = self.source_record(source)?;
                let id = FileId(record.next_file);
                record.next_file += 1;
                self.put::<Sources>(&SourceKey { source, file: id }, path)?;
                id
            }
        };
        self.files.insert((source, path.to_vec()), id);
        Ok(id)
    }

    /// Stores how far a file was read.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn put_file(
        &mut self,
        source: SourceId,
        path: &[u8],
        record: &FileRecord,
    ) -> Result<(), StoreError> {
        self.put::<Files>(&FileKey { source, path: path.to_vec() }, &codec::encode("file", record)?)
    }
}
