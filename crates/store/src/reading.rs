//! Opens a corpus for reading while another process may write to it: its files come and go while they are opened.
//!
//! Opening takes time for each table. Where a log or table goes meanwhile, the reader tries again with the newer
//! manifest, four times; then it links tables and logs, copies the manifest, and opens these. To pause the writer would
//! let a reader disturb it, and a secondary instance of RocksDB sees families at different moments.

use crate::database::Database;
use crate::database::family::is_damage;
use crate::database::page_cache::PageCache;
use crate::database::tuning::{self, MemoryBudget};
use crate::error::StoreError;
use crate::files::directory::CorpusDirectory;
use crate::files::held_folder::{identity, identity_at};
use crate::files::journal::{self, JournalContents};
use crate::files::manifest_note::{ManifestNote, refuse_lost_tables};
use crate::files::scratch::LinkedFiles;
use crate::files::wal;
use crate::index::IndexReader;
use crate::migrate;
use crate::opening::{is_family_missing, open_beside_damage, refuse_lost};
use crate::table::FAMILIES;
use crate::view::View;
use model::invariant::part;
use model::{CommitSeq, IoError};
use rocksdb::DB;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Tries in the writer's own directory: nearly always the first one does.
const TRIES: usize = 4;
/// Tries on files that are held by links. Only tables that are deleted between two looks can be missed.
const HELD_TRIES: usize = 16;

/// Opens a corpus for reading, also while another process writes: the view is its last commit.
///
/// # Errors
/// [`StoreError`]: no corpus, another format, lost commits, corruption, or a writer that is too busy.
pub fn read(path: &Path, memory: MemoryBudget) -> Result<View, StoreError> {
    let view = read_beside_damage(path, memory)?;
    view.refuse_repairing(path)?;
    Ok(view)
}

/// Opens like [`read`], also while derived families are made again: reads of these families find nothing then.
pub(crate) fn read_beside_damage(path: &Path, memory: MemoryBudget) -> Result<View, StoreError> {
    let place = CorpusDirectory::new(path);
    let found = place.read_format(migrate::current())?;
    if found < migrate::current() {
        return Err(StoreError::OlderFormat {
            path: path.to_path_buf(),
            found,
            supported: migrate::current(),
        });
    }
    retry_open(&place, |database, journal, is_held| {
        attempt(&place, database, journal, is_held, memory)
    })
}

/// The journal of a corpus that is opened, by which its folder differs from one that stands there later: held open, so
/// that no other file gets its inode.
#[derive(Debug)]
pub struct OpenedJournal(Option<File>);

impl OpenedJournal {
    /// The journal of the corpus at a path, to be held before the corpus is opened. The folder of a corpus without a
    /// journal is not told from others.
    pub fn hold(path: &Path) -> Self {
        Self(File::open(CorpusDirectory::new(path).journal()).ok())
    }

    /// All of the journal, wherever its folder is by now; of a corpus that had none, what is at the path.
    pub(crate) fn read(&self, path: &Path) -> Result<JournalContents, StoreError> {
        let path = CorpusDirectory::new(path).journal();
        let Some(held) = &self.0 else { return journal::read(&path) };
        let (mut bytes, mut block) = (Vec::new(), [0; 1 << 13]);
        loop {
            let at = bytes.len() as u64;
            let read = held.read_at(&mut block, at).map_err(IoError::of("reading", &path))?;
            if read == 0 {
                return Ok(JournalContents::of(&bytes));
            }
            bytes.extend_from_slice(part(&block, ..read));
        }
    }

    /// Whether the same corpus is at the path.
    ///
    /// # Errors
    /// [`StoreError::Io`] when nobody can look.
    pub fn is_at(&self, path: &Path) -> Result<bool, StoreError> {
        let path = CorpusDirectory::new(path).journal();
        let Some(held) = &self.0 else { return Ok(true) };
        let held = held.metadata().map_err(IoError::of("looking at", &path))?;
        let found = identity_at(&path).map_err(IoError::of("looking at", &path))?;
        Ok(found == Some(identity(&held)))
    }

