//! The folder of a corpus as its writer opened it: paths into it that survive a move, and a check of what is there now.
//!
//! RocksDB opens its files by name, also in the background and when it closes, where nobody can stop it. By the path of
//! a folder that was exchanged it would write tables over those of the corpus that was put in its place. On Linux a name
//! below `/proc/self/fd/N` begins at the directory that the process has open, whatever stands at its path. Elsewhere,
//! and where there is no `/proc`, names are the path's, and only the comparison before each commit protects.

use crate::error::DESCRIPTORS;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) const FORMAT: &str = "FORMAT";
pub(crate) const LOCK: &str = "writer.lock";
pub(crate) const DATABASE: &str = "db";

/// Device and number of a file: no other one has both while it is open.
pub(crate) type FileIdentity = (u64, u64);

pub(crate) fn identity(found: &Metadata) -> FileIdentity {
    (found.dev(), found.ino())
}

/// The identity of the file at a path; none where no file is there.
pub(crate) fn identity_at(path: &Path) -> io::Result<Option<FileIdentity>> {
    match std::fs::metadata(path) {
        Ok(found) => Ok(Some(identity(&found))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A directory that is held open.
#[derive(Debug)]
struct HeldDirectory {
    /// The name that leads into it.
    name: PathBuf,
    identity: FileIdentity,
    /// While it is open, its number is no other directory's, and `name` leads to nothing else.
    _file: File,
}

impl HeldDirectory {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let identity = identity(&file.metadata()?);
        let held = PathBuf::from(format!("{DESCRIPTORS}{}", file.as_raw_fd()));
        let leads_there = identity_at(&held).is_ok_and(|found| found == Some(identity));
        let name = if leads_there { held } else { path.to_path_buf() };
        Ok(Self { name, identity, _file: file })
    }
}

/// The folder and its database.
#[derive(Debug)]
pub(crate) struct HeldFolder {
    root: HeldDirectory,
    /// None where it was not made yet.
    database: Option<HeldDirectory>,
    /// Where it was opened, also when the working directory changes.
    path: PathBuf,
    /// The folder's name in the file system when it was opened, which differs where the path is a link; none where the
    /// system does not say.
    was: Option<PathBuf>,
}

impl HeldFolder {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let root = HeldDirectory::open(path)?;
        let database = HeldDirectory::open(&root.name.join(DATABASE)).ok();
        let was = std::fs::read_link(&root.name).ok();
        let path = std::path::absolute(path)?;
        Ok(Self { root, database, path, was })
    }

    /// The name that leads into the folder.
    pub(crate) fn name(&self) -> &Path {
        &self.root.name
    }

    /// The name that leads into its database, also when that was removed and another one made.
    pub(crate) fn database(&self) -> PathBuf {
        let held = self.database.as_ref().map(|held| held.name.clone());
        held.unwrap_or_else(|| self.root.name.join(DATABASE))
    }

    /// What happened to the folder, in words that follow its path; none while the lock and the database at the path are
    /// those that the writer has open. Takes two looks at the file system.
    pub(crate) fn exchange(&self, lock: FileIdentity) -> io::Result<Option<String>> {
        let at = |name: &str| identity_at(&self.path.join(name));
        let is_database_there = || match &self.database {
            Some(held) => Ok::<_, io::Error>(at(DATABASE)? == Some(held.identity)),
            None => Ok(true),
        };
        if at(LOCK)? == Some(lock) && is_database_there()? {
            return Ok(None);
        }
        if identity_at(&self.path)? == Some(self.root.identity) {
            let what = "was emptied or written over while it was open for writing; its lock or its \
                        database is another one now";
            return Ok(Some(what.to_owned()));
        }
        // For a removed directory the system gives a name that leads nowhere.
        let now = std::fs::read_link(&self.root.name).ok().filter(|now| now.is_dir());
        let became = match now {
            Some(now) if Some(&now) == self.was.as_ref() => {
                format!("led to {}", now.display())
            }
            Some(now) => format!("was renamed to {}", now.display()),
            None => "was renamed or removed".to_owned(),
        };
        let stands = match at(FORMAT)? {
            Some(_) if self.root.name.starts_with(DESCRIPTORS) => {
                "another corpus stands there now, and nothing was written to it"
            }
            Some(_) => "another corpus stands there now",
            None => "no corpus stands there now",
        };
        Ok(Some(format!("{became} while it was open for writing; {stands}")))
    }
}

#[cfg(all(test, target_os = "linux"))]
#[path = "held_folder_tests.rs"]
mod tests;
