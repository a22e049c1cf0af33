//! Backups of a corpus: one committed moment taken beside a writer, and a new corpus made of it.
//!
//! The moment is held by links to the tables, and by copies of the logs as far as they were written then: opened as it
//! is, it says which commit it ends with.

use crate::model::{Context, sync_directory};
use crate::store::error::StoreError;
use crate::store::files::backups::{
    AddedBytes, BackupDirectory, BackupFault, BackupFile, BackupRecord,
};
use crate::store::files::directory::CorpusDirectory;
use crate::store::files::journal::{self, Journal, JournalContents, JournalEntry};
use crate::store::files::manifest_note::{ManifestNote, refuse_shorter};
use crate::store::files::scratch::{self, LinkedFiles};
use crate::store::files::wal;
use crate::store::migrate;
use crate::store::opening::{open_for_inspection, refuse_lost};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Moments that are tried: a log that becomes a table while it is copied asks for another one.
const TRIES: usize = 16;

/// What a backup came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackupReport {
    /// The commit that it ends with, which names it.
    pub commit: u64,
    /// Documents in it, of every standing.
    pub documents: u64,
    /// Its files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files of them that the directory did not have.
    pub new_files: u64,
    /// Their bytes.
    pub new_bytes: u64,
}

/// What dropping a backup came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DropBackupReport {
    /// The commit that named it.
    pub commit: u64,
    /// Files that no other backup has, and that are gone.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What reading all backups of a directory came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifyBackupsReport {
    /// The commits of the backups whose manifests can be read.
    pub backups: Vec<u64>,
    /// What is wrong, by backup and file.
    pub faults: Vec<BackupFault>,
}

