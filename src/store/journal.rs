//! The commit journal beside the database: proof of which commits were acknowledged.
//!
//! 24-byte records, little-endian: commit u64, documents u64, xxh3-64 of both. Appended and synced
//! after the database's own synced write and before the commit is acknowledged, so the database is
//! never behind it unless commits were lost.

use super::bytes::Cursor;
use super::error::StoreError;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const RECORD: usize = 24;

/// One acknowledged commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its number.
    pub(super) commit: u64,
    /// Documents stored after it.
    pub(super) documents: u64,
}

impl Entry {
    fn encode(self) -> [u8; RECORD] {
        let mut out = [0_u8; RECORD];
        let body: Vec<u8> =
            self.commit.to_le_bytes().into_iter().chain(self.documents.to_le_bytes()).collect();
        let sum = xxh3_64(&body).to_le_bytes();
        for (to, from) in out.iter_mut().zip(body.into_iter().chain(sum)) {
            *to = from;
        }
        out
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes);
        let (commit, documents, sum) = (cursor.u64().ok()?, cursor.u64().ok()?, cursor.u64().ok()?);
        (xxh3_64(bytes.get(..16)?) == sum).then_some(Self { commit, documents })
    }
}

/// What a journal says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entries {
    /// The good records, in order.
    pub(super) good: Vec<Entry>,
    /// Records between good ones that do not decode. A bad last record is a torn write, not damage.
    pub(super) damaged: usize,
}

impl Entries {
    /// The last acknowledged commit.
    pub(super) fn last(&self) -> Option<Entry> {
        self.good.last().copied()
    }

    /// Records up to the last good one.
    const fn records(&self) -> usize {
        self.good.len() + self.damaged
    }
}

/// Reads a journal; an absent one is empty.
///
/// # Errors
/// [`StoreError::Io`] when the file cannot be read.
pub(super) fn read(path: &Path) -> Result<Entries, StoreError> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(mut file) => file.read_to_end(&mut bytes).map_err(StoreError::io("reading", path))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Entries::default());
        }
        Err(error) => return Err(StoreError::io("opening", path)(error)),
    };
    let mut entries = Entries::default();
    for (at, record) in bytes.chunks_exact(RECORD).enumerate() {
        if let Some(entry) = Entry::decode(record) {
            entries.damaged = at - entries.good.len();
            entries.good.push(entry);
        }
    }
    Ok(entries)
}

/// The writer's end.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Opens for appending behind what was read; a torn tail is cut.
    pub(super) fn open(path: &Path, entries: &Entries) -> Result<Self, StoreError> {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(StoreError::io("opening", path))?;
        let end = (entries.records() * RECORD) as u64;
        file.set_len(end).map_err(StoreError::io("cutting", path))?;
        file.seek(SeekFrom::Start(end)).map_err(StoreError::io("seeking in", path))?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    pub(super) fn append(&mut self, entry: Entry) -> Result<(), StoreError> {
        self.file.write_all(&entry.encode()).map_err(StoreError::io("appending to", &self.path))?;
        self.file.sync_data().map_err(StoreError::io("syncing", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_tail_is_cut_and_a_flipped_byte_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let entry = |commit| Entry { commit, documents: commit * 10 };
        let mut journal = Journal::open(&path, &Entries::default()).unwrap();
        for commit in 1..=3 {
            journal.append(entry(commit)).unwrap();
        }
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..60]).unwrap();
        let torn = read(&path).unwrap();
        assert_eq!(torn, Entries { good: vec![entry(1), entry(2)], damaged: 0 });
        Journal::open(&path, &torn).unwrap().append(entry(3)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        let mut flipped = whole;
        flipped[30] ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        let damaged = read(&path).unwrap();
        assert_eq!(damaged, Entries { good: vec![entry(1), entry(3)], damaged: 1 });
        Journal::open(&path, &damaged).unwrap().append(entry(4)).unwrap();
        assert_eq!(read(&path).unwrap().last(), Some(entry(4)));
    }
}
