//! Backups of a corpus: one committed moment taken beside a writer, and a new corpus made of it.
//!
//! The moment is held by links to the tables, and by copies of the logs as far as they were written then: opened as it
//! is, it says which commit it ends with.
//!
//! A backup has no journal: a restore writes one of a single record, since only the last acknowledged commit matters.
//! RocksDB's own backup engine needs the database open, so it cannot run beside a writer of another process. A table
//! with the name, length and end of one in an earlier backup is not read again: tables never change.

use crate::database::PinnedMoment;
use crate::error::StoreError;
use crate::files::backup_manifest::{BackupFault, BackupFile, BackupRecord, runs};
use crate::files::backup_place::BackupPlace;
use crate::files::backups::BackupDirectory;
use crate::files::directory::CorpusDirectory;
use crate::files::journal::{self, Journal, JournalContents, JournalEntry};
use crate::files::manifest_note::{ManifestNote, refuse_lost_tables};
use crate::files::scratch::{self, LinkedFiles, ScratchDirectory};
use crate::files::wal;
use crate::migrate;
use crate::opening::{open_for_inspection, refuse_lost};
use model::{Context, IoError, refuse_without_room, sync_directory};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

/// Moments that are tried: a log that becomes a table while it is copied asks for another one.
const TRIES: usize = 16;

/// The result of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct BackupReport {
    /// The commit that it ends with, which names it.
    pub commit: u64,
    /// Documents in it, of every standing.
    pub documents: u64,
    /// Its files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// New files among these.
    pub new_files: u64,
    /// Their bytes.
    pub new_bytes: u64,
}

/// The result of dropping a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct DropBackupReport {
    /// The commit that named it.
    pub commit: u64,
    /// Deleted files, which no other backup has.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The result of verifying all backups of a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct VerifyBackupsReport {
    /// The commits of the backups whose manifests can be read.
    pub backups: Vec<u64>,
    /// What is wrong, by backup and file.
    pub faults: Vec<BackupFault>,
}

/// Takes a backup of the last commit of a corpus into a place for backups, also while another process writes. What the
/// place has of earlier backups is not written again.
///
/// # Errors
/// [`StoreError`]: no corpus, lost commits, a place that holds other things or in which somebody drops; what the file
/// system or the store says; [`StoreError::Interrupted`]. The backups before it stay whole.
pub fn create_backup(
    corpus: &Path,
    backups: &dyn BackupPlace,
    context: &Context<'_>,
) -> Result<BackupReport, StoreError> {
    let place = CorpusDirectory::new(corpus);
    let format = place.read_format(migrate::current())?;
    let mut session = BackupDirectory::begin(backups, &place.identity()?)?;
    let moment = HeldMoment::take(&place, backups.directory(), format)?;
    let names = moment.names()?;
    let mut files = Vec::new();
    context.progress.begin("copying", Some(names.iter().map(|(_, bytes)| bytes).sum()));
    let mut done = 0;
    for (name, bytes) in names {
        let path = moment.path().join(&name);
        let name = format!("db/{name}");
        let tail = table_tail(&path)?;
        let file = match session.unchanged(&name, tail.as_deref(), bytes) {
            Some(file) => file,
            None => {
                let file = session.add(&path, name, context)?;
                BackupFile { tail, ..file }
            }
        };
        files.push(file);
        done += bytes;
        context.progress.advance(done);
    }
    let record = BackupRecord {
        commit: moment.commit,
        documents: moment.documents,
        format,
        release: env!("CARGO_PKG_VERSION").to_owned(),
        bytes: files.iter().map(|file| file.bytes).sum(),
        purged: runs(&moment.purged),
        files,
    };
    let report = BackupReport {
        commit: record.commit,
        documents: record.documents,
        files: record.files.len() as u64,
        bytes: record.bytes,
        new_files: session.added.files,
        new_bytes: session.added.bytes,
    };
    session.seal(record)?;
    context.progress.end();
    Ok(report)
}

/// Bytes at the end of a table. RocksDB ends each with its properties, about 2 kB: the database and the opening of it
/// that made it, as which file. Times and inodes say less: a clock can go back, and a number comes again in a corpus
/// that was put back as it was before.
const TAIL: u64 = 4 << 10;

/// blake3 of the end of a table; none for what may be written to.
fn table_tail(path: &Path) -> Result<Option<String>, StoreError> {
    if path.extension().is_none_or(|end| end != "sst") {
        return Ok(None);
    }
    let tail = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(blake3::hash(&bytes).to_hex().to_string())
    };
    Ok(tail().map(Some).map_err(IoError::of("reading", path))?)
}