    /// Whether the same corpus is at the path, and this commit the last one that was acknowledged. Reads the end of one
    /// file.
    ///
    /// # Errors
    /// [`StoreError::Io`] when it cannot be read.
    pub fn ends_with(&self, path: &Path, commit: CommitSeq) -> Result<bool, StoreError> {
        if !self.is_at(path)? {
            return Ok(false);
        }
        let path = CorpusDirectory::new(path).journal();
        let last = journal::read_back_to(&path, u64::MAX)?.last();
        Ok(last.is_none_or(|last| last.commit == commit.0))
    }
}

/// Bytes of the journal of a corpus: every commit appends to it, so nothing is committed while they stay the same.
///
/// # Errors
/// [`StoreError::Io`] when the file cannot be looked at.
pub fn journal_bytes(path: &Path) -> Result<u64, StoreError> {
    let journal = CorpusDirectory::new(path).journal();
    Ok(std::fs::metadata(&journal).map_err(IoError::of("measuring", &journal))?.len())
}

/// What became of an opening.
pub(crate) enum OpenAttempt<T> {
    /// Everything was opened, and no file was missed.
    Whole(T),
    /// A file went before it was opened: the next try has a newer manifest, which does not name it. One that
    /// is missed a second time is lost.
    Missed(StoreError),
}

/// Tries until one holds; from the fifth on with the files held by links, so that a busy writer cannot take them away.
/// `attempt` opens the database in the directory it is given, with a journal that was read before, and gets whether the
/// files are held.
pub(crate) fn retry_open<T>(
    place: &CorpusDirectory,
    mut attempt: impl FnMut(&Path, &JournalContents, bool) -> Result<OpenAttempt<T>, StoreError>,
) -> Result<T, StoreError> {
    let mut missed: Option<String> = None;
    for tried in 0..TRIES + HELD_TRIES {
        // The journal first: the database, read later, can only be ahead of it.
        let journal = journal::read_end(place)?;
        let held = if tried < TRIES { None } else { LinkedFiles::take(place) };
        let real = place.database();
        let database = held.as_ref().map_or(real.as_path(), LinkedFiles::path);
        match attempt(database, &journal, held.is_some())? {
            OpenAttempt::Whole(found) => return Ok(found),
            OpenAttempt::Missed(error) => {
                let words = error.to_string();
                if held.is_some() || missed.as_ref() == Some(&words) {
                    return Err(error);
                }
                missed = Some(words);
            }
        }
    }
    let why = missed.unwrap_or_default();
    Err(StoreError::Restless { path: place.root.clone(), why })
}

fn attempt(
    place: &CorpusDirectory,
    database: &Path,
    journal: &JournalContents,
    is_held: bool,
    memory: MemoryBudget,
) -> Result<OpenAttempt<View>, StoreError> {
    refuse_lost_tables(place, &place.database())?;
    let oldest = ManifestNote::read(place)?.map_or(0, |note| note.oldest_log);
    wal::refuse_endless(place, journal, oldest)?;
    let options = tuning::database(memory, 2);
    let families = tuning::families_to_read(FAMILIES, memory);
    let db = match DB::open_cf_descriptors_read_only(&options, database, families, false) {
        Ok(db) => db,
        Err(error) if error.to_string().contains("No such file") => {
            return Ok(OpenAttempt::Missed(error.into()));
        }
        Err(error) if is_family_missing(&error) => {
            let (path, families) = (place.root.clone(), Vec::new());
            return Err(StoreError::Repairing { path, families });
        }
        Err(error) => {
            match wal::refused(place, database, journal, oldest, error) {
                // A table that cannot be opened is an error only for readers of its rows. The logs were found whole.
                StoreError::Rocks(words) if is_damage(&words) => {
                    open_beside_damage(database, memory)?
                }
                error => return Err(error),
            }
        }
    };
    let oldest = wal::oldest_needed(&db)?;
    // A log that the manifest of `db` still needs may have become tables before it was replayed: what it held
    // is then missing from the families that this manifest has no table of. The journal as it is now names
    // every log that tables of this manifest are made of. Links hold all logs of their moment.
    let found = if is_held {
        wal::lost(place, database, journal, oldest)?
    } else {
        // What is noted by now may be ahead of `db`.
        let journal = journal::read_back_to(&place.journal(), oldest)?;
        wal::lost(place, database, &journal, oldest)?
    };
    match found {
        None => {}
        Some(lost) if lost.is_gone => return Ok(OpenAttempt::Missed(lost.error)),
        Some(lost) => return Err(lost.error),
    }
    let pages = PageCache::within(memory.pages);
    // Entries are looked for in the folder that was opened, also when another one stands at its path.
    let held = place.clone().hold().unwrap_or_else(|_| place.clone());
    let db = Database::at(held.name().to_path_buf(), db, held);
    let view = View::open_now(&Arc::new(db), IndexReader::default(), &pages, memory, None)?;
    refuse_lost(&place.root, view.commit().0, journal.last())?;
    // If the index is damaged, a look-up in it is an error.
    let misses = match view.misses_folded_bands() {
        Err(StoreError::Damaged { .. } | StoreError::Corrupt { .. }) => false,
        found => found?,
    };
    if misses {
        // A newer manifest has the tables, unless they are lost.
        let (what, family) = ("folded band runs", "bands");
        let key = format!("mark, seen from commit {}", view.commit());
        return Ok(OpenAttempt::Missed(StoreError::Missing { what, family, key }));
    }
    Ok(OpenAttempt::Whole(view))
}

