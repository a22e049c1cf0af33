//! The families `sources` and `files`: sources with their counters, and the state of their files.
//!
//! A file's state is how far it was read, and whether it holds keys that another file's records superseded since: such
//! a file is read again, and its content wins.

use crate::batch::CommitBatch;
use crate::bytes::cursor::not_empty;
use crate::bytes::key::{FileKey, NameRule, SourceKey, StoreKey, check_name};
use crate::bytes::record::{self, FileRecord, SourceRecord, StoreState};
use crate::database::PinnedMoment;
use crate::database::family::{StoreFamily, store_family};
use crate::error::StoreError;
use crate::meta::{Meta, MetaKey, MetaOvertaken};
use crate::view::{MomentRecords, View};
use model::near_names::UnknownName;
use model::{FileId, SourceId};
use std::collections::BTreeMap;
use std::sync::Arc;

store_family! {
    /// Sources with counters, and the paths of their files.
    Sources = "sources", Small,
    SourceKey, "source u32, file u32"
    => {
        /// A source.
        SourceRecords = "source", source: SourceId [SourceKey { source, file: FileId(0) }]
        => SourceRecord, |_, bytes| record::decode(bytes);
        /// The path of a file of one.
        SourcePaths = "path", (source, file): (SourceId, FileId) [SourceKey { source, file }] if file != FileId(0)
        => &'v [u8], |_, bytes| not_empty(bytes, "path without a byte");
    }
    "file 0: record of the source with its counters; else the file's absolute path"
}

store_family! {
    /// What was read of each file. Written by ingest, read by the next one.
    Files = "files", Small,
    FileKey, "source u32, path bytes"
    => "file": FileRecord, |_, bytes| record::decode(bytes),
    "record: size, mtime, resume point"
}

/// What a source is called whose name is lost.
pub fn lost_name(source: SourceId) -> String {
    format!("lost-source-{}", source.0)
}

impl View {
    /// Sources, ascending by id.
    pub fn sources(&self) -> impl Iterator<Item = (SourceId, &SourceRecord)> {
        (0..).map(SourceId).zip(self.moment.records.sources.iter())
    }

    /// The source of that name.
    #[must_use]
    pub fn source_named(&self, name: &str) -> Option<(SourceId, &SourceRecord)> {
        self.sources().find(|(_, record)| record.name == name)
    }

    /// The source of that name, which must be there.
    ///
    /// # Errors
    /// [`StoreError::Unknown`], with those that there are.
    pub fn expect_source(&self, name: &str) -> Result<(SourceId, &SourceRecord), StoreError> {
        self.source_named(name).ok_or_else(|| {
            let known = self.sources().map(|(_, record)| record.name.as_str());
            StoreError::Unknown(UnknownName::new("source", name, known))
        })
    }

    /// The name of a source.
    ///
    /// # Errors
    /// [`StoreError::Missing`] for a number that no source has.
    pub fn source_name(&self, source: SourceId) -> Result<&str, StoreError> {
        let record = self.moment.records.sources.get(source.0 as usize);
        let missing = || {
            let (what, family) = ("source", Sources::NAME);
            StoreError::Missing { what, family, key: source.0.to_string() }
        };
        Ok(&record.ok_or_else(missing)?.name)
    }

