//! A directory of backups: files by what is in them, and a manifest for each moment, which is written last.
//!
//! ```text
//! DIR/corpusdb-backups     marker: the form of the directory, and the corpus whose backups it holds
//! DIR/files/HH/HASH        a file by the blake3 of its bytes, whole from the moment it has that name
//! DIR/N.json               the backup of commit N: its files with sizes and hashes, and a check sum of itself
//! DIR/lock                 held by whoever adds or drops
//! ```
//!
//! A file that several backups have is there once. What was copied by a process that was killed is no part of a backup;
//! the next one takes it over where it is whole, and dropping clears the rest.

use crate::model::{Context, Interrupted, sync_directory};
use crate::store::error::StoreError;
use crate::store::files::directory::{WriterLock, write_whole};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

const MARKER: &str = "corpusdb-backups";
const FORM: u32 = 1;
/// Bytes that are copied and hashed before the next look at the interrupt.
const PIECE: usize = 1 << 20;

/// One moment of a corpus, as a directory of backups has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupRecord {
    /// The commit that it ends with, which names it.
    pub commit: u64,
    /// Documents of the corpus then, of every standing.
    pub documents: u64,
    /// Store format of the corpus then.
    pub format: u32,
    /// The release that took it.
    pub release: String,
    /// Bytes of its files.
    pub bytes: u64,
    /// Its files, in order of their names.
    pub files: Vec<BackupFile>,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    /// Its path in the corpus.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// blake3 of its bytes, in hexadecimal.
    pub blake3: String,
    /// blake3 of the end of a table, which names it: one that ends the same is not read again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tail: Option<String>,
}

/// What adding a file to a directory came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct AddedBytes {
    /// Files that were not there.
    pub(in crate::store) files: u64,
    /// Their bytes.
    pub(in crate::store) bytes: u64,
}

/// What is wrong with a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackupFault {
    /// The commit that names it.
    pub commit: u64,
    /// The file, by its path in the corpus; `N.json` where it is the manifest.
    pub file: String,
    /// What is wrong with it, in words.
    pub what: String,
}

/// A manifest with its check sum.
#[derive(Serialize, Deserialize)]
struct SealedManifest {
    backup: BackupRecord,
    /// blake3 of `backup` as it is spelled here, without spaces.
    blake3: String,
}

impl SealedManifest {
    fn of(backup: BackupRecord) -> Self {
        Self { blake3: Self::sum(&backup), backup }
    }

    fn sum(backup: &BackupRecord) -> String {
        blake3::hash(&serde_json::to_vec(backup).unwrap_or_default()).to_hex().to_string()
    }
}

/// A directory of backups.
pub(in crate::store) struct BackupDirectory {
    root: PathBuf,
}

fn refused(path: &Path, why: impl Into<String>) -> StoreError {
    StoreError::Backup { path: path.to_path_buf(), why: why.into() }
}

impl BackupDirectory {
    /// One that is there.
    ///
    /// # Errors
    /// [`StoreError::Backup`] when the directory is none of backups, or of a newer release.
    pub(in crate::store) fn open(root: &Path) -> Result<Self, StoreError> {
        let found = Self { root: root.to_path_buf() };
        match found.marker()? {
            Some(_) => Ok(found),
            None => Err(refused(root, "there are no backups; `backup create` makes some")),
        }
    }

    /// One for the backups of a corpus, which is made where nothing is.
    ///
    /// # Errors
    /// [`StoreError::Backup`] when the directory holds other things, or backups of another corpus.
    pub(in crate::store) fn make(root: &Path, corpus: &str) -> Result<Self, StoreError> {
        let made = Self { root: root.to_path_buf() };
        match made.marker()? {
            Some(of) if of == corpus => {}
            Some(_) => {
                return Err(refused(
                    root,
                    "it holds backups of another corpus: give a directory to each",
                ));
            }
            None => {
                let entries = match std::fs::read_dir(root) {
                    Ok(entries) => entries,
                    Err(error) if error.kind() == ErrorKind::NotFound => {
                        std::fs::create_dir_all(root).map_err(StoreError::io("creating", root))?;
                        std::fs::read_dir(root).map_err(StoreError::io("reading", root))?
                    }
                    Err(error) => return Err(StoreError::io("reading", root)(error)),
                };
                let ours = ["files", "lock"];
                let is_ours = |name: &std::ffi::OsStr| {
                    name.to_str().is_some_and(|name| ours.contains(&name) || name.ends_with(".tmp"))
                };
                if entries.flatten().any(|entry| !is_ours(&entry.file_name())) {
                    return Err(refused(
                        root,
                        "it holds other things: give a directory for backups alone",
                    ));
                }
                write_whole(root, MARKER, format!("{FORM} {corpus}\n").as_bytes())?;
            }
        }
        let files = root.join("files");
        std::fs::create_dir_all(&files).map_err(StoreError::io("creating", &files))?;
        Ok(made)
    }

