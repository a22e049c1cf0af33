//! The corpus directory: its files, the format line, and the lock that keeps writers apart.

use crate::error::StoreError;
use crate::files::held_folder::{DATABASE, FORMAT, FileIdentity, HeldFolder, LOCK, identity};
use model::{IoError, sync_directory};
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const IDENTITY: &str = "IDENTITY";

/// Paths inside a corpus.
#[derive(Clone, Debug)]
pub(crate) struct CorpusDirectory {
    /// The path as it is called; files are looked for below [`CorpusDirectory::name`].
    pub(crate) root: PathBuf,
    /// The folder that was opened, for a writer.
    held: Option<Arc<HeldFolder>>,
}

impl CorpusDirectory {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), held: None }
    }

    /// Holds the folder that stands there now: all paths lead into it wherever it is moved to, as long as this value
    /// or a copy of it lives.
    pub(crate) fn hold(self) -> Result<Self, StoreError> {
        let held = HeldFolder::open(&self.root).map_err(IoError::of("opening", &self.root))?;
        Ok(Self { held: Some(Arc::new(held)), ..self })
    }

    /// Refuses a folder that was renamed, removed or exchanged since it was held, or whose lock is another one.
    pub(crate) fn refuse_exchanged(&self, lock: &WriterLock) -> Result<(), StoreError> {
        let Some(held) = &self.held else { return Ok(()) };
        match held.exchange(lock.identity).map_err(IoError::of("looking at", &self.root))? {
            Some(what) => Err(StoreError::Exchanged { path: self.root.clone(), what }),
            None => Ok(()),
        }
    }

    /// The name that leads to the folder.
    pub(crate) fn name(&self) -> &Path {
        self.held.as_ref().map_or(&self.root, |held| held.name())
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.held.as_ref().map_or_else(|| self.root.join(DATABASE), |held| held.database())
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.name().join("journal")
    }

    pub(crate) fn format(&self) -> PathBuf {
        self.name().join(FORMAT)
    }

    /// How long the database's manifest had grown.
    pub(crate) fn manifest_note(&self) -> PathBuf {
        self.name().join("manifest")
    }

    /// Tables in the making; on the database's file system, so that they are moved, not copied.
    pub(crate) fn folding(&self) -> PathBuf {
        self.name().join("folding")
    }

    /// What a repair carries over of the families that it drops.
    pub(crate) fn repairing(&self) -> PathBuf {
        self.name().join("repairing")
    }

    /// The filter over the band index, rebuildable.
    pub(crate) fn band_filter(&self) -> PathBuf {
        self.name().join("bands.filter")
    }

    /// The identity of this corpus: of one that was made of a backup from a file of its own, of others from RocksDB's.
    pub(crate) fn identity(&self) -> Result<String, StoreError> {
        let own = self.name().join(IDENTITY);
        match std::fs::read_to_string(&own) {
            Ok(text) => return Ok(text.trim().to_owned()),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(IoError::of("reading", &own)(error).into()),
        }
        let path = self.database().join(IDENTITY);
        let text = std::fs::read_to_string(&path).map_err(IoError::of("reading", &path))?;
        Ok(text.trim().to_owned())
    }

    /// Gives the corpus an identity of its own. RocksDB keeps its in the manifest, which a copy shares.
    pub(crate) fn write_identity(&self) -> Result<(), StoreError> {
        let found = std::fs::metadata(&self.root).map_err(IoError::of("measuring", &self.root))?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.root.as_os_str().as_encoded_bytes());
        for number in [
            found.ino(),
            found.dev(),
            found.ctime_nsec().cast_unsigned(),
            found.ctime().cast_unsigned(),
        ] {
            hasher.update(&number.to_le_bytes());
        }
        let mut identity = hasher.finalize().to_hex().to_string();
        identity.truncate(32);
        write_whole(self.name(), IDENTITY, format!("{identity}\n").as_bytes())
    }

    /// Removes RocksDB's log files of earlier openings, which may name keys. Files that cannot be removed stay.
    pub(crate) fn remove_old_reports(&self) {
        let Ok(entries) = std::fs::read_dir(self.database()) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with("LOG.old") {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Removes the checkpoints that migrations made; answers their names.
    pub(crate) fn remove_checkpoints(&self) -> Result<Vec<String>, StoreError> {
        let mut removed = Vec::new();
        let entries = std::fs::read_dir(self.name()).map_err(IoError::of("reading", &self.root))?;
        for entry in entries {
            let entry = entry.map_err(IoError::of("reading", &self.root))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("before-format-") {
                let path = entry.path();
                std::fs::remove_dir_all(&path).map_err(IoError::of("removing", &path))?;
                removed.push(name);
            }
        }
        removed.sort_unstable();
        Ok(removed)
    }

    /// The mode of new files where the umask lets others write to them.
    pub(crate) fn mode_for_others(&self) -> Option<u32> {
        let probe = self.name().join("umask.tmp");
        let made = File::create(&probe).and_then(|file| file.metadata());
        let _ = std::fs::remove_file(&probe);
        let mode = made.ok()?.permissions().mode() & 0o666;
        (mode & 0o022 != 0).then_some(mode)
    }

    /// Lets other users write to the database's files where the umask lets them: RocksDB makes its files for the owner
    /// alone, whatever the umask says. Files of another user are left as they are.
    pub(crate) fn let_others_write(&self, of_file: u32) {
        let Ok(entries) = std::fs::read_dir(self.database()) else { return };
        let files = entries.flatten().map(|entry| entry.path());
        for path in files.chain([self.database()]) {
            let Ok(found) = std::fs::symlink_metadata(&path) else { continue };
            let wanted = if found.is_dir() { of_file | (of_file >> 2) } else { of_file };
            let mode = found.permissions().mode();
            if !found.is_symlink() && mode & wanted != wanted {
                let _ = std::fs::set_permissions(&path, Permissions::from_mode(mode | wanted));
            }
        }
    }

    /// Numbers of the database's write-ahead logs.
    pub(crate) fn logs(&self) -> Result<Vec<u64>, StoreError> {
        let database = self.database();
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&database).map_err(IoError::of("reading", &database))? {
            let name = entry.map_err(IoError::of("reading", &database))?.file_name();
            let number: Option<u64> =
                name.to_str().and_then(|name| name.strip_suffix(".log")?.parse().ok());
            found.extend(number);
        }
        Ok(found)
    }

    /// Makes the directory of a new corpus; an existing one must be empty.
    pub(crate) fn make(&self) -> Result<(), StoreError> {
        match std::fs::read_dir(&self.root) {
            Ok(mut entries) => match entries.next() {
                None => Ok(()),
                Some(_) if self.root.join(LOCK).exists() && !self.root.join(FORMAT).exists() => {
                    Err(StoreError::HalfMade { path: self.root.clone() })
                }
                Some(_) => Err(StoreError::AlreadyExists { path: self.root.clone() }),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(std::fs::create_dir_all(&self.root)
                    .map_err(IoError::of("creating", &self.root))?)
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                Err(StoreError::AlreadyExists { path: self.root.clone() })
            }
            Err(error) => Err(IoError::of("opening", &self.root)(error).into()),
        }
    }

    /// Writes the format line; last of `init`, so that a half-made corpus is not taken for one.
    pub(crate) fn write_format(&self, version: u32) -> Result<(), StoreError> {
        let line = format!("corpusdb {version} {}\n", env!("CARGO_PKG_VERSION"));
        write_whole(self.name(), FORMAT, line.as_bytes())
    }

    /// Whether `init` would refuse the path: it is a file, or a directory with something in it.
    pub(crate) fn is_taken(&self) -> bool {
        match std::fs::read_dir(&self.root) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) => error.kind() != ErrorKind::NotFound,
        }
    }

    /// The format version in the format line: refuses what is not a corpus and what is newer than `supported`.
    pub(crate) fn read_format(&self, supported: u32) -> Result<u32, StoreError> {
        let not_a_corpus =
            || StoreError::NotACorpus { path: self.root.clone(), taken: self.is_taken() };
        let path = self.format();
        let line = match std::fs::read(&path) {
            Ok(line) => line,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Err(not_a_corpus());
            }
            // The directory may well be a corpus, of another user.
            Err(error) => return Err(IoError::of("reading", &path)(error).into()),
        };
        let line = String::from_utf8(line).map_err(|_| not_a_corpus())?;
        let mut words = line.split_whitespace();
        if words.next() != Some("corpusdb") {
            return Err(not_a_corpus());
        }
        let found: u32 =
            words.next().and_then(|word| word.parse().ok()).ok_or_else(not_a_corpus)?;
        if found > supported {
            return Err(StoreError::NewerFormat {
                path: self.root.clone(),
                found,
                supported,
                release: words.next().unwrap_or("?").to_owned(),
            });
        }
        Ok(found)
    }

    /// Takes the writer's lock; the error names its holder.
    pub(crate) fn lock(&self) -> Result<WriterLock, StoreError> {
        let path = self.name().join(LOCK);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(IoError::of("opening", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let own = format!("process {}", std::process::id());
                let is_own = holder.trim() == own;
                let holder = match holder.trim() {
                    "" => "another process".to_owned(),
                    _ if is_own => format!("this very process ({own})"),
                    holder => holder.to_owned(),
                };
                return Err(StoreError::Locked { path: self.root.clone(), holder, is_own });
            }
            Err(TryLockError::Error(error)) => {
                return Err(IoError::of("locking", &path)(error).into());
            }
        }
        let line = format!("process {}\n", std::process::id());
        file.set_len(0).map_err(IoError::of("writing", &path))?;
        file.seek(SeekFrom::Start(0)).map_err(IoError::of("writing", &path))?;
        file.write_all(line.as_bytes()).map_err(IoError::of("writing", &path))?;
        WriterLock::of(file, &path)
    }
}

/// The right to write to a corpus, or to a directory of backups, as long as it lives.
pub struct WriterLock {
    file: File,
    identity: FileIdentity,
}

impl WriterLock {
    /// The lock by a file that was locked.
    pub(crate) fn of(file: File, path: &Path) -> Result<Self, StoreError> {
        let identity = identity(&file.metadata().map_err(IoError::of("looking at", path))?);
        Ok(Self { file, identity })
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        // Closing is not enough: a process that was forked meanwhile and has not yet become another
        // program has the file open too.
        let _ = self.file.unlock();
    }
}

/// Writes a small file of a directory, whole or not at all.
pub(crate) fn write_whole(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let (path, temporary) = (directory.join(name), directory.join(format!("{name}.tmp")));
    // Synced before its rename: else a power cut could leave the name without the bytes.
    File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .map_err(IoError::of("writing", &temporary))?;
    std::fs::rename(&temporary, &path).map_err(IoError::of("renaming to", &path))?;
    Ok(sync_directory(directory)?)
}