    /// What was read of a file.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn file(&self, source: SourceId, path: &[u8]) -> Result<Option<FileRecord>, StoreError> {
        let key = FileKey { source, path: path.to_vec() };
        self.pinned().read::<Files, _>(&key)
    }

    /// The numbers of files: of those `paths`, which ascend, under every source that has them, or under `only` one. Each
    /// comes with the place of its path. What is read grows with what is found and with the sources, not with the files
    /// times the sources.
    #[doc(hidden)]
    pub fn file_numbers(
        &self,
        paths: &[&[u8]],
        only: Option<SourceId>,
    ) -> Result<Vec<(usize, SourceId, FileId)>, StoreError> {
        let mut found = Vec::new();
        let Some(first) = paths.first() else { return Ok(found) };
        let key = |source, path: &[u8]| FileKey { source, path: path.to_vec() }.to_bytes();
        let mut rows =
            self.pinned().scan::<Files>(&key(only.unwrap_or(SourceId(0)), first), None)?;
        while let Some((FileKey { source, path }, FileRecord { file, .. })) = rows.next()? {
            if only.is_some_and(|only| source > only) {
                break;
            }
            let at = paths.partition_point(|wanted| *wanted < path.as_slice());
            match paths.get(at) {
                Some(wanted) if **wanted == *path => found.push((at, source, FileId(file))),
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
    #[doc(hidden)]
    pub fn files_shown_as(
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
        files.filter_map(|key, file| is_shown_so(&key).then_some(file)).collect()
    }

    /// The absolute path of a file of a source, as its bytes are.
    #[doc(hidden)]
    pub fn file_bytes(
        &self,
        source: SourceId,
        file: FileId,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.pinned().read_copy::<SourcePaths, _>(&(source, file))
    }

    /// The absolute path of a file of a source, lossily decoded.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn file_path(&self, source: SourceId, file: FileId) -> Result<Option<String>, StoreError> {
        let path = self.file_bytes(source, file)?;
        Ok(path.map(|path| String::from_utf8_lossy(&path).into_owned()))
    }

    /// The records of all sources, by id: a view has them from its beginning.
    pub(crate) fn read_sources(
        pinned: &PinnedMoment,
        state: &StoreState,
    ) -> Result<Vec<SourceRecord>, StoreError> {
        let record = |id| {
            pinned.read::<SourceRecords, _>(&SourceId(id))?.ok_or(StoreError::Missing {
                what: "source",
                family: Sources::NAME,
                key: id.to_string(),
            })
        };
        (0..state.next_source).map(record).collect()
    }

    /// Reads like [`View::read_sources`]: a source that cannot be read has a name that says so.
    pub(crate) fn read_sources_beside_damage(
        pinned: &PinnedMoment,
        state: &StoreState,
        damage: &mut Vec<String>,
    ) -> Vec<SourceRecord> {
        let mut found = Vec::new();
        for id in (0..state.next_source).map(SourceId) {
            let name = lost_name(id);
            let record = match pinned.read::<SourceRecords, _>(&id) {
                Ok(Some(record)) => record,
                found => {
                    let why =
                        found.err().map_or_else(|| "gone".to_owned(), |error| error.to_string());
                    damage
                        .push(format!("the name of source {}, `{name}` in the copy: {why}", id.0));
                    SourceRecord { name, ..SourceRecord::default() }
                }
            };
            found.push(record);
        }
        found
    }

    /// The records of this moment.
    pub(crate) fn records(&self) -> MomentRecords {
        self.moment.records.clone()
    }

    /// The records of the moment behind a commit that changed these sources. New ones have the next ids.
    pub(crate) fn records_with(&self, changed: BTreeMap<SourceId, SourceRecord>) -> MomentRecords {
        let mut records = self.records();
        if !changed.is_empty() {
            let sources = Arc::make_mut(&mut records.sources);
            for (id, record) in changed {
                match sources.get_mut(id.0 as usize) {
                    Some(known) => *known = record,
                    None => sources.push(record),
                }
            }
        }
        records
    }

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
        let rows = self.pinned().scan_prefix::<MetaOvertaken>(prefix.as_bytes())?;
        Ok(rows.filter_map(|(_, _, by), ()| Some(by)))
    }
}