/// One moment of the database, whose files stay as they are.
struct HeldMoment {
    files: LinkedFiles,
    commit: u64,
    documents: u64,
    purged: RoaringTreemap,
}

impl HeldMoment {
    /// Holds the last commit: by links, or by copies in the directory `spare`, without one beside the corpus's files.
    fn take(
        place: &CorpusDirectory,
        spare: Option<&Path>,
        format: u32,
    ) -> Result<Self, StoreError> {
        let spare = spare.map(CorpusDirectory::new);
        if let Some(spare) = &spare {
            scratch::sweep(spare, &[scratch::LINKS]);
        }
        let spare = spare.as_ref().unwrap_or(place);
        let mut missed = None;
        for _ in 0..TRIES {
            // The journal first: what is held later can only be ahead of it.
            let journal = journal::read_end(place)?;
            refuse_lost_tables(place, &place.database())?;
            let Some(files) = LinkedFiles::take_or_copy(place, spare)? else { continue };
            files.copy_logs()?;
            let oldest = ManifestNote::read(place)?.map_or(0, |note| note.oldest_log);
            let db = match open_for_inspection(place, files.path(), &journal, oldest) {
                Ok(db) => db,
                Err(error) => {
                    missed = Some(error);
                    continue;
                }
            };
            let oldest = wal::oldest_needed(&db)?;
            if let Some(lost) = wal::lost(place, files.path(), &journal, oldest)? {
                missed = Some(lost.error);
                continue;
            }
            let (commit, documents) = migrate::extent(&db)?;
            refuse_lost(&place.root, commit, journal.last())?;
            let moment = PinnedMoment::at_now(&Arc::new(db.into()));
            moment.refuse_repairing(&place.root)?;
            // Rows of an earlier format are not read.
            let purged = match format == migrate::current() {
                true => moment.purged_documents()?,
                false => RoaringTreemap::new(),
            };
            return Ok(Self { files, commit, documents, purged });
        }
        Err(missed.unwrap_or_else(|| StoreError::Restless {
            path: place.root.clone(),
            why: "no consistent view of it could be opened".to_owned(),
        }))
    }

    fn path(&self) -> &Path {
        self.files.path()
    }

