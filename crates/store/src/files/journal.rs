//! The commit journal beside the database: proof of the acknowledged commits.
//!
//! 24-byte records, little-endian, of two kinds that their checksums tell apart. A commit: commit u64,
//! documents u64, xxh3-64 of both. A place: number of a write-ahead log u64, length u64 that it has at
//! least, xxh3-64 of both with seed 1. A commit stands behind the place where its write ends. Both are
//! appended and synced after the database's own synced write and before the commit is acknowledged, so
//! the database is never behind the journal unless commits were lost, nor a log shorter than its place
//! unless it was damaged.

use crate::bytes::cursor::ByteCursor;
use crate::error::StoreError;
use crate::files::directory::CorpusDirectory;
use crate::files::manifest_note::ManifestNote;
use model::IoError;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const RECORD: usize = 24;
/// Seeds of the two kinds' checksums.
const COMMIT: u64 = 0;
const PLACE: u64 = 1;

/// One acknowledged commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JournalEntry {
    /// Its number.
    pub(crate) commit: u64,
    /// Documents stored after it.
    pub(crate) documents: u64,
}

fn encode(first: u64, second: u64, kind: u64) -> Vec<u8> {
    let mut out = [first.to_le_bytes(), second.to_le_bytes()].concat();
    out.extend(xxh3_64_with_seed(&out, kind).to_le_bytes());
    out
}

/// The two numbers of a record of that kind.
fn decode(bytes: &[u8], kind: u64) -> Option<(u64, u64)> {
    let mut cursor = ByteCursor::new(bytes);
    let (first, second, sum) = (cursor.u64().ok()?, cursor.u64().ok()?, cursor.u64().ok()?);
    (xxh3_64_with_seed(bytes.get(..16)?, kind) == sum).then_some((first, second))
}

/// How far a write-ahead log was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogEnd {
    /// The log's number.
    pub(crate) number: u64,
    /// Its length in bytes.
    pub(crate) end: u64,
}

/// What the journal says of one write-ahead log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogExtent {
    /// Bytes that it has at least.
    pub(crate) end: u64,
    /// The first and the last commit known to be in it.
    pub(crate) commits: Option<(u64, u64)>,
}

/// What a journal says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct JournalContents {
    /// The commits that decode, in order.
    pub(crate) good: Vec<JournalEntry>,
    /// The logs named, by number.
    pub(crate) logs: BTreeMap<u64, LogExtent>,
    /// Records between good ones that do not decode. A bad last record is a torn write, not damage.
    pub(crate) damaged: usize,
    /// Records up to the last good one.
    records: usize,
}

impl JournalContents {
    /// The last acknowledged commit.
    pub(crate) fn last(&self) -> Option<JournalEntry> {
        self.good.last().copied()
    }

    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut entries = Self::default();
        let (mut good, mut place) = (0, None);
        for (at, record) in (1..).zip(bytes.chunks_exact(RECORD)) {
            if let Some((commit, documents)) = decode(record, COMMIT) {
                entries.good.push(JournalEntry { commit, documents });
                if let Some(log) = place.take().and_then(|number| entries.logs.get_mut(&number)) {
                    let first = log.commits.map_or(commit, |(first, _)| first);
                    log.commits = Some((first, commit));
                }
            } else if let Some((number, end)) = decode(record, PLACE) {
                let log = entries.logs.entry(number).or_default();
                log.end = log.end.max(end);
                place = Some(number);
            } else {
                place = None;
                continue;
            }
            good += 1;
            entries.records = at;
            entries.damaged = at - good;
        }
        entries
    }
}

/// Reads a journal; an absent one is empty.
pub(crate) fn read(path: &Path) -> Result<JournalContents, StoreError> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(mut file) => file.read_to_end(&mut bytes).map_err(IoError::of("reading", path))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(JournalContents::default());
        }
        Err(error) => return Err(IoError::of("opening", path)(error).into()),
    };
    Ok(JournalContents::of(&bytes))
}

/// Bytes at the end of a journal that are read first: some 1,300 commits.
const TAIL: u64 = 64 << 10;

/// Reads the end of a journal, as far back as an opening needs: the last commits, and every log that is not
/// noted as one that became tables. The commits before are left out.
pub(crate) fn read_end(place: &CorpusDirectory) -> Result<JournalContents, StoreError> {
    // Before the journal and the database: neither can need a log that is older.
    let oldest = ManifestNote::read(place)?.map_or(0, |note| note.oldest_log);
    read_back_to(&place.journal(), oldest)
}

/// Reads the end of a journal, with every log from number `oldest` on.
pub(crate) fn read_back_to(path: &Path, oldest: u64) -> Result<JournalContents, StoreError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(JournalContents::default());
        }
        Err(error) => return Err(IoError::of("opening", path)(error).into()),
    };
    let length = file.metadata().map_err(IoError::of("measuring", path))?.len();
    let mut tail = TAIL;
    loop {
        let before = length.saturating_sub(tail) / RECORD as u64;
        let from = before * RECORD as u64;
        file.seek(SeekFrom::Start(from)).map_err(IoError::of("seeking in", path))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(IoError::of("reading", path))?;
        crate::counted::read("journal", bytes.len() / RECORD);
        let mut entries = JournalContents::of(&bytes);
        // Numbers of logs ascend: with an older one before them, all that may be needed are here.
        let first = entries.logs.first_key_value().map(|(number, _)| *number);
        if before == 0 || (!entries.good.is_empty() && first.is_some_and(|first| first < oldest)) {
            entries.records += usize::try_from(before).unwrap_or(usize::MAX);
            return Ok(entries);
        }
        tail = tail.saturating_mul(4);
    }
}

