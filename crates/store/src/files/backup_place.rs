//! The interface of a place for backups, and a place that is a directory on disk: files by name, each whole or absent.
//!
//! Other places are given by those who know stores of objects.

use crate::error::StoreError;
use crate::files::directory::WriterLock;
use model::{Error, ErrorKind, Hint, IoError, sync_directory};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What writes the bytes of a file that is put into a place.
pub type Fill<'a> = &'a mut dyn FnMut(&mut dyn Write) -> Result<(), StoreError>;

/// A file of a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceEntry {
    /// Its name in the place.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When it was written, in seconds by the clock of a store of objects; 0 in a directory.
    pub written: i64,
}

/// A place for backups. Names have `/` between their parts. What a place says that is not a file system is within the
/// input or output error of a [`StoreError::Io`].
pub trait BackupPlace {
    /// What messages call a file; the place itself where the name is empty.
    fn path(&self, name: &str) -> PathBuf;

    /// The directory on disk, where the place is one.
    fn directory(&self) -> Option<&Path>;

    /// Takes the lock for adding and dropping; `None` if a place has no such lock.
    ///
    /// # Errors
    /// [`StoreError`] when another process has it; [`StoreError::Io`].
    fn lock(&self) -> Result<Option<WriterLock>, StoreError>;

    /// Its files. Of what is not of backups the names in the place itself are enough.
    fn entries(&self) -> Result<Vec<PlaceEntry>, StoreError>;

    /// Opens a file, if it is there.
    fn open(&self, name: &str) -> Result<Option<Box<dyn Read + '_>>, StoreError>;

    /// Writes a file, in the place of one that is there. It is there when all is written and `fill` has said so; after an
    /// error it is as it was.
    ///
    /// # Errors
    /// [`StoreError::Io`], and those of `fill`.
    fn put(&self, name: &str, fill: Fill<'_>) -> Result<(), StoreError>;

    /// Writes a small file, unless one is there. A place that cannot tell may write it all the same.
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Removes files; those that are not there are removed.
    fn remove(&self, names: &[&str]) -> Result<(), StoreError>;
}

/// The error of a place where somebody else adds or drops: a process with the lock, or with a mark.
pub(super) fn held_by_another(place: &Path, mark: Option<&str>) -> StoreError {
    let place = place.display();
    let (by, hint) = match mark {
        None => (String::new(), Hint::text("wait for it to end")),
        Some(mark) => (
            format!(", by its mark {mark}"),
            Hint::text(
                "wait for it to end; if it was killed on another machine, its mark counts for an hour",
            ),
        ),
    };
    let message = format!("{place}: another process adds backups or drops them{by}");
    Error::of(ErrorKind::Locked, message).with_hint(hint).into()
}

/// A directory on disk, whose lock one process holds at a time.
pub struct BackupFolder {
    root: PathBuf,
}

impl BackupFolder {
    /// The backups in a directory.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    fn files(&self) -> PathBuf {
        self.root.join("files")
    }

    /// Adds the entries of a directory, as names after `before`; nothing if it is not a directory.
    fn look(
        path: &Path,
        before: &str,
        found: &mut Vec<(String, u64)>,
    ) -> Result<Vec<String>, StoreError> {
        let failed = || IoError::of("reading", path);
        let mut directories = Vec::new();
        let entries = match std::fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(directories),
            entries => entries.map_err(failed())?,
        };
        for entry in entries {
            let entry = entry.map_err(failed())?;
            let name = format!("{before}{}", entry.file_name().to_string_lossy());
            match entry.metadata() {
                Ok(known) if known.is_dir() => directories.push(name),
                Ok(known) => found.push((name, known.len())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed()(error).into()),
            }
        }
        Ok(directories)
    }
}

impl BackupPlace for BackupFolder {
    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.root.clone() } else { self.root.join(name) }
    }

    fn directory(&self) -> Option<&Path> {
        Some(&self.root)
    }

    fn lock(&self) -> Result<Option<WriterLock>, StoreError> {
        let files = self.files();
        std::fs::create_dir_all(&files).map_err(IoError::of("creating", &files))?;
        let path = self.root.join("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(IoError::of("opening", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(WriterLock::of(file, &path)?)),
            Err(TryLockError::WouldBlock) => Err(held_by_another(&self.root, None)),
            Err(TryLockError::Error(error)) => Err(IoError::of("locking", &path)(error).into()),
        }
    }

    fn entries(&self) -> Result<Vec<PlaceEntry>, StoreError> {
        let mut found = Vec::new();
        for name in Self::look(&self.root, "", &mut found)? {
            if name != "files" {
                found.push((name, 0));
                continue;
            }
            for name in Self::look(&self.files(), "files/", &mut found)? {
                Self::look(&self.root.join(&name), &format!("{name}/"), &mut found)?;
            }
        }
        found.sort_unstable();
        let entry = |(name, bytes)| PlaceEntry { name, bytes, written: 0 };
        Ok(found.into_iter().map(entry).collect())
    }

    fn open(&self, name: &str) -> Result<Option<Box<dyn Read + '_>>, StoreError> {
        let path = self.path(name);
        match File::open(&path) {
            Ok(file) => Ok(Some(Box::new(file))),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(IoError::of("opening", &path)(error).into()),
        }
    }

    fn put(&self, name: &str, fill: Fill<'_>) -> Result<(), StoreError> {
        let partial = self.files().join(format!("{}.partial", std::process::id()));
        let mut file = File::create(&partial).map_err(IoError::of("creating", &partial))?;
        if let Err(error) = fill(&mut file) {
            // If this fails, the next drop clears the file.
            let _ = std::fs::remove_file(&partial);
            return Err(error);
        }
        // Synced before its rename: else a power cut could leave the name without the bytes.
        file.sync_all().map_err(IoError::of("syncing", &partial))?;
        let path = self.path(name);
        let folder = path.parent().unwrap_or(&self.root);
        if !folder.is_dir() {
            std::fs::create_dir_all(folder).map_err(IoError::of("creating", folder))?;
            sync_directory(folder.parent().unwrap_or(&self.root))?;
        }
        std::fs::rename(&partial, &path).map_err(IoError::of("renaming to", &path))?;
        Ok(sync_directory(folder)?)
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.path(name);
        if path.exists() {
            return Ok(());
        }
        self.put(name, &mut |file| {
            Ok(file.write_all(bytes).map_err(IoError::of("writing", &path))?)
        })
    }

    fn remove(&self, names: &[&str]) -> Result<(), StoreError> {
        for name in names {
            let path = self.path(name);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(IoError::of("removing", &path)(error).into());
                }
                // What names others is gone for good before they go.
                _ if !name.contains('/') => sync_directory(&self.root)?,
                _ => {}
            }
        }
        Ok(())
    }
}
