//! Directories inside a corpus, or beside one in the making, that belong to one process.
//!
//! They are gone when the process lets go of them; where it was killed, the next one that makes such directories
//! removes them. Links in them would keep deleted tables on the disk for ever.
//!
//! Two kinds are made of links to tables: one moment of the database, held while it is opened, so that a writer that
//! deletes files takes nothing away; and a copy of a corpus to try things on. The corpus itself is not opened for
//! that, so nothing in it changes, not even its format.

use crate::error::StoreError;
use crate::files::directory::CorpusDirectory;
use crate::files::manifest_note::{ManifestLength, ManifestNote, refuse_lost_tables};
use crate::files::outputs::OutputFolder;
use model::IoError;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Locked as long as the owner lives.
const ALIVE: &str = "alive";

/// The kind of directory in which a file is made that has no name then.
pub(crate) const NOTES: &str = "notes";

/// A directory of this process.
#[derive(Debug)]
pub(crate) struct ScratchDirectory {
    path: PathBuf,
    alive: File,
    /// The path leads into it.
    place: CorpusDirectory,
}

impl ScratchDirectory {
    /// Makes `KIND-PID-NUMBER` in the corpus. One that is there belongs to a process of another machine or
    /// of the past: the next number is taken.
    pub(crate) fn make(place: &CorpusDirectory, kind: &str) -> Result<Self, StoreError> {
        for number in 0_u32.. {
            let path = place.name().join(format!("{kind}-{}-{number}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(IoError::of("creating", &path)(error).into()),
            }
            let alive = File::create_new(path.join(ALIVE));
            let locked = alive.and_then(|alive| alive.lock().map(|()| alive));
            return match locked {
                Ok(alive) => Ok(Self { path, alive, place: place.clone() }),
                Err(error) => {
                    let _ = std::fs::remove_dir_all(&path);
                    Err(IoError::of("locking", &path)(error).into())
                }
            };
        }
        Err(StoreError::Name(format!("{} is full of directories", place.root.display())))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the scratch directory by the name of the folder that it is in.
    fn named(&self) -> PathBuf {
        self.path.file_name().map_or_else(|| self.path.clone(), |name| self.place.root.join(name))
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        // Nothing of the corpus is in it; what cannot be removed now is removed by the next writer.
        let _ = std::fs::remove_dir_all(&self.path);
        let _ = self.alive.unlock();
    }
}

/// A file that only its owner sees, for what is noted on the way.
pub(crate) fn unnamed_file(place: &CorpusDirectory) -> Result<File, StoreError> {
    let notes = ScratchDirectory::make(place, NOTES)?;
    let path = notes.path().join(NOTES);
    let file = File::options().read(true).write(true).create_new(true).open(&path);
    // The name goes with the directory; the file stays as long as it is open.
    Ok(file.map_err(IoError::of("creating", &path))?)
}

/// Whether a directory of that name is of that kind.
fn is_of_kind(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('-'))
}

/// The names of the directories of a kind.
pub(crate) fn named(place: &CorpusDirectory, kind: &str) -> Result<Vec<String>, StoreError> {
    let failed = || IoError::of("reading", &place.root);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(place.name()).map_err(failed())? {
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
pub(crate) fn sweep(place: &CorpusDirectory, kinds: &[&str]) {
    let Ok(entries) = std::fs::read_dir(place.name()) else { return };
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

/// What directories of this kind are called.
pub(crate) const LINKS: &str = "opening";
/// Rounds after which it is given up: a manifest that changes during each of them.
const ROUNDS: usize = 64;

/// How a file is held: by a link, or by a copy.
type Hold = fn(&Path, &Path) -> std::io::Result<()>;

/// Links a file, or copies what has changed of it since it was copied.
fn hold_or_copy(from: &Path, to: &Path) -> std::io::Result<()> {
    match std::fs::hard_link(from, to) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) => {}
        done => return done,
    }
    let is_there = std::fs::metadata(to)
        .is_ok_and(|copy| std::fs::metadata(from).is_ok_and(|found| found.len() == copy.len()));
    if is_there { Ok(()) } else { std::fs::copy(from, to).map(drop) }
}

/// Links to files, removed when they are no longer needed: a process that has opened a file keeps it.
pub(crate) struct LinkedFiles(ScratchDirectory);

impl LinkedFiles {
    /// Links the tables and logs and copies the manifest; none where links cannot be made, or when the
    /// manifest changes faster than that.
    pub(crate) fn take(place: &CorpusDirectory) -> Option<Self> {
        let held = Self(ScratchDirectory::make(place, LINKS).ok()?);
        held.fill(place, |from, to| std::fs::hard_link(from, to)).ok()?.then_some(held)
    }

    /// Takes files like [`LinkedFiles::take`]; where links cannot be made, copies them to a directory in `spare`. None
    /// when the manifest changes faster than that.
    pub(crate) fn take_or_copy(
        place: &CorpusDirectory,
        spare: &CorpusDirectory,
    ) -> Result<Option<Self>, StoreError> {
        if let Some(held) = Self::take(place) {
            return Ok(Some(held));
        }
        let held = Self(ScratchDirectory::make(spare, LINKS)?);
        Ok(held.fill(place, hold_or_copy)?.then_some(held))
    }

    /// Copies the logs in place of their links, as far as they are written now: from now on nothing here changes.
    pub(crate) fn copy_logs(&self) -> Result<(), StoreError> {
        let entries =
            std::fs::read_dir(self.path()).map_err(IoError::of("reading", self.path()))?;
        for entry in entries {
            let path = entry.map_err(IoError::of("reading", self.path()))?.path();
            if path.extension().is_some_and(|end| end == "log") {
                let copy = path.with_extension("copy");
                std::fs::copy(&path, &copy)
                    .and_then(|_| std::fs::rename(&copy, &path))
                    .map_err(IoError::of("copying", &path))?;
            }
        }
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    fn fill(&self, place: &CorpusDirectory, hold: Hold) -> Result<bool, StoreError> {
        for _ in 0..ROUNDS {
            let Some(before) = ManifestLength::now(&place.database()) else { continue };
            self.hold(place, hold)?;
            // A file that the manifest names is deleted after the manifest has said so, never before: if it
            // said the same all the while, every file that it names has been linked.
            if ManifestLength::now(&place.database()) == Some(before)
                && self.copy_manifest(place, before)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn hold(&self, place: &CorpusDirectory, hold: Hold) -> Result<(), StoreError> {
        let database = place.database();
        for entry in std::fs::read_dir(&database).map_err(IoError::of("reading", &database))? {
            let entry = entry.map_err(IoError::of("reading", &database))?;
            let name = entry.file_name();
            if !Path::new(&name).extension().is_some_and(|end| end == "sst" || end == "log") {
                continue;
            }
            let to = self.path().join(&name);
            match hold(&entry.path(), &to) {
                Err(error)
                    if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) =>
                {
                    return Err(IoError::of("holding", &to)(error).into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Copies the manifest as long as it was; false when another has replaced it.
    fn copy_manifest(
        &self,
        place: &CorpusDirectory,
        found: ManifestLength,
    ) -> Result<bool, StoreError> {
        let from = place.database().join(found.name());
        let file = match std::fs::File::open(&from) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(IoError::of("opening", &from)(error).into()),
        };
        let mut bytes = Vec::new();
        file.take(found.length).read_to_end(&mut bytes).map_err(IoError::of("reading", &from))?;
        for (name, bytes) in
            [(found.name(), bytes), ("CURRENT".to_owned(), format!("{}\n", found.name()).into())]
        {
            let to = self.path().join(name);
            std::fs::write(&to, bytes).map_err(IoError::of("writing", &to))?;
        }
        Ok(true)
    }
}

/// What directories of this kind are called.
pub(crate) const DRY_RUN: &str = "dry-run";

/// A throw-away copy of a corpus. It shares the tables' files, so making it is quick; what an
/// ingest adds takes room of its own until the copy is dropped. The corpus itself is not changed, nor
/// migrated: a corpus of an older format is migrated in the copy only. One whose process was killed is removed by
/// the next writer.
#[derive(Debug)]
pub struct DryRunCorpus {
    scratch: ScratchDirectory,
    /// Where it is, as people call it.
    path: PathBuf,
}

impl DryRunCorpus {
    /// Makes the copy of a corpus of format `supported` or an older one.
    pub(crate) fn of(corpus: &Path, supported: u32) -> Result<Self, StoreError> {
        let place = CorpusDirectory::new(corpus);
        place.read_format(supported)?;
        let place = place.hold()?;
        // Under the lock no file changes while it is copied.
        let _lock = place.lock()?;
        sweep(&place, &[LINKS, DRY_RUN]);
        refuse_lost_tables(&place, &place.database())?;
        Self::beside(&place, |database| {
            std::fs::create_dir(database).map_err(IoError::of("creating", database))?;
            share(&place.database(), database)
        })
    }

    /// Makes the copy for the holder of the lock; `copy_database` copies the database.
    pub(crate) fn beside(
        place: &CorpusDirectory,
        copy_database: impl FnOnce(&Path) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        let scratch = ScratchDirectory::make(place, DRY_RUN)?;
        let copy = Self { path: scratch.named(), scratch };
        let target = CorpusDirectory::new(copy.scratch.path());
        for (from, to) in [
            (place.journal(), target.journal()),
            (place.band_filter(), target.band_filter()),
            (place.format(), target.format()),
        ] {
            if from.exists() {
                std::fs::copy(&from, &to).map_err(IoError::of("copying", &from))?;
            }
        }
        OutputFolder::of(place.name()).copy_to(copy.scratch.path())?;
        let noted = ManifestNote::read(place)?;
        copy_database(&target.database())?;
        // The note is of the copy, not of the original: RocksDB's checkpoint has the manifest as long as a compaction
        // in the background has acknowledged it, and what is noted was measured on the disk, where it is written
        // before that.
        ManifestNote::update(None, &target, noted.map_or(0, |note| note.oldest_log))?;
        Ok(copy)
    }

    /// The copy's directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Links the tables, which never change; copies what does.
fn share(from: &Path, to: &Path) -> Result<(), StoreError> {
    for entry in std::fs::read_dir(from).map_err(IoError::of("reading", from))? {
        let entry = entry.map_err(IoError::of("reading", from))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let name = entry.file_name();
        if name == "LOCK" || name.to_string_lossy().starts_with("LOG") {
            continue;
        }
        let is_table = Path::new(&name).extension().is_some_and(|end| end == "sst");
        let done = if is_table {
            // Where there are no links, a copy takes room and does as well.
            std::fs::hard_link(&path, &target).or_else(|_| std::fs::copy(&path, &target).map(drop))
        } else {
            std::fs::copy(&path, &target).map(drop)
        };
        done.map_err(IoError::of("copying", &path))?;
    }
    Ok(())
}
