//! Write-ahead logs against the journal: one that holds acknowledged commits must be there, and whole.
//!
//! RocksDB opens beside a hole: a log that is gone, cut or empty has, for all it knows, never held more, and
//! the newer ones are replayed all the same. The journal names the log of each commit and where in it the
//! commit ends, so what must be there is known.

use crate::error::StoreError;
use crate::files::directory::CorpusDirectory;
use crate::files::held_folder::DATABASE;
use crate::files::journal::{JournalContents, LogEnd, LogExtent};
use crate::files::record_log::{LogScan, RecordDamage, damage, endless};
use model::IoError;
use rocksdb::DB;
use std::io::ErrorKind;
use std::path::Path;

/// The end of the newest log: where the last write of the only writer went.
pub(crate) fn newest(place: &CorpusDirectory) -> Result<Option<LogEnd>, StoreError> {
    let Some(number) = place.logs()?.into_iter().max() else { return Ok(None) };
    let path = place.database().join(name(number));
    let found = std::fs::metadata(&path).map_err(IoError::of("measuring", &path))?;
    Ok(Some(LogEnd { number, end: found.len() }))
}

/// The ends of the logs from number `oldest` on, by number.
pub(crate) fn ends(place: &CorpusDirectory, oldest: u64) -> Result<Vec<LogEnd>, StoreError> {
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

/// The ends, as [`ends`] gives them, of logs that nobody writes to. A last record whose writer was killed while it
/// wrote was never acknowledged, and does not count.
pub(crate) fn whole_ends(place: &CorpusDirectory, oldest: u64) -> Result<Vec<LogEnd>, StoreError> {
    let mut all = ends(place, oldest)?;
    for log in &mut all {
        let path = place.database().join(name(log.number));
        let found =
            damage(&path, log.end, LogScan::Headers).map_err(IoError::of("reading", &path))?;
        if let Some(RecordDamage::Hole(at)) = found {
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
pub(crate) fn oldest_needed(db: &DB) -> Result<u64, StoreError> {
    let found = db.property_int_value("rocksdb.min-log-number-to-keep")?;
    Ok(found.unwrap_or(0))
}

/// The first log in `database` from `oldest` on that is not what the journal says, as an error; none if all are whole.
/// A missing log is an error of its own: beside a writer it may have become tables meanwhile.
pub(crate) fn lost(
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
            let is_gone = damage == RecordDamage::Gone;
            return Ok(Some(LogLoss { is_gone, error: error(place, *number, log, &damage) }));
        }
    }
    Ok(None)
}

/// A log that is not what it was.
pub(crate) struct LogLoss {
    pub(crate) is_gone: bool,
    pub(crate) error: StoreError,
}

/// Refuses a database with a log, from `oldest` on, that RocksDB would read for ever.
pub(crate) fn refuse_endless(
    place: &CorpusDirectory,
    journal: &JournalContents,
    oldest: u64,
) -> Result<(), StoreError> {
    let mut numbers = place.logs()?;
    numbers.sort_unstable();
    for number in numbers.into_iter().filter(|number| *number >= oldest) {
        let path = place.database().join(name(number));
        if let Some((damage, end)) = endless(&path).map_err(IoError::of("reading", &path))? {
            let known = journal.logs.get(&number).copied().unwrap_or_default();
            return Err(error(place, number, &LogExtent { end, ..known }, &damage));
        }
    }
    Ok(())
}

/// Refuses a database that a writer is about to open when a log that it needs is not whole: opening would
/// write tables of what is left.
///
/// # Errors
/// [`StoreError::LostLog`]; what RocksDB says of its files.
pub(crate) fn refuse_lost(
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

/// The error for a database refused for its bytes, with the damaged log, if that is the reason: RocksDB names neither
/// a log nor its contents. Logs before `oldest` became tables.
pub(crate) fn refused(
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
                Ok(None | Some(RecordDamage::Gone)) | Err(_) => {}
                Ok(Some(damage)) => return self::error(place, *number, log, &damage),
            }
        }
    }
    error.into()
}

fn error(
    place: &CorpusDirectory,
    number: u64,
    log: &LogExtent,
    damage: &RecordDamage,
) -> StoreError {
    let commits = match log.commits {
        Some((first, last)) if first == last => format!("commit {first}"),
        Some((first, last)) => format!("commits {first} to {last}"),
        None => "a commit".to_owned(),
    };
    let damage = damage.words(log.end);
    let log = place.root.join(DATABASE).join(name(number));
    StoreError::LostLog { path: place.root.clone(), log, damage, commits }
}

#[cfg(test)]
#[path = "wal_tests.rs"]
mod tests;
