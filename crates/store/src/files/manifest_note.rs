//! Notes how long the database's manifest has grown, and refuses a shorter one, which has lost the names of tables.
//!
//! RocksDB takes a manifest that ends early for the whole of it. Where the write-ahead log of the lost tables is gone
//! too, their rows would be missing silently; a record whose length is beyond the end is such an end, too. So the
//! writer notes number and length after each commit and flush; a manifest only grows, until another of a higher number
//! follows it. RocksDB's threads write to it and sync it later, so it is synced before it is noted: a note that a power
//! cut leaves ahead of the disk would have a whole corpus refused.
//!
//! The note has the number of the oldest log that is still needed, too: what was in older ones is in tables.

use crate::bytes::cursor::ByteCursor;
use crate::error::StoreError;
use crate::files::directory::CorpusDirectory;
use crate::files::held_folder::DATABASE;
use crate::files::record_log::{LogScan, RecordDamage, damage, damage_between, endless};
use model::IoError;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Number and length of a manifest, the oldest needed log, and their xxh3-64; little-endian.
const RECORD: usize = 32;
/// Bytes of a note without the log, as earlier releases wrote it.
const SHORT: usize = 24;

/// A manifest as it was found: its number, its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ManifestLength {
    number: u64,
    pub(crate) length: u64,
}

/// What the writer notes; only of a manifest that is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ManifestNote {
    manifest: ManifestLength,
    /// The oldest log that holds what is in no table.
    pub(crate) oldest_log: u64,
}

impl ManifestLength {
    /// The manifest in use in a database's directory; none while it is being replaced.
    pub(crate) fn now(database: &Path) -> Option<Self> {
        let current = std::fs::read_to_string(database.join("CURRENT")).ok()?;
        let name = current.trim_end();
        let number = name.strip_prefix("MANIFEST-")?.parse().ok()?;
        let length = std::fs::metadata(database.join(name)).ok()?.len();
        Some(Self { number, length })
    }

    /// The manifest's file in the database.
    pub(crate) fn name(self) -> String {
        format!("MANIFEST-{:06}", self.number)
    }

    /// Number and length of the manifest in use, which is completely on the disk; `None` while it is replaced or a
    /// record is being written, behind what was noted `before`.
    fn synced(before: Option<Self>, place: &CorpusDirectory) -> Option<Self> {
        // Measured before it is synced: what is appended meanwhile is not claimed.
        let found = Self::now(&place.database())?;
        let start = before.filter(|noted| noted.number == found.number).map_or(0, |it| it.length);
        let path = place.database().join(found.name());
        let behind = damage_between(&path, start..found.length, LogScan::Headers).ok()?;
        if behind.is_some() {
            return None;
        }
        File::open(&path).ok()?.sync_data().ok()?;
        Some(found)
    }
}

impl ManifestNote {
    /// The file of the manifest that was noted.
    pub(crate) fn manifest(self) -> String {
        self.manifest.name()
    }

