//! Creating a corpus, and becoming its writer.

use crate::model::{CommitSeq, Context, FieldDeclaration, FieldId, Policy, TermId};
use crate::store::bands::{BandIndex, BandWriter};
use crate::store::columns::{self, Column, Commits, Meta};
use crate::store::database::compact::{self, PIECE};
use crate::store::database::family;
use crate::store::database::merged::MergedBlocks;
use crate::store::database::tuning::{self, Memory};
use crate::store::error::StoreError;
use crate::store::files::directory::{CorpusDirectory, Lock};
use crate::store::files::grown::{Noted, refuse_shorter};
use crate::store::files::journal::{self, Entries, Entry, Journal};
use crate::store::files::{held, logs, scratch, twin};
use crate::store::migrate;
use crate::store::opening::aside::Aside;
use crate::store::rows::codec;
use crate::store::rows::keys::{CommitKey, Key};
use crate::store::rows::records::{Charter, CommitRecord, State};
use crate::store::rows::texts::TextEncoder;
use crate::store::view::View;
use roaring::RoaringTreemap;
use rocksdb::{
    DB, FlushOptions, Options, WaitForCompactOptions, WriteBatch, WriteOptions,
    checkpoint::Checkpoint,
};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Makes a new corpus at `path`, which must be absent or an empty directory.
///
/// # Errors
/// [`StoreError::AlreadyExists`], or what the file system and RocksDB say.
pub fn create(path: &Path, policy: &Policy, fields: &[FieldDeclaration]) -> Result<(), StoreError> {
    let place = CorpusDirectory::new(path);
    place.make()?;
    let lock = place.lock()?;
    let memory = Memory::within(256 << 20);
    let mut options = tuning::database(memory, 2);
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    let db = DB::open_cf_descriptors(&options, place.database(), tuning::families(memory))?;
    migrate::climb(&db)?;
    write_first_commit(&db, policy, fields)?;
    Journal::open(&place.journal(), &Entries::default())?
        .append(Entry { commit: 1, documents: 0 }, logs::newest(&place)?)?;
    db.flush_wal(true)?;
    drop(db);
    place.write_format()?;
    drop(lock);
    Ok(())
}

fn write_first_commit(
    db: &DB,
    policy: &Policy,
    fields: &[FieldDeclaration],
) -> Result<(), StoreError> {
    let meta = family::<Meta>(db)?;
    let mut rows = WriteBatch::default();
    rows.put_cf(&meta, "charter", codec::encode("charter", &Charter::new(policy, fields)?)?);
    let state = db.get_pinned_cf(&meta, "state")?.ok_or(StoreError::Missing {
        what: "record",
        family: Meta::NAME,
        key: "state".to_owned(),
    })?;
    let state: State =
        codec::decode(&state).map_err(|why| columns::corrupt::<Meta>("state", b"state", why))?;
    let state = State { commit: 1, ..state };
    rows.put_cf(&meta, "state", codec::encode("state", &state)?);
    let record = CommitRecord::about("init", policy.to_string());
    let key = CommitKey { commit: CommitSeq(1) }.to_bytes();
    rows.put_cf(&family::<Commits>(db)?, key, codec::encode("commit", &record)?);
    db.write_opt(rows, &synced())?;
    Ok(())
}

pub(in crate::store) fn synced() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(true);
    options
}