impl CommitBatch<'_> {
    /// Writes the records of the sources that changed.
    /// Writes the records that this batch changed, and answers them.
    pub(crate) fn write_sources(&mut self) -> Result<BTreeMap<SourceId, SourceRecord>, StoreError> {
        let changed = std::mem::take(&mut self.sources);
        for (source, record) in &changed {
            let key = SourceKey { source: *source, file: FileId(0) };
            self.put::<Sources>(&key, &record::encode("source", record)?)?;
        }
        Ok(changed)
    }

    /// The source of that name; made if new.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn source(&mut self, name: &str) -> Result<SourceId, StoreError> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        check_name("source name", name, NameRule::Shown)?;
        let id = SourceId(self.state.next_source);
        self.state.next_source += 1;
        self.names.insert(name.to_owned(), id);
        let record =
            SourceRecord { name: name.to_owned(), next_file: 1, ..SourceRecord::default() };
        self.sources.insert(id, record);
        Ok(id)
    }

    /// Gives a source another name. What is hashed with the old one is the caller's to move.
    ///
    /// # Errors
    /// [`StoreError::Name`] when the name is taken or malformed.
    pub fn rename_source(&mut self, source: SourceId, new: &str) -> Result<(), StoreError> {
        check_name("source name", new, NameRule::Shown)?;
        if self.names.contains_key(new) {
            let why = format!("source `{new}` exists already; choose another name");
            return Err(StoreError::Name(why));
        }
        let record = self.source_record(source)?;
        let old = std::mem::replace(&mut record.name, new.to_owned());
        self.names.remove(&old);
        self.names.insert(new.to_owned(), source);
        Ok(())
    }

    pub(crate) fn source_record(
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
        self.put::<Files>(
            &FileKey { source, path: path.to_vec() },
            &record::encode("file", record)?,
        )
    }

    /// A file counts as unread in a source, since an ingest that read it was undone: the next one reads it from its
    /// start. Answers whether it did not yet.
    pub fn forget_reading(&mut self, source: SourceId, path: &[u8]) -> Result<bool, StoreError> {
        let Some(record) = self.view.file(source, path)? else { return Ok(false) };
        let file = FileId(record.file);
        for by in self.view.overtaken(source, file)? {
            if by? == Self::UNDONE {
                return Ok(false);
            }
        }
        self.note_overtaking(source, file, Self::UNDONE)?;
        Ok(true)
    }

    /// What overtakes the files of an ingest that was undone: no file has this number.
    const UNDONE: FileId = FileId(0);

    /// Notes that records of one file superseded documents of another.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn note_overtaking(
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
        let stored: Vec<FileId> = self.view().overtaken(source, file)?.collect::<Result<_, _>>()?;
        let mut stored = stored.into_iter().map(|by| MetaKey::Overtaken { source, file, by });
        stored.try_for_each(|key| self.delete::<Meta>(&key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::record::CommitRecord;
    use crate::database::tuning::MemoryBudget;
    use crate::{DocumentPlace, DocumentPrint, DocumentRecord, StoreWriter, create};
    use model::{DedupMode, Policy};

    #[test]
    fn a_source_is_no_path_of_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("corpus");
        create(&path, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &[]).unwrap();
        let mut writer = StoreWriter::open(&path, MemoryBudget::within(16 << 20), 2).unwrap();
        let mut batch = writer.begin().unwrap();
        let source = batch.source("wiki").unwrap();
        let file = batch.file(source, b"/a").unwrap();
        batch.commit(&CommitRecord::about("ingest", "wiki")).unwrap();
        let view = writer.view();
        assert_eq!(view.file_bytes(source, file).unwrap(), Some(b"/a".to_vec()));
        let error = view.file_bytes(source, FileId(0)).unwrap_err().to_string();
        assert!(error.contains("the row of another kind"), "{error}");
        let rows = view.pinned().scan::<SourceRecords>(&[], None).unwrap();
        assert_eq!(rows.filter_map(|source, _| Some(source)).collect::<Vec<_>>().len(), 1);
        let mut rows = view.pinned().scan::<SourceRecords>(&[], None).unwrap();
        assert!(rows.next().is_ok() && rows.next().is_err());
    }
    /// A header with a flipped number of its source was shown under the name `?`, and blocked under it.
    #[test]
    fn a_source_that_nobody_made_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("corpus");
        create(&path, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &[]).unwrap();
        let mut writer = StoreWriter::open(&path, MemoryBudget::within(16 << 20), 2).unwrap();
        let mut batch = writer.begin().unwrap();
        let source = batch.source("wiki").unwrap();
        batch.commit(&CommitRecord::about("ingest", "wiki")).unwrap();
        let view = writer.view();
        assert_eq!(view.source_name(source).unwrap(), "wiki");
        let other = SourceId(source.0 ^ 4);
        let error = view.source_name(other).unwrap_err();
        assert!(matches!(error, StoreError::Missing { family: "sources", .. }), "{error}");
        let record = DocumentRecord {
            place: DocumentPlace {
                source: other,
                file: FileId(0),
                number: 0,
                content: [3; 16],
                text_of: None,
            },
            print: DocumentPrint { raw: [1; 16], normalised: [2; 16], words: 1, shingles: 1 },
            commit: view.commit(),
            key: Some("k".to_owned()),
            bytes: 5,
            chars: 5,
        };
        assert!(view.block_hashes(&record).is_err());
    }
}
