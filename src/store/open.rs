//! Opening: create a corpus, read it beside its writer, or become its writer.

use super::bands::BandIndex;
use super::bands::BandWriter;
use super::codec;
use super::columns::{self, Column, Commits, Meta};
use super::db;
use super::error::StoreError;
use super::grown::{Grown, refuse_shorter};
use super::journal::{self, Entries, Entry, Journal};
use super::keys::{CommitKey, Key};
use super::migrate;
use super::place::{Lock, Place};
use super::records::{Charter, CommitRecord, State};
use super::texts::TextEncoder;
use super::tuning::{self, Memory};
use super::view::View;
use crate::model::{CommitSeq, FieldDeclaration, FieldId, Policy, Progress, TermId};
use roaring::RoaringTreemap;
use rocksdb::{
    BottommostLevelCompaction, CompactOptions, DB, FlushOptions, Options, WaitForCompactOptions,
    WriteBatch, WriteOptions, checkpoint::Checkpoint,
};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Makes a new corpus at `path`, which must be absent or an empty directory.
///
/// # Errors
/// [`StoreError::AlreadyExists`], or what the file system and RocksDB say.
pub fn create(path: &Path, policy: &Policy, fields: &[FieldDeclaration]) -> Result<(), StoreError> {
    let place = Place::new(path);
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
        .append(Entry { commit: 1, documents: 0 })?;
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
    let meta = db::family::<Meta>(db)?;
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
    let record = CommitRecord {
        kind: "init".to_owned(),
        subject: policy.to_string(),
        ..CommitRecord::default()
    };
    let key = CommitKey { commit: CommitSeq(1) }.to_bytes();
    rows.put_cf(&db::family::<Commits>(db)?, key, codec::encode("commit", &record)?);
    db.write_opt(rows, &synced())?;
    Ok(())
}

pub(super) fn synced() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(true);
    options
}

/// Opens a corpus for reading, also while another process writes: the view is its last commit.
///
/// # Errors
/// [`StoreError`]: no corpus, another format, lost commits, corruption.
pub fn read(path: &Path, memory: Memory) -> Result<View, StoreError> {
    let place = Place::new(path);
    let found = place.read_format()?;
    if found < migrate::current() {
        return Err(StoreError::OlderFormat {
            path: path.to_path_buf(),
            found,
            supported: migrate::current(),
        });
    }
    // A writer may delete a file between the manifest's reading and its own opening: ask again. The
    // manifest read next no longer names that file, so one that is missed again is lost.
    let mut missed = String::new();
    let mut tries = 0;
    let view = loop {
        // The journal first: the database, read later, can only be ahead of it.
        let acknowledged = journal::read(&place.journal())?.last();
        refuse_shorter(&place)?;
        let logs = place.logs()?;
        let options = tuning::database(memory, 2);
        match DB::open_cf_descriptors_read_only(
            &options,
            place.database(),
            tuning::families(memory),
            false,
        ) {
            // A log that went meanwhile may have been wanted and not found, and nothing says so: what
            // it held is then missing from the families that this reader's manifest has no table of.
            Ok(_) if !logs.is_subset(&place.logs()?) => {}
            Ok(db) => {
                let view = View::at_now(&Arc::new(db), BandIndex::default())?;
                refuse_lost(path, &view, acknowledged)?;
                if !view.misses_folded_bands()? {
                    break view;
                }
                // The next manifest has the tables, unless they are lost.
                tries += 1;
                if tries == 100 {
                    return Err(StoreError::Missing {
                        what: "folded band runs",
                        family: "bands",
                        key: "mark".to_owned(),
                    });
                }
            }
            Err(error)
                if error.to_string() != missed && error.to_string().contains("No such file") =>
            {
                missed = error.to_string();
            }
            Err(error) => return Err(error.into()),
        }
    };
    Ok(view)
}

/// Makes a twin of the corpus at `path` in the new directory `twin`: same moment, tables shared by
/// hard links.
///
/// # Errors
/// [`StoreError`]: no corpus, another writer, or what the file system says.
pub fn twin(path: &Path, twin: &Path, memory: Memory) -> Result<(), StoreError> {
    let writer = Writer::open(path, memory, 2)?;
    let place = Place::new(twin);
    place.make()?;
    Checkpoint::new(&writer.db)?.create_checkpoint(place.database())?;
    let last = Entry { commit: writer.view.commit().0, documents: writer.view.documents() };
    Journal::open(&place.journal(), &Entries::default())?.append(last)?;
    place.write_format()
}

