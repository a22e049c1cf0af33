//! The folder of a corpus as its writer opened it: names that lead into it wherever it is moved to, and what stands at
//! its path by now.
//!
//! RocksDB opens its files by name, also in the background and when it closes, where nobody can stop it. By the path of
//! a folder that was exchanged it would write tables over those of the corpus that was put in its place. On Linux a name
//! below `/proc/self/fd/N` begins at the directory that the process has open, whatever stands at its path. Elsewhere,
//! and where there is no `/proc`, names are the path's, and only the comparison before each commit protects.

use crate::store::error::DESCRIPTORS;
use crate::store::files::directory::{DATABASE, FORMAT, LOCK};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Device and number of a file: no other one has both while it is open.
pub(in crate::store) type FileIdentity = (u64, u64);

pub(in crate::store) fn identity(found: &Metadata) -> FileIdentity {
    (found.dev(), found.ino())
}

/// That of the file at a path; none where there is none.
pub(in crate::store) fn identity_at(path: &Path) -> io::Result<Option<FileIdentity>> {
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
pub(in crate::store) struct HeldFolder {
    root: HeldDirectory,
    /// None where it was not made yet.
    database: Option<HeldDirectory>,
    /// Where it was opened, also when the working directory changes.
    path: PathBuf,
    /// Its name in the file system then, which differs where the path is a link; none where the system does not say.
    was: Option<PathBuf>,
}

impl HeldFolder {
    pub(in crate::store) fn open(path: &Path) -> io::Result<Self> {
        let root = HeldDirectory::open(path)?;
        let database = HeldDirectory::open(&root.name.join(DATABASE)).ok();
        let was = std::fs::read_link(&root.name).ok();
        let path = std::path::absolute(path)?;
        Ok(Self { root, database, path, was })
    }

    /// The name that leads into the folder.
    pub(in crate::store) fn name(&self) -> &Path {
        &self.root.name
    }

    /// The name that leads into its database, also when that was removed and another one made.
    pub(in crate::store) fn database(&self) -> PathBuf {
        let held = self.database.as_ref().map(|held| held.name.clone());
        held.unwrap_or_else(|| self.root.name.join(DATABASE))
    }

    /// What happened to the folder, in words that follow its path; none while the lock and the database at the path are
    /// those that the writer has open. Takes two looks at the file system.
    pub(in crate::store) fn exchange(&self, lock: FileIdentity) -> io::Result<Option<String>> {
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
        // Of a directory that was removed the system says a name that leads nowhere.
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
mod tests {
    use crate::model::{Context, DedupMode, IoError, Policy};
    use crate::store::bytes::record::CommitRecord;
    use crate::store::database::compact::{PIECE, compact};
    use crate::store::error::StoreError;
    use crate::store::table::FAMILIES;
    use crate::store::{MemoryBudget, StoreWriter, create, read};
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    const MEMORY: u64 = 16 << 20;

    struct Exchange {
        _directory: tempfile::TempDir,
        path: PathBuf,
        moved: PathBuf,
        writer: StoreWriter,
    }

    /// A writer whose folder was exchanged after its last commit.
    fn exchanged() -> Exchange {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().canonicalize().unwrap().join(name);
        let (path, new, moved) = (at("corpus"), at("new"), at("moved"));
        let policy = Policy::new(DedupMode::Exact, 0.8).unwrap();
        for path in [&path, &new] {
            create(path, &policy, &[]).unwrap();
        }
        let mut writer = StoreWriter::open(&path, MemoryBudget::within(MEMORY), 2).unwrap();
        for _ in 0..3 {
            writer.begin().unwrap().commit(&CommitRecord::default()).unwrap();
        }
        std::fs::rename(&path, &moved).unwrap();
        std::fs::rename(&new, &path).unwrap();
        Exchange { _directory: directory, path, moved, writer }
    }

    fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for path in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => found.extend(files(&path)),
                false => drop(found.insert(path.clone(), std::fs::read(&path).unwrap())),
            }
        }
        found
    }

    /// What RocksDB writes without being asked went by the path: over the files of the corpus that was put there.
    #[test]
    fn tables_without_a_commit_go_to_the_folder_that_was_opened() {
        let Exchange { _directory, path, moved, mut writer } = exchanged();
        let (there, opened) = (files(&path), files(&moved));
        let last = writer.view().commit();
        writer.write_tables().unwrap();
        let families = FAMILIES.iter().map(|family| family.name);
        compact(&writer.db, families, PIECE, &Context::new()).unwrap();
        writer.refresh_view().unwrap();
        let refused = writer.flush().err();
        assert!(matches!(refused, Some(StoreError::Exchanged { .. })), "{refused:?}");
        drop(writer);
        assert!(files(&path) == there, "the new folder is as it was");
        assert!(files(&moved) != opened, "tables came into the old one");
        let memory = MemoryBudget::within(MEMORY);
        assert_eq!(read(&moved, memory).unwrap().commit(), last);
        assert_eq!(read(&path, memory).unwrap().commit().0, 1);
    }

    #[test]
    fn errors_name_files_as_they_are_called_now() {
        let Exchange { _directory, moved, writer, .. } = exchanged();
        let at = writer.place().journal();
        assert_ne!(at, moved.join("journal"));
        let error = StoreError::from(IoError::of("reading", &at)(std::io::Error::other("why")));
        assert_eq!(error.to_string(), format!("reading {}", moved.join("journal").display()));
        let absent = writer.place().database().join("absent.sst");
        let told = writer.db.ingest_external_file(vec![absent]).unwrap_err();
        let told = StoreError::from(told).to_string();
        assert!(told.contains(&moved.join("db/absent.sst").display().to_string()), "{told}");
    }
}