/// The writer's end.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Opens for appending behind what was read; a torn tail is cut.
    pub(crate) fn open(path: &Path, entries: &JournalContents) -> Result<Self, StoreError> {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(IoError::of("opening", path))?;
        let end = (entries.records * RECORD) as u64;
        file.set_len(end).map_err(IoError::of("cutting", path))?;
        file.seek(SeekFrom::Start(end)).map_err(IoError::of("seeking in", path))?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// Acknowledges a commit. The last of `places` is where its write ends, unless it is known to be in tables.
    pub(crate) fn append(
        &mut self,
        entry: JournalEntry,
        places: impl IntoIterator<Item = LogEnd>,
    ) -> Result<(), StoreError> {
        let places = places.into_iter().map(|place| encode(place.number, place.end, PLACE));
        let mut bytes: Vec<u8> = places.flatten().collect();
        bytes.extend(encode(entry.commit, entry.documents, COMMIT));
        self.file.write_all(&bytes).map_err(IoError::of("appending to", &self.path))?;
        Ok(self.file.sync_data().map_err(IoError::of("syncing", &self.path))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted;

    fn entry(commit: u64) -> JournalEntry {
        JournalEntry { commit, documents: commit * 10 }
    }

    fn commits(entries: &JournalContents) -> Vec<u64> {
        entries.good.iter().map(|entry| entry.commit).collect()
    }

    #[test]
    fn a_torn_tail_is_cut_and_a_flipped_byte_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let mut journal = Journal::open(&path, &JournalContents::default()).unwrap();
        for commit in 1..=3 {
            journal.append(entry(commit), None).unwrap();
        }
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..60]).unwrap();
        let torn = read(&path).unwrap();
        assert_eq!((commits(&torn), torn.damaged), (vec![1, 2], 0));
        Journal::open(&path, &torn).unwrap().append(entry(3), None).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        let mut flipped = whole;
        flipped[30] ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        let damaged = read(&path).unwrap();
        assert_eq!((commits(&damaged), damaged.damaged), (vec![1, 3], 1));
        Journal::open(&path, &damaged).unwrap().append(entry(4), None).unwrap();
        assert_eq!(read(&path).unwrap().last(), Some(entry(4)));
    }

    #[test]
    fn commits_record_their_end_in_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let mut journal = Journal::open(&path, &JournalContents::default()).unwrap();
        // Releases that named no logs wrote the journal so.
        journal.append(entry(1), None).unwrap();
        for (commit, number, end) in [(2, 9, 100), (3, 9, 250), (4, 12, 80)] {
            journal.append(entry(commit), Some(LogEnd { number, end })).unwrap();
        }
        let found = read(&path).unwrap();
        assert_eq!((commits(&found), found.damaged), (vec![1, 2, 3, 4], 0));
        let logs = [
            (9, LogExtent { end: 250, commits: Some((2, 3)) }),
            (12, LogExtent { end: 80, commits: Some((4, 4)) }),
        ];
        assert_eq!(found.logs, BTreeMap::from(logs));
        // A place whose commit is torn is true all the same.
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let torn = read(&path).unwrap();
        assert_eq!((commits(&torn), torn.logs.get(&12).unwrap().end), (vec![1, 2, 3], 80));
        Journal::open(&path, &torn).unwrap().append(entry(4), None).unwrap();
        assert_eq!(commits(&read(&path).unwrap()), [1, 2, 3, 4]);
    }

    /// The whole journal was once read and held at every opening.
    #[test]
    fn a_long_journal_is_read_from_its_end_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let cost = |commits: u64, oldest: u64| {
            let mut bytes = Vec::new();
            for commit in 1..=commits {
                // A log takes a hundred commits.
                bytes.extend(encode(commit / 100, commit, PLACE));
                bytes.extend(encode(commit, 2 * commit, COMMIT));
            }
            // A torn record, as a crash leaves it.
            bytes.extend([7; 11]);
            std::fs::write(&path, &bytes).unwrap();
            let (end, read_rows) = counted::during(|| read_back_to(&path, oldest).unwrap());
            let whole = read(&path).unwrap();
            assert_eq!((end.last(), end.records), (whole.last(), whole.records));
            assert!(end.logs.range(oldest..).eq(whole.logs.range(oldest..)));
            read_rows.get("journal").copied().unwrap_or(0)
        };
        let (small, large) = (cost(10_000, 99), cost(20_000, 199));
        assert!(small == large && small < 3_000, "{small} then {large}");
        // Logs of long ago may be needed: as much is read as that takes.
        assert!(cost(20_000, 150) > 10_000);
        assert_eq!(cost(100, 0), 200);
    }

    #[test]
    fn golden_records() {
        let documented = [
            &[1_u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
            &[0x11, 0x20, 0xf5, 0x8c, 0x14, 0xa1, 0xf2, 0x26],
        ];
        assert_eq!(encode(1, 0, COMMIT), documented.concat());
    }
}
