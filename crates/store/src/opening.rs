//! Creates a corpus, and opens its database: for writing, for a trial ingest on a copy, or for a look beside damage.
//!
//! A trial works on a twin of hard links, so that it runs the code of the real run and leaves the corpus as it is, its
//! format too. In a program that writes it works on a checkpoint of RocksDB, under the lock that the program has: for a
//! twin the program would have to close the corpus, and another process could take the lock.

use crate::bytes::key::{CommitKey, StoreKey};
use crate::bytes::record::{self, CharterRecord, CommitRecord, StoreState};
use crate::database::Database;
use crate::database::family::{family_handle, is_damage, unopened_table};
use crate::database::page_cache::PageCache;
use crate::database::tuning::{self, MemoryBudget};
use crate::error::StoreError;
use crate::files::directory::{CorpusDirectory, WriterLock};
use crate::files::journal::{self, Journal, JournalContents, JournalEntry};
use crate::files::manifest_note::{ManifestNote, refuse_lost_tables};
use crate::files::scratch::{self, DryRunCorpus};
use crate::files::wal;
use crate::index::{IndexReader, IndexWriter};
use crate::meta::Meta;
use crate::migrate;
use crate::records::commits::Commits;
use crate::table::FAMILIES;
use crate::view::View;
use crate::writer::{CommitCarryOver, StoreWriter, synced};
use model::{CommitSeq, FieldDeclaration, Policy};
use rocksdb::checkpoint::Checkpoint;
use rocksdb::{DB, Options, WriteBatch};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a writer that opens its database again waits for those who still read it.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// Makes a new corpus at `path`, which must be absent or an empty directory.
///
/// # Errors
/// [`StoreError::AlreadyExists`], or what the file system and RocksDB say.
pub fn create(path: &Path, policy: &Policy, fields: &[FieldDeclaration]) -> Result<(), StoreError> {
    let place = CorpusDirectory::new(path);
    place.make()?;
    let place = place.hold()?;
    let lock = place.lock()?;
    let memory = MemoryBudget::within(256 << 20);
    let mut options = tuning::database(memory, 2);
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    let db =
        DB::open_cf_descriptors(&options, place.database(), tuning::families(FAMILIES, memory))?;
    write_first_commit(&db, policy, fields)?;
    Journal::open(&place.journal(), &JournalContents::default())?
        .append(JournalEntry { commit: 1, documents: 0 }, wal::newest(&place)?)?;
    db.flush_wal(true)?;
    drop(db);
    if let Some(mode) = place.mode_for_others() {
        place.let_others_write(mode);
    }
    place.write_format(migrate::current())?;
    drop(lock);
    Ok(())
}

/// What opening a corpus for writing does to its store format, in a sentence for people; none where that is the format
/// of this release, or where no format can be read.
#[must_use]
pub fn conversion_note(path: &Path) -> Option<String> {
    let found = CorpusDirectory::new(path).read_format(migrate::current()).ok()?;
    (found < migrate::current()).then(|| {
        format!(
            "{} has store format {found}: it is converted to format {}, which older releases cannot read; the database of before stays in it as {}, to be deleted when all is well",
            path.display(),
            migrate::current(),
            migrate::before()
        )
    })
}

fn write_first_commit(
    db: &DB,
    policy: &Policy,
    fields: &[FieldDeclaration],
) -> Result<(), StoreError> {
    let meta = family_handle::<Meta>(db)?;
    let mut rows = WriteBatch::default();
    rows.put_cf(&meta, "charter", record::encode("charter", &CharterRecord::new(policy, fields)?)?);
    let state = StoreState { commit: 1, next_epoch: 1, ..StoreState::default() };
    rows.put_cf(&meta, "state", record::encode("state", &state)?);
    rows.put_cf(&meta, "format", migrate::format_row());
    let record = CommitRecord::about("init", policy.to_string());
    let key = CommitKey { commit: CommitSeq(1) }.to_bytes();
    rows.put_cf(&family_handle::<Commits>(db)?, key, record::encode("commit", &record)?);
    db.write_opt(rows, &synced())?;
    Ok(())
}

/// Refuses a database that stands before what the journal says.
pub(crate) fn refuse_lost(
    path: &Path,
    database: u64,
    acknowledged: Option<JournalEntry>,
) -> Result<(), StoreError> {
    match acknowledged {
        Some(entry) if entry.commit > database => Err(StoreError::LostCommits {
            path: path.to_path_buf(),
            database,
            journal: entry.commit,
        }),
        _ => Ok(()),
    }
}