    /// The last note; a torn note does not count.
    pub(crate) fn read(place: &CorpusDirectory) -> Result<Option<Self>, StoreError> {
        let path = place.manifest_note();
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Self::decode(&bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(IoError::of("reading", &path)(error).into()),
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let body = bytes.get(..bytes.len().checked_sub(8)?)?;
        let mut cursor = ByteCursor::new(bytes);
        let (number, length) = (cursor.u64().ok()?, cursor.u64().ok()?);
        let oldest_log = match bytes.len() {
            RECORD => cursor.u64().ok()?,
            SHORT => 0,
            _ => return None,
        };
        (xxh3_64(body) == cursor.u64().ok()?)
            .then_some(Self { manifest: ManifestLength { number, length }, oldest_log })
    }

    /// Notes how the database stands, if that is other than what was noted `before`. The note is not synced:
    /// after a crash of the machine an older one protects less, and lies never.
    pub(crate) fn update(
        before: Option<Self>,
        place: &CorpusDirectory,
        oldest_log: u64,
    ) -> Result<Option<Self>, StoreError> {
        let is_new = |found: &ManifestLength| {
            before.is_none_or(|noted| noted.manifest != *found || noted.oldest_log != oldest_log)
        };
        if !ManifestLength::now(&place.database()).as_ref().is_some_and(is_new) {
            return Ok(before);
        }
        let noted = before.map(|noted| noted.manifest);
        let Some(manifest) = ManifestLength::synced(noted, place) else { return Ok(before) };
        let mut bytes =
            [manifest.number, manifest.length, oldest_log].map(u64::to_le_bytes).concat();
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        let path = place.manifest_note();
        std::fs::write(&path, bytes).map_err(IoError::of("writing", &path))?;
        Ok(Some(Self { manifest, oldest_log }))
    }
}

/// Refuses a database, in its place or elsewhere, whose manifest is shorter than it was, or has what is no record up to
/// there, or one that RocksDB would read for ever.
pub(crate) fn refuse_lost_tables(
    place: &CorpusDirectory,
    database: &Path,
) -> Result<(), StoreError> {
    let noted = ManifestNote::read(place)?.map(|noted| noted.manifest);
    let Some(found) = ManifestLength::now(database) else { return Ok(()) };
    let path = database.join(found.name());
    let lost = |damage| {
        let (path, manifest) = (place.root.clone(), place.root.join(DATABASE).join(found.name()));
        Err(StoreError::LostTables { path, manifest, damage })
    };
    match noted {
        Some(noted) if found.number < noted.number => {
            return lost(format!("is not {}, which was in use", noted.name()));
        }
        Some(noted) if found.number == noted.number => {
            let damage = damage(&path, noted.length, LogScan::Headers);
            match damage.map_err(IoError::of("reading", &path))? {
                // Gone: another one follows it.
                None | Some(RecordDamage::Gone) => {}
                Some(damage) => return lost(damage.words(noted.length)),
            }
        }
        _ => {}
    }
    match endless(&path).map_err(IoError::of("reading", &path))? {
        Some((damage, length)) => lost(damage.words(length)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shorter_and_older_manifests_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let place = CorpusDirectory::new(directory.path());
        let set = |number: u64, length: usize| {
            std::fs::create_dir_all(place.database()).unwrap();
            let name = format!("MANIFEST-{number:06}");
            // A record up to byte 100, and one behind it.
            let record = |bytes: usize| {
                [&[0; 4], &(bytes as u16 - 7).to_le_bytes()[..], &[1], &vec![7; bytes - 7]].concat()
            };
            let mut bytes = record(length.min(100));
            if length > 100 {
                bytes.extend(record(length - 100));
            }
            std::fs::write(place.database().join(&name), bytes).unwrap();
            std::fs::write(place.database().join("CURRENT"), format!("{name}\n")).unwrap();
        };
        set(5, 100);
        assert!(refuse_lost_tables(&place, &place.database()).is_ok());
        ManifestNote::update(None, &place, 7).unwrap();
        assert_eq!(ManifestNote::read(&place).unwrap().unwrap().oldest_log, 7);
        for (number, length, good) in
            [(5, 100, true), (5, 99, false), (4, 200, false), (5, 300, true), (6, 10, true)]
        {
            set(number, length);
            assert_eq!(
                refuse_lost_tables(&place, &place.database()).is_ok(),
                good,
                "{number} {length}"
            );
        }
        // A length that is beyond the end, and a type that RocksDB makes no end of.
        for (at, altered, good) in [(5, 1, false), (6, 5, false), (6, 4, true)] {
            set(5, 100);
            let manifest = place.database().join("MANIFEST-000005");
            let mut bytes = std::fs::read(&manifest).unwrap();
            bytes[at] = altered;
            std::fs::write(&manifest, bytes).unwrap();
            assert_eq!(
                refuse_lost_tables(&place, &place.database()).is_ok(),
                good,
                "{at} {altered}"
            );
        }
        // A record that is being written is not noted.
        let noted = ManifestNote::read(&place).unwrap();
        set(5, 130);
        let manifest = place.database().join("MANIFEST-000005");
        let whole = std::fs::read(&manifest).unwrap();
        for written in [103, 120] {
            std::fs::write(&manifest, &whole[..written]).unwrap();
            assert_eq!(ManifestNote::update(noted, &place, 7).unwrap(), noted);
            assert!(refuse_lost_tables(&place, &place.database()).is_ok());
        }
        std::fs::write(&manifest, &whole).unwrap();
        let later = ManifestNote::update(noted, &place, 7).unwrap().unwrap();
        assert_eq!(later.manifest, ManifestLength { number: 5, length: 130 });
        let note = place.manifest_note();
        let bytes = std::fs::read(&note).unwrap();
        std::fs::write(&note, &bytes[..20]).unwrap();
        set(1, 8);
        assert!(refuse_lost_tables(&place, &place.database()).is_ok(), "a torn note says nothing");
    }

    #[test]
    fn a_manifest_that_cannot_be_synced_is_not_noted() {
        let directory = tempfile::tempdir().unwrap();
        let place = CorpusDirectory::new(directory.path());
        // The manifest is there, but not under the name that is synced.
        std::fs::create_dir_all(place.database()).unwrap();
        std::fs::write(place.database().join("CURRENT"), "MANIFEST-5\n").unwrap();
        std::fs::write(place.database().join("MANIFEST-5"), [0; 10]).unwrap();
        assert_eq!(ManifestNote::update(None, &place, 0).unwrap(), None);
        assert!(!place.manifest_note().exists());
    }

    #[test]
    fn a_note_without_a_log_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let place = CorpusDirectory::new(directory.path());
        let mut bytes = [5_u64, 100].map(u64::to_le_bytes).concat();
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        std::fs::write(place.manifest_note(), bytes).unwrap();
        let manifest = ManifestLength { number: 5, length: 100 };
        let noted = ManifestNote { manifest, oldest_log: 0 };
        assert_eq!(ManifestNote::read(&place).unwrap(), Some(noted));
    }
}