    /// The corpus whose backups it holds; none where there is no marker.
    fn marker(&self) -> Result<Option<String>, StoreError> {
        let path = self.root.join(MARKER);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(StoreError::io("reading", &path)(error)),
        };
        match text.trim_end().split_once(' ') {
            Some((form, corpus)) if form == FORM.to_string() => Ok(Some(corpus.to_owned())),
            _ => Err(refused(
                &self.root,
                "its backups are of a form that this release does not know",
            )),
        }
    }

    /// Takes the right to add and drop.
    ///
    /// # Errors
    /// [`StoreError::Backup`] when another process has it.
    pub(in crate::store) fn lock(&self) -> Result<WriterLock, StoreError> {
        let path = self.root.join("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(StoreError::io("opening", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(WriterLock(file)),
            Err(TryLockError::WouldBlock) => Err(refused(
                &self.root,
                "another process adds to it or drops from it; wait for it to end",
            )),
            Err(TryLockError::Error(error)) => Err(StoreError::io("locking", &path)(error)),
        }
    }

    /// Its backups, in order of their commits; the second is what is wrong with manifests that cannot be used.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the directory cannot be read.
    pub(in crate::store) fn list(
        &self,
    ) -> Result<(Vec<BackupRecord>, Vec<BackupFault>), StoreError> {
        let failed = || StoreError::io("reading", &self.root);
        let mut commits: BTreeSet<u64> = BTreeSet::new();
        for entry in std::fs::read_dir(&self.root).map_err(failed())? {
            let name = entry.map_err(failed())?.file_name();
            let commit =
                name.to_str().and_then(|name| name.strip_suffix(".json")?.parse::<u64>().ok());
            commits.extend(commit);
        }
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for commit in commits {
            match self.record(commit)? {
                Ok(record) => good.push(record),
                Err(what) => bad.push(BackupFault { commit, file: format!("{commit}.json"), what }),
            }
        }
        Ok((good, bad))
    }

    /// The manifest of a commit, or what is wrong with it.
    fn record(&self, commit: u64) -> Result<Result<BackupRecord, String>, StoreError> {
        let path = self.root.join(format!("{commit}.json"));
        let bytes = std::fs::read(&path).map_err(StoreError::io("reading", &path))?;
        Ok(match serde_json::from_slice::<SealedManifest>(&bytes) {
            Err(error) => Err(format!("is no manifest of a backup: {error}")),
            Ok(sealed) if SealedManifest::sum(&sealed.backup) != sealed.blake3 => {
                Err("was changed after it was written".to_owned())
            }
            Ok(sealed) if sealed.backup.commit != commit => {
                Err(format!("is that of commit {}", sealed.backup.commit))
            }
            Ok(sealed) => match sealed.backup.files.iter().find(|file| !is_within(&file.name)) {
                Some(file) => {
                    Err(format!("names `{}`, which is no path within a corpus", file.name))
                }
                None => Ok(sealed.backup),
            },
        })
    }

    /// The backup of a commit, or the newest one.
    ///
    /// # Errors
    /// [`StoreError::NoBackup`]; [`StoreError::Backup`] where its manifest is damaged.
    pub(in crate::store) fn find(&self, commit: Option<u64>) -> Result<BackupRecord, StoreError> {
        let (good, bad) = self.list()?;
        let wanted = commit.or_else(|| {
            let good = good.iter().map(|record| record.commit);
            good.chain(bad.iter().map(|fault| fault.commit)).max()
        });
        if let Some(fault) = bad.iter().find(|fault| Some(fault.commit) == wanted) {
            return Err(refused(&self.root.join(&fault.file), fault.what.clone()));
        }
        let known: Vec<String> = good.iter().map(|record| record.commit.to_string()).collect();
        let found = good.into_iter().find(|record| Some(record.commit) == wanted);
        found.ok_or_else(|| StoreError::NoBackup {
            path: self.root.clone(),
            commit: commit.unwrap_or(0),
            known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
        })
    }

    /// Where the bytes of that hash stand.
    fn place(&self, blake3: &str) -> PathBuf {
        self.root.join("files").join(blake3.get(..2).unwrap_or("00")).join(blake3)
    }

    /// Whether bytes of that hash are there; those of another length were cut.
    pub(in crate::store) fn has(&self, file: &BackupFile) -> bool {
        std::fs::metadata(self.place(&file.blake3)).is_ok_and(|found| found.len() == file.bytes)
    }

    /// Takes a file in, which stays as it is.
    ///
    /// # Errors
    /// [`StoreError::Io`]; [`StoreError::Interrupted`]: what was taken in stays.
    pub(in crate::store) fn add(
        &self,
        from: &Path,
        name: String,
        context: &Context<'_>,
        added: &mut AddedBytes,
    ) -> Result<BackupFile, StoreError> {
        let partial = self.root.join("files").join(format!("{}.partial", std::process::id()));
        let (bytes, blake3) = copied(from, &partial, context)?;
        let file = BackupFile { name, bytes, blake3, tail: None };
        if self.has(&file) {
            std::fs::remove_file(&partial).map_err(StoreError::io("removing", &partial))?;
            return Ok(file);
        }
        let place = self.place(&file.blake3);
        let folder = place.parent().unwrap_or(&self.root);
        std::fs::create_dir_all(folder).map_err(StoreError::io("creating", folder))?;
        std::fs::rename(&partial, &place).map_err(StoreError::io("renaming to", &place))?;
        sync_directory(folder)?;
        added.files += 1;
        added.bytes += file.bytes;
        Ok(file)
    }

    /// Writes the manifest: from now on the backup is there.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub(in crate::store) fn seal(&self, record: BackupRecord) -> Result<(), StoreError> {
        sync_directory(&self.root.join("files"))?;
        let name = format!("{}.json", record.commit);
        let text = serde_json::to_vec_pretty(&SealedManifest::of(record)).unwrap_or_default();
        write_whole(&self.root, &name, &text)
    }

    /// Copies a file of a backup to `to`, and compares it on the way with what was taken in.
    ///
    /// # Errors
    /// [`StoreError::Backup`] where it is not the same; [`StoreError::Io`]; [`StoreError::Interrupted`].
    pub(in crate::store) fn copy_out(
        &self,
        file: &BackupFile,
        to: &Path,
        context: &Context<'_>,
    ) -> Result<(), StoreError> {
        let place = self.place(&file.blake3);
        match copied(&place, to, context) {
            Ok((bytes, blake3)) if bytes == file.bytes && blake3 == file.blake3 => Ok(()),
            Ok(_) => Err(refused(&place, format!("`{}` is not what was backed up", file.name))),
            Err(error) => Err(error),
        }
    }

    /// Reads every byte of every backup: what is wrong.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the directory cannot be read; [`StoreError::Interrupted`].
    pub(in crate::store) fn verify(
        &self,
        context: &Context<'_>,
    ) -> Result<(Vec<BackupRecord>, Vec<BackupFault>), StoreError> {
        let (good, mut faults) = self.list()?;
        let files = good.iter().flat_map(|record| &record.files);
        let sizes: BTreeMap<&str, u64> =
            files.map(|file| (file.blake3.as_str(), file.bytes)).collect();
        context.progress.begin("reading backups", Some(sizes.values().sum()));
        let mut found: BTreeMap<&str, Option<String>> = BTreeMap::new();
        let mut done = 0;
        for (blake3, bytes) in &sizes {
            found.insert(blake3, self.wrong(blake3, *bytes, context)?);
            done += bytes;
            context.progress.advance(done);
        }
        for record in &good {
            for file in &record.files {
                if let Some(Some(what)) = found.get(file.blake3.as_str()) {
                    let (commit, file) = (record.commit, file.name.clone());
                    faults.push(BackupFault { commit, file, what: what.clone() });
                }
            }
        }
        context.progress.end();
        Ok((good, faults))
    }

    /// What is wrong with the bytes of that hash.
    fn wrong(
        &self,
        blake3: &str,
        bytes: u64,
        context: &Context<'_>,
    ) -> Result<Option<String>, StoreError> {
        let place = self.place(blake3);
        let file = match File::open(&place) {
            Ok(file) => file,
            Err(error) => return Ok(Some(format!("{}: {error}", place.display()))),
        };
        match pass(file, |_| Ok(()), context) {
            Ok((length, _)) if length != bytes => {
                Ok(Some(format!("{} has {length} bytes, not {bytes}", place.display())))
            }
            Ok((_, hash)) if hash != blake3 => {
                Ok(Some(format!("{} has other bytes than were written", place.display())))
            }
            Ok(_) => Ok(None),
            Err(PassError::Stopped(stop)) => Err(stop.into()),
            Err(PassError::Read(error) | PassError::Write(error)) => {
                Ok(Some(format!("{}: {error}", place.display())))
            }
        }
    }

    /// Drops the backup of a commit, and the files that no other one has.
    ///
    /// # Errors
    /// [`StoreError::NoBackup`]; [`StoreError::Io`].
    pub(in crate::store) fn drop_backup(&self, commit: u64) -> Result<AddedBytes, StoreError> {
        let path = self.root.join(format!("{commit}.json"));
        if !path.is_file() {
            return Err(self.find(Some(commit)).err().unwrap_or_else(|| refused(&path, "is gone")));
        }
        std::fs::remove_file(&path).map_err(StoreError::io("removing", &path))?;
        sync_directory(&self.root)?;
        let (left, damaged) = self.list()?;
        let mut freed = AddedBytes::default();
        // A manifest that cannot be read may name any of them.
        if !damaged.is_empty() {
            return Ok(freed);
        }
        let named: BTreeSet<&str> =
            left.iter().flat_map(|record| &record.files).map(|file| file.blake3.as_str()).collect();
        let files = self.root.join("files");
        for folder in entries(&files)? {
            if !folder.is_dir() {
                std::fs::remove_file(&folder).map_err(StoreError::io("removing", &folder))?;
                continue;
            }
            for file in entries(&folder)? {
                let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if named.contains(name) {
                    continue;
                }
                let bytes = std::fs::metadata(&file).map_or(0, |found| found.len());
                std::fs::remove_file(&file).map_err(StoreError::io("removing", &file))?;
                freed.files += 1;
                freed.bytes += bytes;
            }
        }
        Ok(freed)
    }
}