/// A corpus whose lock is held, and whose journal and logs were examined, before its database is opened.
pub(crate) struct OpeningCorpus {
    pub(crate) place: CorpusDirectory,
    /// The format it has.
    found: u32,
    lock: Arc<WriterLock>,
    entries: JournalContents,
    note: Option<ManifestNote>,
}

impl OpeningCorpus {
    /// # Errors
    /// [`StoreError`]: no corpus, a newer format, another writer, lost commits.
    pub(crate) fn begin(path: &Path) -> Result<Self, StoreError> {
        let place = CorpusDirectory::new(path);
        place.read_format(migrate::current())?;
        let place = place.hold()?;
        let lock = Arc::new(place.lock()?);
        Self::under(lock, place)
    }

    /// Begins like [`OpeningCorpus::begin`], under a lock that is held already.
    fn under(lock: Arc<WriterLock>, place: CorpusDirectory) -> Result<Self, StoreError> {
        place.refuse_exchanged(&lock)?;
        let place = migrate::finish(place)?;
        let found = place.read_format(migrate::current())?;
        scratch::sweep(&place, &[scratch::LINKS, scratch::DRY_RUN, scratch::NOTES]);
        let entries = journal::read_end(&place)?;
        refuse_lost_tables(&place, &place.database())?;
        let note = ManifestNote::read(&place)?;
        let opening = Self { place, found, lock, entries, note };
        let Self { place, entries, .. } = &opening;
        let oldest = opening.oldest_log();
        wal::refuse_endless(place, entries, oldest)?;
        wal::refuse_lost(place, entries, oldest, || {
            open_for_inspection(place, &place.database(), entries, oldest)
        })?;
        Ok(opening)
    }

    fn oldest_log(&self) -> u64 {
        self.note.map_or(0, |note| note.oldest_log)
    }

    /// Refuses a corpus of another format.
    pub(crate) fn refuse_older(&self) -> Result<(), StoreError> {
        if self.found == migrate::current() {
            return Ok(());
        }
        let (path, found, supported) = (self.place.root.clone(), self.found, migrate::current());
        Err(StoreError::OlderFormat { path, found, supported })
    }

    fn refused(&self, error: rocksdb::Error) -> StoreError {
        if is_family_missing(&error) {
            return StoreError::Repairing { path: self.place.root.clone(), families: Vec::new() };
        }
        let database = self.place.database();
        wal::refused(&self.place, &database, &self.entries, self.oldest_log(), error)
    }

    /// The error of [`OpeningCorpus::refused`], with the family whose table cannot be opened, where that is the
    /// reason.
    fn refused_table(&self, memory: MemoryBudget, error: rocksdb::Error) -> StoreError {
        match self.refused(error) {
            StoreError::Rocks(words) if is_damage(&words) => {
                match open_beside_damage(&self.place.database(), memory) {
                    Ok(db) => unopened_table(&db, FAMILIES, words),
                    Err(_) => StoreError::Rocks(words),
                }
            }
            error => error,
        }
    }

    /// Notes where the database stands: RocksDB may have made tables of its logs when it opened, and removed these.
    ///
    /// # Errors
    /// [`StoreError`] when the note cannot be written.
    pub(crate) fn note_manifest(&mut self, db: &DB) -> Result<(), StoreError> {
        self.note = ManifestNote::update(self.note, &self.place, wal::oldest_needed(db)?)?;
        Ok(())
    }

    /// The database with nothing of it compacted, also with tables that cannot be opened: reading their rows is an
    /// error.
    ///
    /// # Errors
    /// [`StoreError`]: logs that are damaged, what RocksDB says of the rest.
    pub(crate) fn open_resting(&self, memory: MemoryBudget) -> Result<Database, StoreError> {
        let mut options = tuning::database(memory, 2);
        // A repair that was stopped may have dropped one and not made it again.
        options.create_missing_column_families(true);
        let database = self.place.database();
        let open = |options: &Options| {
            DB::open_cf_descriptors(options, &database, tuning::resting_families(FAMILIES, memory))
        };
        let refused = match open(&options) {
            Ok(db) => return Ok(self.owned(db)),
            Err(error) => self.refused(error),
        };
        match refused {
            StoreError::Rocks(words) if is_damage(&words) => {
                options.set_paranoid_checks(false);
                open(&options).map(|db| self.owned(db)).map_err(|error| self.refused(error))
            }
            error => Err(error),
        }
    }

