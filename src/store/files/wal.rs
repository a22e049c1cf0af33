//! Write-ahead logs against the journal: one that holds acknowledged commits must be there, and whole.
//!
//! RocksDB opens beside a hole: a log that is gone, cut or empty has, for all it knows, never held more, and
//! the newer ones are replayed all the same. The journal names the log of each commit and where in it the
//! commit ends, so what must be there is known.

use crate::model::IoError;
use crate::store::error::StoreError;
use crate::store::files::directory::CorpusDirectory;
use crate::store::files::held_folder::DATABASE;
use crate::store::files::journal::{JournalContents, LogEnd, LogExtent};
use rocksdb::DB;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

/// Bytes of a block of a log; no record header crosses its end.
const BLOCK: u64 = 32 << 10;
/// Bytes of a record's header: checksum u32, length u16, type u8.
const HEADER: usize = 7;

/// What became of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LogDamage {
    Gone,
    Short(u64),
    /// Where what is there is no record.
    Hole(u64),
    /// Where the record begins whose bytes are not those of its checksum.
    Altered(u64),
}

/// How much of a log is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LogScan {
    /// Headers of records: RocksDB proves what they enclose.
    Headers,
    /// All of it.
    Bytes,
}

/// The end of the newest log: where the last write of the only writer went.
pub(in crate::store) fn newest(place: &CorpusDirectory) -> Result<Option<LogEnd>, StoreError> {
    let Some(number) = place.logs()?.into_iter().max() else { return Ok(None) };
    let path = place.database().join(name(number));
    let found = std::fs::metadata(&path).map_err(IoError::of("measuring", &path))?;
    Ok(Some(LogEnd { number, end: found.len() }))
}

/// The ends of the logs from number `oldest` on, by number.
pub(in crate::store) fn ends(
    place: &CorpusDirectory,
    oldest: u64,
) -> Result<Vec<LogEnd>, StoreError> {
    let mut numbers = place.logs()?;
    numbers.sort_unstable();
    let mut ends = Vec::new();
    for number in numbers.into_iter().filter(|number| *number >= oldest) {
        let path = place.database().join(name(number));
        match std::fs::metadata(&path) {
            Ok(found) => ends.push(LogEnd { number, end: found.len() }),
            // Made into tables meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(IoError::of("measuring", &path)(error).into()),
        }
    }
    Ok(ends)
}

/// As [`ends`], of logs that nobody writes to: a record at the end that was being written when its writer was killed was
/// never acknowledged, and does not count.
pub(in crate::store) fn whole_ends(
    place: &CorpusDirectory,
    oldest: u64,
) -> Result<Vec<LogEnd>, StoreError> {
    let mut all = ends(place, oldest)?;
    for log in &mut all {
        let path = place.database().join(name(log.number));
        let found =
            damage(&path, log.end, LogScan::Headers).map_err(IoError::of("reading", &path))?;
        if let Some(LogDamage::Hole(at)) = found {
            log.end = at;
        }
    }
    Ok(all)
}

fn name(number: u64) -> String {
    format!("{number:06}.log")
}

/// The oldest log that holds what is in no table of `db`. RocksDB deletes older ones only, and only when its
/// manifest on the disk says so.
pub(in crate::store) fn oldest_needed(db: &DB) -> Result<u64, StoreError> {
    let found = db.property_int_value("rocksdb.min-log-number-to-keep")?;
    Ok(found.unwrap_or(0))
}

/// The first log in `database` from `oldest` on that is not what the journal says, as an error; none if all are whole.
/// A missing log is an error of its own: beside a writer it may have become tables meanwhile.
pub(in crate::store) fn lost(
    place: &CorpusDirectory,
    database: &Path,
    journal: &JournalContents,
    oldest: u64,
) -> Result<Option<LogLoss>, StoreError> {
    for (number, log) in journal.logs.range(oldest..) {
        let path = database.join(name(*number));
        let found =
            damage(&path, log.end, LogScan::Headers).map_err(IoError::of("reading", &path))?;
        if let Some(damage) = found {
            let is_gone = damage == LogDamage::Gone;
            return Ok(Some(LogLoss { is_gone, error: error(place, *number, log, &damage) }));
        }
    }
    Ok(None)
}

/// A log that is not what it was.
pub(in crate::store) struct LogLoss {
    pub(in crate::store) is_gone: bool,
    pub(in crate::store) error: StoreError,
}

