//! The folder `outputs`: entries of what left the corpus, a file each, written by who reads the corpus.
//!
//! The next writer takes them in as rows, and removes the files when its commit is durable.
//!
//! An entry appears whole, under the next free number, which is given once: a file is linked to its name and replaces
//! none. `next` has the number behind those that became rows. Who changes the folder holds its lock, so what is half
//! written there belongs to nobody.

use crate::error::StoreError;
use crate::files::directory::write_whole;
use model::{IoError, sync_directory};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

const FOLDER: &str = "outputs";
const NEXT: &str = "next";
/// How the name of a file ends that is being written.
const UNFINISHED: &str = ".tmp";

/// The folder of a corpus; it need not be there.
pub(crate) struct OutputFolder(PathBuf);

/// The folder while nobody else changes it.
pub(crate) struct HeldOutputs<'f> {
    folder: &'f OutputFolder,
    _lock: File,
}

impl HeldOutputs<'_> {
    /// Adds an entry under the next free number, `least` or a later one.
    ///
    /// # Errors
    /// [`StoreError::Io`] where nobody may write.
    pub(crate) fn add(&self, least: u32, bytes: &[u8]) -> Result<u32, StoreError> {
        self.folder.add(least, bytes)
    }

    /// Writes an entry that has a number, also one that was taken in meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Io`] where nobody may write.
    pub(crate) fn replace(&self, number: u32, bytes: &[u8]) -> Result<(), StoreError> {
        let unfinished = self.folder.write_unfinished(bytes)?;
        self.folder.finish(&unfinished, number)?;
        Ok(sync_directory(&self.folder.0)?)
    }
}

/// What lies in it.
#[derive(Default)]
pub(crate) struct OutputNames {
    /// Entries, by their numbers.
    pub numbers: BTreeSet<u32>,
    /// Names that are of no entry.
    pub strangers: Vec<String>,
}

impl OutputFolder {
    /// The folder of the corpus in a directory.
    pub(crate) fn of(root: &Path) -> Self {
        Self(root.join(FOLDER))
    }

    /// The file of an entry.
    pub(crate) fn file(&self, number: u32) -> PathBuf {
        self.0.join(number.to_string())
    }

    /// What lies there.
    pub(crate) fn names(&self) -> Result<OutputNames, StoreError> {
        let mut names = OutputNames::default();
        let entries = match std::fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(names),
            Err(error) => return Err(IoError::of("reading", &self.0)(error).into()),
        };
        for entry in entries {
            let name = entry.map_err(IoError::of("reading", &self.0))?.file_name();
            let name = name.to_string_lossy().into_owned();
            match name.parse::<u32>() {
                Ok(number) if number.to_string() == name => _ = names.numbers.insert(number),
                _ if name == NEXT || name.ends_with(UNFINISHED) => {}
                _ => names.strangers.push(name),
            }
        }
        names.strangers.sort_unstable();
        Ok(names)
    }

    /// The bytes of an entry; none: it was taken in.
    pub(crate) fn read(&self, number: u32) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.file(number);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(IoError::of("reading", &path)(error).into()),
        }
    }

    /// The number behind those that became rows, where a writer left it.
    pub(crate) fn next(&self) -> Option<u32> {
        std::fs::read_to_string(self.0.join(NEXT)).ok()?.trim().parse().ok()
    }

    /// Holds the folder to add an entry: waits until nobody else changes it, which takes moments.
    ///
    /// # Errors
    /// [`StoreError::Io`] where nobody may write.
    pub(crate) fn hold(&self) -> Result<HeldOutputs<'_>, StoreError> {
        self.make()?;
        let lock = File::open(&self.0).map_err(IoError::of("opening", &self.0))?;
        // A file system without locks has links.
        let _ = lock.lock();
        Ok(HeldOutputs { folder: self, _lock: lock })
    }

    /// Adds an entry under the next free number, `least` or a later one.
    fn add(&self, least: u32, bytes: &[u8]) -> Result<u32, StoreError> {
        let unfinished = self.write_unfinished(bytes)?;
        // What lies there before what became rows: a writer says the second before it takes the first away.
        let last = self.names()?.numbers.last().copied().unwrap_or(0);
        let mut number = least.max(last.saturating_add(1)).max(self.next().unwrap_or(0));
        loop {
            match std::fs::hard_link(&unfinished, self.file(number)) {
                Ok(()) => {
                    let _ = std::fs::remove_file(&unfinished);
                    break;
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    number = number.saturating_add(1);
                }
                // Without links the number is taken by an empty file, which is replaced.
                Err(_) => match File::create_new(self.file(number)) {
                    Ok(_) => {
                        self.finish(&unfinished, number)?;
                        break;
                    }
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                        number = number.saturating_add(1);
                    }
                    Err(error) => {
                        return Err(IoError::of("making", &self.file(number))(error).into());
                    }
                },
            }
        }
        sync_directory(&self.0)?;
        Ok(number)
    }

    /// Removes files that became rows, except those that were written again since, and unfinished files. A file that
    /// cannot be removed now is taken in once more, as the same rows.
    pub(crate) fn forget(&self, taken: &[(u32, Vec<u8>)], next: u32) {
        let Some(_lock) = File::open(&self.0).ok().filter(|lock| lock.try_lock().is_ok()) else {
            return;
        };
        if write_whole(&self.0, NEXT, format!("{next}\n").as_bytes()).is_err() {
            return;
        }
        for (number, bytes) in taken {
            let path = self.file(*number);
            if std::fs::read(&path).is_ok_and(|found| found == *bytes) {
                let _ = std::fs::remove_file(&path);
            }
        }
        for entry in std::fs::read_dir(&self.0).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().ends_with(UNFINISHED) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        let _ = sync_directory(&self.0);
    }

    /// Copies what lies there to the folder of another corpus.
    pub(crate) fn copy_to(&self, root: &Path) -> Result<(), StoreError> {
        let to = Self::of(root);
        for number in self.names()?.numbers {
            if let Some(bytes) = self.read(number)? {
                to.make()?;
                let path = to.file(number);
                std::fs::write(&path, bytes).map_err(IoError::of("writing", &path))?;
            }
        }
        Ok(())
    }

    fn make(&self) -> Result<(), StoreError> {
        match std::fs::create_dir(&self.0) {
            Ok(()) => Ok(sync_directory(self.0.parent().unwrap_or(&self.0))?),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(IoError::of("creating", &self.0)(error).into()),
        }
    }

    /// Synced before it gets its name: else a power cut could leave the name without the bytes.
    fn write_unfinished(&self, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let path = self.0.join(format!("{}{UNFINISHED}", std::process::id()));
        File::create(&path)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .map_err(IoError::of("writing", &path))?;
        Ok(path)
    }

    fn finish(&self, unfinished: &Path, number: u32) -> Result<(), StoreError> {
        let path = self.file(number);
        Ok(std::fs::rename(unfinished, &path).map_err(IoError::of("renaming to", &path))?)
    }
}