/// The entries of a directory, in order of their names.
fn entries(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let failed = || StoreError::io("reading", path);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed())? {
        found.push(entry.map_err(failed())?.path());
    }
    found.sort_unstable();
    Ok(found)
}

/// Whether a name leads nowhere but into the corpus: `NAME`, or `db/NAME`.
fn is_within(name: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty() && part != "." && part != ".." && !part.contains(['/', '\\', '\0'])
    };
    plain(name.strip_prefix("db/").unwrap_or(name))
}

enum PassError {
    Stopped(Interrupted),
    Read(std::io::Error),
    Write(std::io::Error),
}

/// Reads a file to its end: its length and hash.
fn pass(
    mut from: File,
    mut each: impl FnMut(&[u8]) -> std::io::Result<()>,
    context: &Context<'_>,
) -> Result<(u64, String), PassError> {
    let (mut hasher, mut bytes, mut piece) = (blake3::Hasher::new(), 0, vec![0; PIECE]);
    loop {
        context.check_interrupt().map_err(PassError::Stopped)?;
        let read = match from.read(&mut piece) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(PassError::Read(error)),
        };
        let part = piece.get(..read).unwrap_or_default();
        if part.is_empty() {
            return Ok((bytes, hasher.finalize().to_hex().to_string()));
        }
        hasher.update(part);
        each(part).map_err(PassError::Write)?;
        bytes += part.len() as u64;
    }
}

/// Copies a file, and syncs the copy: its length and hash.
fn copied(from: &Path, to: &Path, context: &Context<'_>) -> Result<(u64, String), StoreError> {
    let source = File::open(from).map_err(StoreError::io("opening", from))?;
    let mut target = File::create(to).map_err(StoreError::io("creating", to))?;
    let done = pass(source, |part| target.write_all(part), context);
    let done = done.map_err(|error| match error {
        PassError::Stopped(stop) => stop.into(),
        PassError::Read(error) => StoreError::io("reading", from)(error),
        PassError::Write(error) => StoreError::io("writing", to)(error),
    })?;
    target.sync_all().map_err(StoreError::io("syncing", to))?;
    Ok(done)
}
