//! Directories inside a corpus that belong to one process: gone when it lets go of them, and removed by the
//! next writer when it was killed. Links in them would keep deleted tables on the disk for ever.

use crate::store::error::StoreError;
use crate::store::files::directory::CorpusDirectory;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Locked as long as the owner lives.
const ALIVE: &str = "alive";

/// The kind of directory in which a file is made that has no name then.
pub(in crate::store) const NOTES: &str = "notes";

/// A directory of this process.
#[derive(Debug)]
pub(in crate::store) struct Scratch {
    path: PathBuf,
    alive: File,
}

impl Scratch {
    /// Makes `KIND-PID-NUMBER` in the corpus. One that is there belongs to a process of another machine or
    /// of the past: the next number is taken.
    pub(in crate::store) fn make(place: &CorpusDirectory, kind: &str) -> Result<Self, StoreError> {
        for number in 0_u32.. {
            let path = place.root.join(format!("{kind}-{}-{number}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(StoreError::io("creating", &path)(error)),
            }
            let alive = File::create_new(path.join(ALIVE));
            let locked = alive.and_then(|alive| alive.lock().map(|()| alive));
            return match locked {
                Ok(alive) => Ok(Self { path, alive }),
                Err(error) => {
                    let _ = std::fs::remove_dir_all(&path);
                    Err(StoreError::io("locking", &path)(error))
                }
            };
        }
        Err(StoreError::Name(format!("{} is full of directories", place.root.display())))
    }

    pub(in crate::store) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing of the corpus is in it; what cannot be removed now is removed by the next writer.
        let _ = std::fs::remove_dir_all(&self.path);
        let _ = self.alive.unlock();
    }
}

/// A file that only its owner sees, for what is noted on the way.
pub(in crate::store) fn unnamed_file(place: &CorpusDirectory) -> Result<File, StoreError> {
    let notes = Scratch::make(place, NOTES)?;
    let path = notes.path().join(NOTES);
    let file = File::options().read(true).write(true).create_new(true).open(&path);
    // The name goes with the directory; the file stays as long as it is open.
    file.map_err(StoreError::io("creating", &path))
}

/// Whether a directory of that name is of that kind.
fn is_of_kind(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('-'))
}

/// The names of the directories of a kind.
pub(in crate::store) fn named(
    place: &CorpusDirectory,
    kind: &str,
) -> Result<Vec<String>, StoreError> {
    let failed = || StoreError::io("reading", &place.root);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&place.root).map_err(failed())? {
        let name = entry.map_err(failed())?.file_name().to_string_lossy().into_owned();
        if is_of_kind(&name, kind) {
            found.push(name);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Removes the directories of `kinds` whose owners are gone. What cannot be removed stays: it takes room, and
/// harms nothing.
pub(in crate::store) fn sweep(place: &CorpusDirectory, kinds: &[&str]) {
    let Ok(entries) = std::fs::read_dir(&place.root) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_one = |name: &str| kinds.iter().any(|kind| is_of_kind(name, kind));
        if !name.to_str().is_some_and(is_one) {
            continue;
        }
        let path = entry.path();
        match OpenOptions::new().read(true).write(true).open(path.join(ALIVE)) {
            Ok(alive) if alive.try_lock().is_ok() => {
                let _ = std::fs::remove_dir_all(&path);
            }
            Ok(_) => {}
            // Being made this moment, unless its files say that it is older.
            Err(_) if path.join("db").exists() => {
                let _ = std::fs::remove_dir_all(&path);
            }
            Err(_) => {
                let _ = std::fs::remove_dir(&path);
            }
        }
    }
}