    /// A database that is open to be written to: until it is closed, its folder and the lock are held.
    fn owned(&self, db: DB) -> Database {
        let (place, lock) = (self.place.clone(), Arc::clone(&self.lock));
        Database::at(place.name().to_path_buf(), db, (place, lock))
    }

    /// Refuses a database that lacks acknowledged commits.
    ///
    /// # Errors
    /// [`StoreError::LostCommits`]; what RocksDB says where it cannot tell.
    pub(crate) fn refuse_lost(&self, db: &DB) -> Result<(), StoreError> {
        refuse_lost(&self.place.root, migrate::commit(db)?, self.entries.last())
    }

    /// The writer.
    ///
    /// # Errors
    /// [`StoreError`]: lost commits, corruption.
    pub(crate) fn into_writer(
        self,
        memory: MemoryBudget,
        threads: usize,
    ) -> Result<StoreWriter, StoreError> {
        if self.found < migrate::current() {
            if self.found < migrate::CONVERTED {
                self.refuse_older()?;
            }
            let refuse = |db: &DB| self.refuse_lost(db);
            let place = migrate::convert(self.place.clone(), (memory, threads), refuse)?;
            return Self::under(self.lock, place)?.into_writer(memory, threads);
        }
        let options: Options = tuning::database(memory, threads);
        let database = self.place.database();
        let db = DB::open_cf_descriptors(&options, &database, tuning::families(FAMILIES, memory))
            .map_err(|error| self.refused_table(memory, error))?;
        let db = self.owned(db);
        let mode_for_others = self.place.mode_for_others();
        if let Some(mode) = mode_for_others {
            self.place.let_others_write(mode);
        }
        // Before anything is written: what is lost must not be lost twice.
        self.refuse_lost(&db)?;
        let Self { place, lock, entries, note, .. } = self;
        let db = Arc::new(db);
        let pages = PageCache::within(memory.pages);
        let view = View::open_now(&db, IndexReader::default(), &pages, memory, None)?;
        let bands = IndexWriter::open(&db, &place, view.generation(), memory, threads)?;
        let view = View::open_now(&db, bands.index(), &pages, memory, Some(view.records()))?;
        let journal = Journal::open(&place.journal(), &entries)?;
        let stands = JournalEntry { commit: view.commit().0, documents: view.documents() };
        let is_behind = entries.last().is_none_or(|entry| entry.commit < stands.commit);
        let mut writer = StoreWriter {
            db,
            journal,
            terms: HashMap::new(),
            kept: None,
            bands,
            pages,
            carry_over: CommitCarryOver::default(),
            carry_over_budget: memory.carry_over,
            view,
            is_torn: false,
            begins_verb: false,
            undoes: None,
            goes_on: false,
            batch_bytes: memory.batch,
            place,
            note,
            memory,
            lock,
            mode_for_others,
            families: FAMILIES,
            outputs: BTreeSet::new(),
        };
        // A folder that cannot be read is no error here: a check names it.
        let _ = writer.find_outputs();
        // Rows in tables take no memory, nor can they be cut off the end of a log whose place is not noted.
        if is_behind || !writer.is_log_short()? {
            writer.write_tables()?;
        }
        if is_behind {
            writer.acknowledge(stands)?;
        }
        Ok(writer)
    }
}

impl StoreWriter {
    /// Opens a corpus for writing; repairs the journal when a crash left it behind the database.
    ///
    /// # Errors
    /// [`StoreError`]: no corpus, a newer format, another writer, lost commits, corruption, a repair that was stopped.
    pub fn open(path: &Path, memory: MemoryBudget, threads: usize) -> Result<Self, StoreError> {
        let writer = OpeningCorpus::begin(path)?.into_writer(memory, threads)?;
        writer.view.refuse_repairing(path)?;
        Ok(writer)
    }

    /// Closes the database and opens it again without giving the lock up. RocksDB then writes its list of files from
    /// scratch: it has no key of a file that is gone. Nobody else may have the database open, or it cannot be opened; what
    /// ends within ten seconds, as a statement that was left does, is waited for.
    ///
    /// # Errors
    /// As [`StoreWriter::open`], but for another writer.
    pub fn reopen(self, threads: usize) -> Result<Self, StoreError> {
        let (place, memory, lock) = (self.place.clone(), self.memory, Arc::clone(&self.lock));
        let database = Arc::downgrade(&self.db);
        drop(self);
        let begun = Instant::now();
        while database.strong_count() > 0 && begun.elapsed() < PATIENCE {
            std::thread::sleep(PAUSE);
        }
        let path = place.root.clone();
        let writer = OpeningCorpus::under(lock, place)?.into_writer(memory, threads)?;
        writer.view.refuse_repairing(&path)?;
        Ok(writer)
    }