    /// Names and lengths of its files.
    fn names(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let path = self.path();
        let failed = || IoError::of("reading", path);
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_database = name == "CURRENT"
                || name.starts_with("MANIFEST-")
                || Path::new(&name).extension().is_some_and(|end| end == "sst" || end == "log");
            if is_database {
                found.push((name, entry.metadata().map_err(failed())?.len()));
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// The backups of a place, in order of their commits.
///
/// # Errors
/// [`StoreError::Backup`] when it has none, or a manifest is damaged; [`StoreError::Io`].
pub fn list_backups(backups: &dyn BackupPlace) -> Result<Vec<BackupRecord>, StoreError> {
    let (good, bad) = BackupDirectory::open(backups)?.list()?;
    match bad.into_iter().next() {
        None => Ok(good),
        Some(fault) => Err(StoreError::Backup { path: backups.path(&fault.file), why: fault.what }),
    }
}

/// Reads every byte of every backup of a place.
///
/// # Errors
/// [`StoreError::Backup`] when it has none; [`StoreError::Io`]; [`StoreError::Interrupted`]. What is wrong with files is
/// in the answer.
pub fn verify_backups(
    backups: &dyn BackupPlace,
    context: &Context<'_>,
) -> Result<VerifyBackupsReport, StoreError> {
    let (good, faults) = BackupDirectory::open(backups)?.verify(context)?;
    let backups = good.iter().map(|record| record.commit).collect();
    Ok(VerifyBackupsReport { backups, faults })
}

/// Drops the backup of a commit, and the files that no other one has.
///
/// # Errors
/// [`StoreError`] when there is none, or another process has the right; [`StoreError::Backup`]; [`StoreError::Io`];
/// [`StoreError::Interrupted`]: then the backup is gone, and what is left of its files goes with the next one.
pub fn drop_backup(
    backups: &dyn BackupPlace,
    commit: u64,
    context: &Context<'_>,
) -> Result<DropBackupReport, StoreError> {
    let freed = BackupDirectory::open(backups)?.drop_backup(commit, context)?;
    Ok(DropBackupReport { commit, files: freed.files, bytes: freed.bytes })
}

/// Makes a corpus of a backup: that of a commit, or the newest. Every byte is compared with what was backed up, and the
/// corpus appears when it is whole. It has an identity of its own.
///
/// # Errors
/// [`StoreError::AlreadyExists`]; [`StoreError`] when there is none; [`StoreError::Backup`], which names the file that is damaged;
/// [`StoreError::NewerFormat`]; [`StoreError::Io`]; [`StoreError::Interrupted`]. Then nothing stands at `target`.
pub fn restore_backup(
    from: &dyn BackupPlace,
    target: &Path,
    commit: Option<u64>,
    context: &Context<'_>,
) -> Result<BackupRecord, StoreError> {
    let backups = BackupDirectory::open(from)?;
    let record = backups.find(commit)?;
    if record.format > migrate::current() {
        return Err(StoreError::NewerFormat {
            path: from.path(""),
            found: record.format,
            supported: migrate::current(),
            release: record.release,
        });
    }
    refuse_target(target)?;
    refuse_without_room("restoring to", target, record.bytes)?;
    let making = making_beside(target)?;
    // Within it, so that the file that says that this process lives is never in a corpus.
    let made = making.path().join("corpus");
    let place = CorpusDirectory::new(&made);
    let database = place.database();
    std::fs::create_dir_all(&database).map_err(IoError::of("creating", &database))?;
    context.progress.begin("copying", Some(record.bytes));
    let mut done = 0;
    for file in &record.files {
        backups.copy_out(file, &made.join(&file.name), context)?;
        done += file.bytes;
        context.progress.advance(done);
    }
    sync_directory(&database)?;
    finish(&place, &record)?;
    refuse_target(target)?;
    std::fs::rename(&made, target).map_err(IoError::of("renaming to", target))?;
    sync_directory(directory_of(target))?;
    context.progress.end();
    Ok(record)
}

/// The files beside the database: the journal of a corpus that ends with this commit, its identity, its format.
fn finish(place: &CorpusDirectory, record: &BackupRecord) -> Result<(), StoreError> {
    let none = JournalContents::default();
    let db = open_for_inspection(place, &place.database(), &none, 0)?;
    let found = migrate::commit(&db)?;
    let oldest = wal::oldest_needed(&db)?;
    drop(db);
    if found != record.commit {
        let why = format!("it ends with commit {found}, not with {}", record.commit);
        return Err(StoreError::Backup { path: place.root.clone(), why });
    }
    let entry = JournalEntry { commit: record.commit, documents: record.documents };
    // Where all of them end: without any of them it is refused.
    Journal::open(&place.journal(), &none)?.append(entry, wal::whole_ends(place, oldest)?)?;
    ManifestNote::update(None, place, oldest)?;
    place.write_identity()?;
    place.write_format(record.format)
}

fn refuse_target(target: &Path) -> Result<(), StoreError> {
    match CorpusDirectory::new(target).is_taken() {
        true => Err(StoreError::AlreadyExists { path: target.to_path_buf() }),
        false => Ok(()),
    }
}

/// The directory that a path is in.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A directory beside the target, for a corpus in the making. Those of processes that were killed go.
fn making_beside(target: &Path) -> Result<ScratchDirectory, StoreError> {
    let name = target
        .file_name()
        .ok_or_else(|| StoreError::AlreadyExists { path: target.to_path_buf() })?;
    let kind = format!("{}.restoring", name.to_string_lossy());
    let beside = CorpusDirectory::new(directory_of(target));
    std::fs::create_dir_all(&beside.root).map_err(IoError::of("creating", &beside.root))?;
    scratch::sweep(&beside, &[&kind]);
    ScratchDirectory::make(&beside, &kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocksdb::{DB, Options};
    use std::path::PathBuf;

    /// A table was known by inode and time, which a clock that goes back can give again.
    #[test]
    fn a_table_is_known_by_who_made_it() {
        let directory = tempfile::tempdir().unwrap();
        let made = |name: &str| {
            let mut options = Options::default();
            options.create_if_missing(true);
            let path = directory.path().join(name);
            let db = DB::open(&options, &path).unwrap();
            db.put(b"key", b"value").unwrap();
            db.flush().unwrap();
            drop(db);
            let tables = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
            tables.filter(|path| path.extension().is_some_and(|end| end == "sst")).collect()
        };
        let (first, second): (Vec<PathBuf>, Vec<PathBuf>) = (made("first"), made("second"));
        let ([first], [second]) = (&first[..], &second[..]) else { panic!("one table each") };
        assert_eq!(first.file_name(), second.file_name());
        assert_eq!(
            std::fs::metadata(first).unwrap().len(),
            std::fs::metadata(second).unwrap().len()
        );
        let tail = |path: &Path| table_tail(path).unwrap();
        assert!(tail(first).is_some() && tail(first) == tail(first));
        assert_ne!(tail(first), tail(second), "the same rows, by another opening");
        assert_eq!(tail(&first.with_file_name("CURRENT")), None);
    }
}
