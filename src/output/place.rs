//! The directory in which files are made: held by one process, proved when it is entered again, synced before its
//! files get their names.

use super::files::ManifestFile;
use crate::model::{IoError, sync_directory};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;

/// Name of the file that is locked.
pub(crate) const LOCK_FILE: &str = "lock";

/// The lock of a directory, as long as it lives.
pub(crate) struct Lock(File);

impl Lock {
    /// Locks a directory; none when another process or thread holds it.
    pub fn take(dir: &Path) -> Result<Option<Self>, IoError> {
        let path = dir.join(LOCK_FILE);
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(IoError::of("creating", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(IoError::of("locking", &path)(error)),
        }
    }
}

impl Drop for Lock {
    /// Given back in so many words: a process that is being started holds its parent's open files for a moment.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Whether something stands at a path that a rename must not replace: anything but an empty directory.
pub(crate) fn is_taken(path: &Path) -> Result<bool, IoError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(IoError::of("reading", path)(error)),
        Ok(found) if !found.is_dir() => return Ok(true),
        Ok(_) => {}
    }
    let mut entries = fs::read_dir(path).map_err(IoError::of("reading", path))?;
    Ok(entries.next().is_some())
}

/// Whether `dir` has a file with the bytes it was finished with.
pub(crate) fn holds(dir: &Path, file: &ManifestFile) -> bool {
    let mut hasher = blake3::Hasher::new();
    File::open(dir.join(&file.name))
        .and_then(|found| hasher.update_reader(found).map(|hasher| hasher.count()))
        .is_ok_and(|bytes| bytes == file.bytes)
        && hasher.finalize().to_hex().as_str() == file.blake3
}

/// Waits until a file or the names in a directory are on disk.
pub(crate) fn sync(path: &Path) -> Result<(), IoError> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return sync_directory(path);
    }
    File::open(path).and_then(|file| file.sync_all()).map_err(IoError::of("syncing", path))
}