/// Refuses a database that a writer is about to open when a log that it needs is not whole: opening would
/// write tables of what is left.
///
/// # Errors
/// [`StoreError::LostLog`]; what RocksDB says of its files.
pub(in crate::store) fn refuse_lost(
    place: &CorpusDirectory,
    journal: &JournalContents,
    noted_oldest: u64,
    look: impl FnOnce() -> Result<DB, StoreError>,
) -> Result<(), StoreError> {
    let database = place.database();
    if lost(place, &database, journal, noted_oldest)?.is_none() {
        return Ok(());
    }
    // The note may be older than the last tables: the database itself knows which logs became tables since.
    let Some(found) = lost(place, &database, journal, oldest_needed(&look()?)?)? else {
        return Ok(());
    };
    Err(found.error)
}

/// What the database refuses for its bytes, told of the log that it is about, if it is: RocksDB says of a log
/// neither its name nor what was in it. Logs before `oldest` became tables.
pub(in crate::store) fn refused(
    place: &CorpusDirectory,
    database: &Path,
    journal: &JournalContents,
    oldest: u64,
    error: rocksdb::Error,
) -> StoreError {
    if error.kind() == rocksdb::ErrorKind::Corruption {
        for (number, log) in journal.logs.range(oldest..) {
            // The fault to tell is the database's, not one of looking for it; nor has what is gone bytes.
            match damage(&database.join(name(*number)), log.end, LogScan::Bytes) {
                Ok(None | Some(LogDamage::Gone)) | Err(_) => {}
                Ok(Some(damage)) => return self::error(place, *number, log, &damage),
            }
        }
    }
    error.into()
}

fn error(place: &CorpusDirectory, number: u64, log: &LogExtent, damage: &LogDamage) -> StoreError {
    let damage = match damage {
        LogDamage::Gone => "is gone".to_owned(),
        LogDamage::Short(found) => format!("has {found} bytes of {}", log.end),
        LogDamage::Hole(at) => format!("has a hole at byte {at} of {}", log.end),
        LogDamage::Altered(at) => {
            format!("has other bytes than were written in its record at byte {at} of {}", log.end)
        }
    };
    let commits = match log.commits {
        Some((first, last)) if first == last => format!("commit {first}"),
        Some((first, last)) => format!("commits {first} to {last}"),
        None => "a commit".to_owned(),
    };
    let log = place.root.join(DATABASE).join(name(number));
    StoreError::LostLog { path: place.root.clone(), log, damage, commits }
}

/// What is wrong with a log that has records up to `end` at least.
fn damage(path: &Path, end: u64, reading: LogScan) -> std::io::Result<Option<LogDamage>> {
    if end == 0 {
        return Ok(None);
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(LogDamage::Gone)),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    if length < end {
        return Ok(Some(LogDamage::Short(length)));
    }
    let mut file = BufReader::with_capacity(1 << 16, file);
    let mut at = 0;
    let mut payload = Vec::new();
    // What RocksDB takes for the end of a log, or passes over, is a header of zeros or one that reaches beyond
    // its block.
    while at < end {
        let left = BLOCK - at % BLOCK;
        if left < HEADER as u64 {
            file.seek_relative(left.cast_signed())?;
            at += left;
            continue;
        }
        let mut header = [0; HEADER];
        match file.read_exact(&mut header) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return Ok(Some(LogDamage::Hole(at)));
            }
            read => read?,
        }
        let [a, b, c, d, low, high, kind] = header;
        let bytes = u64::from(u16::from_le_bytes([low, high]));
        let next = at + HEADER as u64 + bytes;
        if kind == 0 || HEADER as u64 + bytes > left || next > end {
            return Ok(Some(LogDamage::Hole(at)));
        }
        match reading {
            LogScan::Headers => file.seek_relative(bytes.cast_signed())?,
            LogScan::Bytes => {
                payload.clear();
                // Short where the file ends: another checksum.
                file.by_ref().take(bytes).read_to_end(&mut payload)?;
                if checksum(kind, &payload) != u32::from_le_bytes([a, b, c, d]) {
                    return Ok(Some(LogDamage::Altered(at)));
                }
            }
        }
        at = next;
    }
    Ok(None)
}

/// CRC-32C of a record's type and bytes, turned and shifted as RocksDB stores it. Bit by bit: it is reckoned only where
/// a log is searched for that is known to be damaged.
fn checksum(kind: u8, payload: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    const MASK: u32 = 0xa282_ead8;
    let mut crc = u32::MAX;
    for byte in std::iter::once(&kind).chain(payload) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let low = if crc & 1 == 1 { POLYNOMIAL } else { 0 };
            crc = crc >> 1 ^ low;
        }
    }
    (!crc).rotate_right(15).wrapping_add(MASK)
}

#[cfg(test)]
#[path = "wal_tests.rs"]
mod tests;