#[cfg(test)]
mod tests {
    use super::super::{StoreWriter, create};
    use super::*;
    use model::{Context, DedupMode, Policy};

    const MEMORY: u64 = 16 << 20;

    fn corpus() -> (tempfile::TempDir, CorpusDirectory) {
        let directory = tempfile::tempdir().unwrap();
        let place = CorpusDirectory::new(&directory.path().join("corpus"));
        create(&place.root, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &[]).unwrap();
        (directory, place)
    }

    #[test]
    fn a_reader_beside_a_writer_that_never_rests_ends_with_an_error() {
        let (_directory, place) = corpus();
        let mut tries = 0;
        let ended = retry_open::<()>(&place, |_, _, is_held| {
            tries += 1;
            assert_eq!(is_held, tries > TRIES);
            let key = tries.to_string();
            let missing = StoreError::Missing { what: "log", family: "", key };
            Ok(OpenAttempt::Missed(missing))
        });
        assert!(matches!(ended, Err(StoreError::Missing { .. })), "held files cannot go");
        assert_eq!(tries, TRIES + 1);
        let mut tries = 0;
        let ended = retry_open::<()>(&place, |_, _, _| {
            tries += 1;
            let missing = StoreError::Missing { what: "log", family: "", key: String::new() };
            Ok(OpenAttempt::Missed(missing))
        });
        assert!(ended.is_err() && tries == 2, "what is missed twice is lost");
    }

    #[test]
    fn files_that_a_writer_deletes_while_they_are_opened_are_held() {
        let (_directory, place) = corpus();
        let mut tries = 0;
        let commit = |writer: &mut StoreWriter| {
            writer.begin().unwrap().commit(&super::super::CommitRecord::default()).unwrap().0
        };
        let memory = MemoryBudget::within(MEMORY);
        let mut writer = StoreWriter::open(&place.root, memory, 2).unwrap();
        commit(&mut writer);
        // Between a reader's look at the journal and its opening, every log and most tables go.
        let found = retry_open(&place, |database, journal, is_held| {
            tries += 1;
            let before = journal.last().unwrap().commit;
            assert!(commit(&mut writer) > before);
            writer.compact_files(&Context::new()).unwrap();
            assert!(tries < 20);
            match attempt(&place, database, journal, is_held, memory)? {
                OpenAttempt::Whole(view) if is_held => {
                    Ok(OpenAttempt::Whole((before, view.commit().0)))
                }
                _ => {
                    let key = tries.to_string();
                    let missing = StoreError::Missing { what: "log", family: "", key };
                    Ok(OpenAttempt::Missed(missing))
                }
            }
        });
        let (before, seen) = found.unwrap();
        assert_eq!(tries, TRIES + 1);
        // A commit that went into a log that was held already may be seen.
        assert!(seen == before || seen == before + 1, "{before} {seen}");
        let left = std::fs::read_dir(&place.root).unwrap().flatten();
        let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("opening"));
        assert_eq!(left.count(), 0);
    }
}
