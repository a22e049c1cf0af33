//! How long the database's manifest had grown: a shorter one has lost the names of tables, and says nothing.
//!
//! RocksDB takes a manifest that ends early for the whole of it. Where the write-ahead log of the lost
//! tables is gone too, their rows would be missing without a word. So the writer notes number and length
//! after each commit and flush; a manifest only grows, until another of a higher number follows it.

use super::bytes::Cursor;
use super::error::StoreError;
use super::place::Place;
use std::io::ErrorKind;
use xxhash_rust::xxh3::xxh3_64;

/// Number and length of a manifest, and their xxh3-64; little-endian.
const RECORD: usize = 24;

/// A manifest as it was found: its number, its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Grown {
    number: u64,
    length: u64,
}

impl Grown {
    /// The manifest in use; none while it is being replaced.
    pub(super) fn now(place: &Place) -> Option<Self> {
        let database = place.database();
        let current = std::fs::read_to_string(database.join("CURRENT")).ok()?;
        let name = current.trim_end();
        let number = name.strip_prefix("MANIFEST-")?.parse().ok()?;
        let length = std::fs::metadata(database.join(name)).ok()?.len();
        Some(Self { number, length })
    }

    /// What was noted last; a torn note is none.
    fn noted(place: &Place) -> Result<Option<Self>, StoreError> {
        let path = place.manifest_note();
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Self::decode(&bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io("reading", &path)(error)),
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes);
        let (number, length, sum) = (cursor.u64().ok()?, cursor.u64().ok()?, cursor.u64().ok()?);
        (bytes.len() == RECORD && xxh3_64(bytes.get(..16)?) == sum)
            .then_some(Self { number, length })
    }

    /// Notes it. Not synced: after a crash of the machine an older note protects less, and lies never.
    pub(super) fn note(self, place: &Place) -> Result<(), StoreError> {
        let mut bytes = [self.number, self.length].map(u64::to_le_bytes).concat();
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        let path = place.manifest_note();
        std::fs::write(&path, bytes).map_err(StoreError::io("writing", &path))
    }
}

/// Refuses a database whose manifest is shorter than it was.
///
/// # Errors
/// [`StoreError::LostTables`]; [`StoreError::Io`] when the note cannot be read.
pub(super) fn refuse_shorter(place: &Place) -> Result<(), StoreError> {
    let Some(noted) = Grown::noted(place)? else { return Ok(()) };
    match Grown::now(place) {
        Some(found) if found < noted => Err(StoreError::LostTables {
            path: place.root.clone(),
            found: found.length,
            noted: noted.length,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_or_older_manifest_is_refused_a_longer_or_newer_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::new(directory.path());
        let set = |number: u64, length: usize| {
            std::fs::create_dir_all(place.database()).unwrap();
            let name = format!("MANIFEST-{number:06}");
            std::fs::write(place.database().join(&name), vec![0; length]).unwrap();
            std::fs::write(place.database().join("CURRENT"), format!("{name}\n")).unwrap();
        };
        set(5, 100);
        assert!(refuse_shorter(&place).is_ok());
        Grown::now(&place).unwrap().note(&place).unwrap();
        for (number, length, good) in
            [(5, 100, true), (5, 99, false), (4, 200, false), (5, 300, true), (6, 10, true)]
        {
            set(number, length);
            assert_eq!(refuse_shorter(&place).is_ok(), good, "{number} {length}");
        }
        let note = place.manifest_note();
        let bytes = std::fs::read(&note).unwrap();
        std::fs::write(&note, &bytes[..20]).unwrap();
        set(1, 1);
        assert!(refuse_shorter(&place).is_ok(), "a torn note says nothing");
    }
}