fn refuse_lost(path: &Path, view: &View, acknowledged: Option<Entry>) -> Result<(), StoreError> {
    let database = view.commit().0;
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
    pub(super) db: Arc<DB>,
    pub(super) journal: Journal,
    pub(super) terms: HashMap<(FieldId, Vec<u8>), TermId>,
    pub(super) encoder: Arc<TextEncoder>,
    /// Kept documents as of the last commit: one bit a document.
    pub(super) kept: Arc<RoaringTreemap>,
    pub(super) bands: BandWriter,
    view: View,
    /// A commit began and did not end.
    pub(super) is_torn: bool,
    place: Place,
    noted: Option<Grown>,
    _lock: Lock,
}

impl Writer {
    /// Opens a corpus for writing; repairs the journal when a crash left it behind the database.
    ///
    /// # Errors
    /// [`StoreError`]: no corpus, a newer format, another writer, lost commits, corruption.
    pub fn open(path: &Path, memory: Memory, threads: usize) -> Result<Self, StoreError> {
        let place = Place::new(path);
        let found = place.read_format()?;
        let lock = place.lock()?;
        let entries = journal::read(&place.journal())?;
        refuse_shorter(&place)?;
        let mut options: Options = tuning::database(memory, threads);
        // A step of the ladder may need a family that an older format did not have.
        options.create_missing_column_families(found < migrate::current());
        let db = DB::open_cf_descriptors(&options, place.database(), tuning::families(memory))?;
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
        let view = View::at_now(&db, BandIndex::default())?;
        refuse_lost(path, &view, entries.last())?;
        let bands = BandWriter::open(&db, &place, view.generation(), memory.bands, threads)?;
        let view = View::at_now(&db, bands.index())?;
        let mut journal = Journal::open(&place.journal(), &entries)?;
        if entries.last().is_none_or(|entry| entry.commit < view.commit().0) {
            journal.append(Entry { commit: view.commit().0, documents: view.documents() })?;
        }
        let newest = view.state().next_dictionary.saturating_sub(1);
        let dictionary = if newest == 0 { None } else { Some((newest, view.dictionary(newest)?)) };
        let encoder = Arc::new(TextEncoder::new(dictionary));
        let kept = Arc::new(view.kept()?);
        Ok(Self {
            db,
            journal,
            terms: HashMap::new(),
            encoder,
            kept,
            bands,
            view,
            is_torn: false,
            place,
            noted: None,
            _lock: lock,
        })
    }

    /// The last committed moment.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Takes in that the database has grown: the view moves on, and a longer manifest is noted.
    pub(super) fn committed(&mut self) -> Result<(), StoreError> {
        self.note_manifest()?;
        self.view = View::at_now(&self.db, self.bands.index())?;
        Ok(())
    }

    /// Rewrites every family into its most compact form: deleted and replaced rows are gone after it.
    /// Takes about twice the room of the largest family while it works.
    ///
    /// # Errors
    /// [`StoreError::Rocks`] when the disk refuses.
    pub fn compact(&mut self, progress: &dyn Progress) -> Result<(), StoreError> {
        self.flush()?;
        progress.begin("compacting", Some(super::columns::FAMILIES.len() as u64));
        let mut options = CompactOptions::default();
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        for (done, family) in (1..).zip(super::columns::FAMILIES) {
            if let Some(handle) = self.db.cf_handle(family.name) {
                let all = None::<&[u8]>;
                self.db.compact_range_cf_opt(&handle, all, all, &options);
            }
            progress.advance(done);
        }
        progress.end();
        self.committed()
    }

    /// Folds what is many in the band index and writes buffered rows to tables, so that readers open without replaying the log.
    ///
    /// # Errors
    /// [`StoreError::Rocks`] when the disk refuses.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        if self.bands.settle()? {
            self.committed()?;
        }
        let mut families = Vec::new();
        for family in super::columns::FAMILIES {
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
        let found = Grown::now(&self.place);
        if let Some(grown) = found.filter(|_| found != self.noted) {
            grown.note(&self.place)?;
            self.noted = found;
        }
        Ok(())
    }
}