    /// A throw-away copy of what is committed, made beside this writer, which keeps its lock.
    ///
    /// # Errors
    /// [`StoreError`]: what the file system and RocksDB say.
    pub fn dry_run_copy(&mut self) -> Result<DryRunCorpus, StoreError> {
        // What the note says must be true of the copy: its files are taken after this, and nothing is written meanwhile.
        self.flush()?;
        DryRunCorpus::beside(&self.place, |target| {
            // Tables may be replaced in the background: RocksDB links those of one moment. No log is cut off for it.
            let checkpoint = Checkpoint::new(&**self.db)?;
            Ok(checkpoint.create_checkpoint_with_log_size(target, u64::MAX)?)
        })
    }
}

/// The database in a directory, to be read beside tables that cannot be opened: reading their rows is an error. Its
/// logs must have been checked before: their damage is not reported here.
pub(crate) fn open_beside_damage(
    database: &Path,
    memory: MemoryBudget,
) -> Result<DB, rocksdb::Error> {
    let mut options = tuning::database(memory, 2);
    options.set_paranoid_checks(false);
    let families = tuning::families_to_read(FAMILIES, memory);
    DB::open_cf_descriptors_read_only(&options, database, families, false)
}

/// Whether RocksDB misses a family: a repair was stopped between dropping it and making it again.
pub(crate) fn is_family_missing(error: &rocksdb::Error) -> bool {
    error.to_string().contains("Column family not found")
}

/// The database in a directory as it is, with whatever families it has; nothing is written.
pub(crate) fn open_for_inspection(
    place: &CorpusDirectory,
    database: &Path,
    journal: &JournalContents,
    oldest_log: u64,
) -> Result<DB, StoreError> {
    wal::refuse_endless(place, journal, oldest_log)?;
    let memory = MemoryBudget::within(0);
    let options = tuning::database(memory, 2);
    let named = DB::list_cf(&options, database)?;
    let mut families = tuning::families(FAMILIES, memory);
    families.retain(|family| named.iter().any(|name| name == family.name()));
    DB::open_cf_descriptors_read_only(&options, database, families, false)
        .map_err(|error| wal::refused(place, database, journal, oldest_log, error))
}

impl DryRunCorpus {
    /// Makes the copy. Needs the writer's lock while it is made.
    ///
    /// # Errors
    /// [`StoreError`]: no corpus, another writer, or what the file system says.
    pub fn make(corpus: &Path) -> Result<Self, StoreError> {
        Self::of(corpus, migrate::current())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::manifest_note::ManifestLength;
    use model::{DedupMode, IoError};

    /// A compaction in the background may lengthen the manifest before RocksDB's checkpoint knows of it.
    #[test]
    fn a_copy_of_an_earlier_moment_is_no_loss_of_tables() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("corpus");
        let policy = Policy::new(DedupMode::Exact, 0.8).unwrap();
        create(&path, &policy, &[]).unwrap();
        let memory = MemoryBudget::within(16 << 20);
        let mut writer = StoreWriter::open(&path, memory, 2).unwrap();
        writer.write_tables().unwrap();
        writer.flush().unwrap();
        let earlier = directory.path().join("earlier");
        let checkpoint =
            |db| Checkpoint::new(db)?.create_checkpoint_with_log_size(&earlier, u64::MAX);
        checkpoint(&**writer.db).unwrap();
        for family in FAMILIES {
            let family = writer.db.cf_handle(family.name).unwrap();
            #[expect(
                clippy::disallowed_methods,
                reason = "whether the disk is full is not asked here"
            )]
            writer.db.compact_range_cf(&family, None::<&[u8]>, None::<&[u8]>);
        }
        writer.flush().unwrap();
        assert!(ManifestLength::now(&earlier) < ManifestLength::now(&writer.place.database()));
        let copy = DryRunCorpus::beside(&writer.place, |database| {
            std::fs::rename(&earlier, database).map_err(IoError::of("renaming", database))?;
            Ok(())
        });
        drop(StoreWriter::open(copy.unwrap().path(), memory, 2).unwrap());
    }
}