/// Takes a backup of the last commit of a corpus into a directory of backups, also while another process writes.
/// What the directory has of an earlier backup is not written again.
///
/// # Errors
/// [`StoreError`]: no corpus, lost commits, a directory that holds other things; what the file system says;
/// [`StoreError::Interrupted`]. The backups before it stay whole.
pub fn create_backup(
    corpus: &Path,
    directory: &Path,
    context: &Context<'_>,
) -> Result<BackupReport, StoreError> {
    let place = CorpusDirectory::new(corpus);
    let format = place.read_format(migrate::current())?;
    let backups = BackupDirectory::make(directory, &place.identity()?)?;
    let _lock = backups.lock()?;
    let moment = HeldMoment::take(&place, directory)?;
    let (known, _) = backups.list()?;
    let known: BTreeMap<_, _> = known
        .iter()
        .flat_map(|record| &record.files)
        .filter_map(|file| Some(((file.name.as_str(), file.tail.as_deref()?), file)))
        .collect();
    let names = moment.names()?;
    let (mut files, mut added) = (Vec::new(), AddedBytes::default());
    context.progress.begin("copying", Some(names.iter().map(|(_, bytes)| bytes).sum()));
    let mut done = 0;
    for (name, bytes) in names {
        let path = moment.path().join(&name);
        let name = format!("db/{name}");
        let tail = table_tail(&path)?;
        let same = tail.as_deref().and_then(|tail| known.get(&(name.as_str(), tail)));
        let file = match same.filter(|file| file.bytes == bytes && backups.has(file)) {
            Some(file) => (*file).clone(),
            None => {
                let file = backups.add(&path, name, context, &mut added)?;
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
        files,
    };
    let report = BackupReport {
        commit: record.commit,
        documents: record.documents,
        files: record.files.len() as u64,
        bytes: record.bytes,
        new_files: added.files,
        new_bytes: added.bytes,
    };
    backups.seal(record)?;
    context.progress.end();
    Ok(report)
}

/// Bytes at the end of a table. RocksDB ends each with its properties, some 2 kB: which opening of which database made
/// it, as which file. Times and inodes say less: a clock can go back, and a number comes again in a corpus that was put
/// back as it was before.
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
    tail().map(Some).map_err(StoreError::io("reading", path))
}

/// One moment of the database, whose files stay as they are.
struct HeldMoment {
    files: LinkedFiles,
    commit: u64,
    documents: u64,
}

impl HeldMoment {
    fn take(place: &CorpusDirectory, directory: &Path) -> Result<Self, StoreError> {
        let spare = CorpusDirectory::new(directory);
        scratch::sweep(&spare, &[scratch::LINKS]);
        let mut missed = None;
        for _ in 0..TRIES {
            // The journal first: what is held later can only be ahead of it.
            let journal = journal::read_end(place)?;
            refuse_shorter(place)?;
            let Some(files) = LinkedFiles::take_or_copy(place, &spare)? else { continue };
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
            return Ok(Self { files, commit, documents });
        }
        Err(missed.unwrap_or_else(|| StoreError::Restless {
            path: place.root.clone(),
            why: "no moment of it could be held".to_owned(),
        }))
    }

    fn path(&self) -> &Path {
        self.files.path()
    }

    /// Names and lengths of its files.
    fn names(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let path = self.path();
        let failed = || StoreError::io("reading", path);
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

/// The backups of a directory, in order of their commits.
///
/// # Errors
/// [`StoreError::Backup`] when it has none, or a manifest is damaged; [`StoreError::Io`].
pub fn list_backups(directory: &Path) -> Result<Vec<BackupRecord>, StoreError> {
    let (good, bad) = BackupDirectory::open(directory)?.list()?;
    match bad.into_iter().next() {
        None => Ok(good),
        Some(fault) => {
            Err(StoreError::Backup { path: directory.join(&fault.file), why: fault.what })
        }
    }
}

/// Reads every byte of every backup of a directory.
///
/// # Errors
/// [`StoreError::Backup`] when it has none; [`StoreError::Io`]; [`StoreError::Interrupted`]. What is wrong with files is
/// in the answer.
pub fn verify_backups(
    directory: &Path,
    context: &Context<'_>,
) -> Result<VerifyBackupsReport, StoreError> {
    let (good, faults) = BackupDirectory::open(directory)?.verify(context)?;
    let backups = good.iter().map(|record| record.commit).collect();
    Ok(VerifyBackupsReport { backups, faults })
}

/// Drops the backup of a commit, and the files that no other one has.
///
/// # Errors
/// [`StoreError::NoBackup`]; [`StoreError::Backup`]; [`StoreError::Io`].
pub fn drop_backup(directory: &Path, commit: u64) -> Result<DropBackupReport, StoreError> {
    let backups = BackupDirectory::open(directory)?;
    let _lock = backups.lock()?;
    let freed = backups.drop_backup(commit)?;
    Ok(DropBackupReport { commit, files: freed.files, bytes: freed.bytes })
}

/// Makes a corpus of a backup: that of a commit, or the newest. Every byte is compared with what was backed up, and the
/// corpus appears when it is whole. It has an identity of its own.
///
/// # Errors
/// [`StoreError::AlreadyExists`]; [`StoreError::NoBackup`]; [`StoreError::Backup`], which names the file that is damaged;
/// [`StoreError::NewerFormat`]; [`StoreError::Io`]; [`StoreError::Interrupted`]. Then nothing stands at `target`.
pub fn restore_backup(
    directory: &Path,
    target: &Path,
    commit: Option<u64>,
    context: &Context<'_>,
) -> Result<BackupRecord, StoreError> {
    let backups = BackupDirectory::open(directory)?;
    let record = backups.find(commit)?;
    if record.format > migrate::current() {
        return Err(StoreError::NewerFormat {
            path: directory.to_path_buf(),
            found: record.format,
            supported: migrate::current(),
            release: record.release,
        });
    }
    refuse_target(target)?;
    let making = MakingCorpus::beside(target)?;
    let place = CorpusDirectory::new(&making.0);
    let database = place.database();
    std::fs::create_dir(&database).map_err(StoreError::io("creating", &database))?;
    context.progress.begin("copying", Some(record.bytes));
    let mut done = 0;
    for file in &record.files {
        backups.copy_out(file, &making.0.join(&file.name), context)?;
        done += file.bytes;
        context.progress.advance(done);
    }
    sync_directory(&database)?;
    finish(&place, &record)?;
    refuse_target(target)?;
    std::fs::rename(&making.0, target).map_err(StoreError::io("renaming to", target))?;
    sync_directory(target.parent().unwrap_or(Path::new("")))?;
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
    Journal::open(&place.journal(), &none)?.append(entry, wal::ends(place, oldest)?)?;
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

/// A directory in the making, which is gone unless it was renamed.
struct MakingCorpus(PathBuf);

impl MakingCorpus {
    fn beside(target: &Path) -> Result<Self, StoreError> {
        let name = target
            .file_name()
            .ok_or_else(|| StoreError::AlreadyExists { path: target.to_path_buf() })?;
        let name = format!("{}.restoring-{}", name.to_string_lossy(), std::process::id());
        let path = target.with_file_name(name);
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(StoreError::io("creating", parent))?;
        }
        std::fs::create_dir(&path).map_err(StoreError::io("creating", &path))?;
        Ok(Self(path))
    }
}

impl Drop for MakingCorpus {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocksdb::{DB, Options};

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