/// Refuses a database that stands before what the journal says.
pub(in crate::store) fn refuse_lost(
    path: &Path,
    database: u64,
    acknowledged: Option<Entry>,
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

/// The one process that writes.
pub struct Writer {
    pub(in crate::store) db: Arc<DB>,
    pub(in crate::store) journal: Journal,
    pub(in crate::store) terms: HashMap<(FieldId, Vec<u8>), TermId>,
    pub(in crate::store) encoder: Arc<TextEncoder>,
    /// Kept documents as of the last commit: one bit a document.
    pub(in crate::store) kept: Arc<RoaringTreemap>,
    pub(in crate::store) bands: BandWriter,
    merged: MergedBlocks,
    pub(in crate::store) aside: Aside,
    pub(in crate::store) memory_aside: usize,
    view: View,
    /// A commit began and did not end.
    pub(in crate::store) is_torn: bool,
    batch_bytes: u64,
    place: CorpusDirectory,
    noted: Option<Noted>,
    memory: Memory,
    lock: Arc<Lock>,
}

impl Writer {
    /// Text that one commit of a command over stored documents should take, in bytes.
    #[must_use]
    pub const fn batch_bytes(&self) -> u64 {
        self.batch_bytes
    }

    /// A file of the corpus's disk without a name: gone when it is closed.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be made.
    pub(crate) fn unnamed_file(&self) -> Result<File, StoreError> {
        scratch::unnamed_file(&self.place)
    }

    /// Opens a corpus for writing; repairs the journal when a crash left it behind the database.
    ///
    /// # Errors
    /// [`StoreError`]: no corpus, a newer format, another writer, lost commits, corruption.
    pub fn open(path: &Path, memory: Memory, threads: usize) -> Result<Self, StoreError> {
        let place = CorpusDirectory::new(path);
        let found = place.read_format()?;
        let lock = place.lock()?;
        scratch::sweep(&place, &[held::KIND, twin::KIND, scratch::NOTES]);
        let entries = journal::read_end(&place)?;
        refuse_shorter(&place)?;
        let noted = Noted::read(&place)?;
        let oldest = noted.map_or(0, |noted| noted.oldest_log);
        logs::refuse_lost(&place, &entries, oldest, || look(&place, &entries, oldest))?;
        let mut options: Options = tuning::database(memory, threads);
        // A step of the ladder may need a family that an older format did not have.
        options.create_missing_column_families(found < migrate::current());
        let database = place.database();
        let db = DB::open_cf_descriptors(&options, &database, tuning::families(memory))
            .map_err(|error| logs::refused(&place, &database, &entries, oldest, error))?;
        // Before anything is written: what is lost must not be lost twice.
        refuse_lost(path, migrate::commit(&db)?, entries.last())?;
        if found < migrate::current() {
            let before = path.join(format!("before-format-{}", migrate::current()));
            // One that stands there is of an earlier try: the ladder has not ended since.
            if !before.exists() {
                Checkpoint::new(&db)?.create_checkpoint(before)?;
            }
            migrate::climb(&db)?;
            place.write_format()?;
        }
        let db = Arc::new(db);
        let merged = MergedBlocks::within(memory.merged);
        let view = View::at_now(&db, BandIndex::default(), &merged, memory)?;
        let bands = BandWriter::open(&db, &place, view.generation(), memory.bands, threads)?;
        let view = View::at_now(&db, bands.index(), &merged, memory)?;
        let mut journal = Journal::open(&place.journal(), &entries)?;
        if entries.last().is_none_or(|entry| entry.commit < view.commit().0) {
            // Opening has made tables of what the logs held: the newest is empty.
            let entry = Entry { commit: view.commit().0, documents: view.documents() };
            journal.append(entry, logs::newest(&place)?)?;
        }
        let newest = view.state().next_dictionary.saturating_sub(1);
        // A purge may have taken it, and found too few texts for another one.
        let dictionary = view.find_dictionary(newest)?.map(|dictionary| (newest, dictionary));
        let encoder = Arc::new(TextEncoder::new(dictionary));
        let kept = Arc::new(view.kept()?);
        Ok(Self {
            db,
            journal,
            terms: HashMap::new(),
            encoder,
            kept,
            bands,
            merged,
            aside: Aside::default(),
            memory_aside: memory.aside,
            view,
            is_torn: false,
            batch_bytes: memory.batch,
            place,
            noted,
            memory,
            lock: Arc::new(lock),
        })
    }

    /// The right to write, to be held by whoever keeps the database open longer than this writer.
    #[must_use]
    pub fn lock(&self) -> Arc<Lock> {
        Arc::clone(&self.lock)
    }

    pub(in crate::store) const fn place(&self) -> &CorpusDirectory {
        &self.place
    }

    /// The last committed moment.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Takes in that the database has grown: the view moves on, and a longer manifest is noted.
    pub(in crate::store) fn committed(&mut self) -> Result<(), StoreError> {
        self.note_manifest()?;
        let bands = self.bands.index();
        self.view = View::at_now(&self.db, bands, &self.merged, self.memory)?;
        Ok(())
    }

    /// Rewrites every family into its most compact form: deleted and replaced rows are gone after it.
    /// Takes about twice the room of the largest family while it works.
    ///
    /// # Errors
    /// [`StoreError::Rocks`] when the disk refuses; [`StoreError::Interrupted`].
    pub(in crate::store) fn compact_files(
        &mut self,
        context: &Context<'_>,
    ) -> Result<(), StoreError> {
        // Runs hold who joined and who left; tables hold who is there.
        self.bands.fold()?;
        self.committed()?;
        self.flush()?;
        let families = columns::FAMILIES.iter().map(|family| family.name);
        let compacted = compact::compact(&self.db, families, PIECE, context);
        // What was compacted before a stop is so.
        self.committed()?;
        compacted
    }

    /// Folds what is many in the band index and writes buffered rows to tables, so that readers open without replaying
    /// the log.
    ///
    /// # Errors
    /// [`StoreError::Rocks`] when the disk refuses.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        if self.bands.settle()? {
            self.committed()?;
        }
        let mut families = Vec::new();
        for family in columns::FAMILIES {
            if let Some(handle) = self.db.cf_handle(family.name) {
                families.push(handle);
            }
        }
        let mut options = FlushOptions::default();
        options.set_wait(true);
        let handles: Vec<_> = families.iter().collect();
        self.db.flush_cfs_opt(&handles, &options)?;
        if self.bands.take_backlog() {
            self.db.wait_for_compact(&WaitForCompactOptions::default())?;
        }
        drop(handles);
        drop(families);
        self.bands.reclaim()?;
        self.note_manifest()
    }

    fn note_manifest(&mut self) -> Result<(), StoreError> {
        let oldest = logs::oldest_needed(&self.db)?;
        self.noted = Noted::update(self.noted, &self.place, oldest)?;
        Ok(())
    }

    /// Acknowledges a commit that was written and synced.
    pub(in crate::store) fn acknowledge(&mut self, entry: Entry) -> Result<(), StoreError> {
        self.journal.append(entry, logs::newest(&self.place)?)
    }
}

/// The database as it is, with whatever families it has; nothing is written.
fn look(place: &CorpusDirectory, journal: &Entries, oldest_log: u64) -> Result<DB, StoreError> {
    let database = place.database();
    let memory = Memory::within(0);
    let options = tuning::database(memory, 2);
    let named = DB::list_cf(&options, &database)?;
    let mut families = tuning::families(memory);
    families.retain(|family| named.iter().any(|name| name == family.name()));
    DB::open_cf_descriptors_read_only(&options, &database, families, false)
        .map_err(|error| logs::refused(place, &database, journal, oldest_log, error))
}
