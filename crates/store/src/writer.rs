//! The one process that writes: its flushes, foldings and compactions, and what the layers above keep between commits.
//!
//! A small commit makes no tables, also when a writer opens the corpus: for one document they would be some 16 files,
//! each written and synced, for every such commit. Tables are made when the logs are long or many beside them, since a
//! reader replays the logs; by `compact`; and before anything is rewritten. After a kill, commits that the journal has
//! not acknowledged become tables at once, since nobody noted where they end.

use crate::bytes::record::CommitRecord;
use crate::database::Database;
use crate::database::compact::{self, PIECE, compact};
use crate::database::family::{FamilyInfo, damaged_table};
use crate::database::page_cache::PageCache;
use crate::database::tuning::MemoryBudget;
use crate::error::StoreError;
use crate::files::directory::{CorpusDirectory, WriterLock};
use crate::files::journal::{Journal, JournalEntry};
use crate::files::manifest_note::ManifestNote;
use crate::files::{scratch, wal};
use crate::index::IndexWriter;
use crate::view::{MomentRecords, View};
use model::{CommitSeq, Context, FieldId, TermId};
use roaring::RoaringTreemap;
use rocksdb::{FlushOptions, LiveFile, WaitForCompactOptions, WriteOptions};
use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes in logs that readers may have to replay, which takes some 30 ms; and the number of logs; each opening of a
/// writer begins one.
const REPLAY: u64 = 4 << 20;
const LOGS: usize = 16;
/// How many times as long as the logs the tables are at least. A commit of one document writes some 40 kB of pages again.
const TABLES_TO_LOG: u64 = 4;

/// The one process that writes.
pub struct StoreWriter {
    pub(crate) db: Arc<Database>,
    pub(crate) journal: Journal,
    pub(crate) terms: HashMap<(FieldId, Vec<u8>), TermId>,
    /// Kept documents as of the last commit, one bit a document; read when the first commit begins.
    pub(crate) kept: Option<Arc<RoaringTreemap>>,
    pub(crate) bands: IndexWriter,
    pub(crate) pages: PageCache,
    pub(crate) carry_over: CommitCarryOver,
    pub(crate) carry_over_budget: usize,
    pub(crate) view: View,
    /// A commit began and did not end.
    pub(crate) is_torn: bool,
    /// The next commit is the first of a verb.
    pub(crate) begins_verb: bool,
    /// The first commit of the verb that is being undone.
    pub(crate) undoes: Option<CommitSeq>,
    /// Whether the last verb undoes it too: the next one goes on with that.
    pub(crate) goes_on: bool,
    pub(crate) batch_bytes: u64,
    pub(crate) place: CorpusDirectory,
    pub(crate) note: Option<ManifestNote>,
    pub(crate) memory: MemoryBudget,
    pub(crate) lock: Arc<WriterLock>,
    /// The mode of files that others may write to, where the umask has it so.
    pub(crate) mode_for_others: Option<u32>,
    pub(crate) families: &'static [FamilyInfo],
    /// Outputs on record that no writer has taken in: the next commits do.
    pub(crate) outputs: BTreeSet<u32>,
}

impl StoreWriter {
    /// Text that one commit of a command over stored documents should take, in bytes.
    #[must_use]
    pub const fn batch_bytes(&self) -> u64 {
        self.batch_bytes
    }

    /// A verb begins: its first commit says so.
    pub const fn begin_verb(&mut self) {
        self.begins_verb = true;
    }

    /// Verbs that begin from now on undo the one whose first commit this is, or nothing. The first of them is a part of the
    /// last verb, if that was stopped and `goes_on`.
    pub const fn undo_verb(&mut self, undone: Option<CommitSeq>, goes_on: bool) {
        self.undoes = undone;
        self.goes_on = goes_on;
    }

    /// A file of the corpus's disk without a name: gone when it is closed.
    pub fn unnamed_file(&self) -> Result<File, StoreError> {
        self.refuse_exchanged()?;
        scratch::unnamed_file(&self.place)
    }

    /// The right to write, for a holder that keeps the database open longer than this writer.
    #[must_use]
    pub fn lock(&self) -> Arc<WriterLock> {
        Arc::clone(&self.lock)
    }

    /// Refuses to go on where another folder stands at the path, or none.
    ///
    /// # Errors
    /// [`StoreError::Exchanged`].
    pub fn refuse_exchanged(&self) -> Result<(), StoreError> {
        self.place.refuse_exchanged(&self.lock)
    }

    pub(crate) const fn place(&self) -> &CorpusDirectory {
        &self.place
    }

    /// The last committed moment.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Kept documents as of the last commit.
    pub(crate) fn kept(&mut self) -> Result<Arc<RoaringTreemap>, StoreError> {
        if let Some(kept) = &self.kept {
            return Ok(Arc::clone(kept));
        }
        let kept = Arc::new(self.view.kept()?);
        self.kept = Some(Arc::clone(&kept));
        Ok(kept)
    }

    /// Takes in that the database has grown: the view moves on, and a longer manifest is noted.
    pub(crate) fn refresh_view(&mut self) -> Result<(), StoreError> {
        self.refresh_view_with(Some(self.view.records()))
    }

    /// Refreshes like [`StoreWriter::refresh_view`], with the records of the moment as far as they are known.
    pub(crate) fn refresh_view_with(
        &mut self,
        known: Option<MomentRecords>,
    ) -> Result<(), StoreError> {
        self.note_manifest()?;
        let bands = self.bands.index();
        self.view = View::open_now(&self.db, bands, &self.pages, self.memory, known)?;
        Ok(())
    }

    /// Rewrites every family into its most compact form: deleted and replaced rows are gone after it.
    /// Takes about twice the room of the largest family while it works.
    pub(crate) fn compact_files(&mut self, context: &Context<'_>) -> Result<(), StoreError> {
        self.refuse_exchanged()?;
        // Runs hold joins and leaves; tables hold members.
        self.bands.merge_runs()?;
        self.refresh_view()?;
        self.flush()?;
        let families = self.families.iter().map(|family| family.name);
        let compacted = compact::compact(&self.db, families, PIECE, context);
        // What was compacted before a stop is so.
        self.refresh_view()?;
        compacted
    }

    /// Folds what is many in the band index and writes buffered rows to tables, so that readers open without replaying
    /// the log.
    ///
    /// # Errors
    /// [`StoreError::Rocks`] when the disk refuses.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.finish(false)
    }

    /// Flushes like [`StoreWriter::flush`] after a large commit; the rows of a small one stay in the log. To make
    /// tables of one document is to write and sync one file for each of some 16 families.
    ///
    /// # Errors
    /// [`StoreError::Rocks`] when the disk refuses.
    pub fn flush_if_long(&mut self) -> Result<(), StoreError> {
        self.finish(true)
    }

    fn finish(&mut self, may_leave: bool) -> Result<(), StoreError> {
        self.refuse_exchanged()?;
        let finished = self.finish_files(may_leave);
        finished.map_err(|error| self.refuse_exchanged().err().unwrap_or(error))
    }

    fn finish_files(&mut self, may_leave: bool) -> Result<(), StoreError> {
        if self.bands.finish_ingest()? {
            self.refresh_view()?;
        }
        if !(may_leave && self.is_log_short()?) {
            self.write_tables()?;
            if self.bands.take_backlog() {
                self.wait_for_compactions()?;
            }
            self.bands.reclaim()?;
        }
        if let Some(mode) = self.mode_for_others {
            self.place.let_others_write(mode);
        }
        self.note_manifest()
    }

    /// Makes tables of what is in the log alone.
    pub(crate) fn write_tables(&self) -> Result<(), StoreError> {
        let mut families = Vec::new();
        for family in self.families {
            if let Some(handle) = self.db.cf_handle(family.name) {
                families.push(handle);
            }
        }
        let mut options = FlushOptions::default();
        options.set_wait(true);
        let handles: Vec<_> = families.iter().collect();
        let failed = |error| damaged_table(&self.db, self.families, error);
        self.db.flush_cfs_opt(&handles, &options).map_err(failed)
    }

    /// Whether a reader that opens the corpus replays its logs in a moment: they are few, and little beside the tables.
    pub(crate) fn is_log_short(&self) -> Result<bool, StoreError> {
        let logs = wal::ends(&self.place, wal::oldest_needed(&self.db)?)?;
        let bytes: u64 = logs.iter().map(|log| log.end).sum();
        let tables: u64 = self.view.disk_usage()?.iter().map(|(_, bytes)| bytes).sum();
        Ok(logs.len() <= LOGS && bytes <= REPLAY.min(tables / TABLES_TO_LOG))
    }

    fn note_manifest(&mut self) -> Result<(), StoreError> {
        let oldest = wal::oldest_needed(&self.db)?;
        self.note = ManifestNote::update(self.note, &self.place, oldest)?;
        Ok(())
    }

    /// Acknowledges a commit that was written and synced.
    pub(crate) fn acknowledge(&mut self, entry: JournalEntry) -> Result<(), StoreError> {
        self.journal.append(entry, wal::newest(&self.place)?)
    }

    /// Rewrites the files into their most compact form. What is stored stays the same, also after a stop.
    ///
    /// # Errors
    /// [`StoreError`] when the disk refuses; [`StoreError::Interrupted`] between two pieces of a family.
    pub fn compact(&mut self, context: &Context<'_>) -> Result<(), StoreError> {
        self.compact_files(context)?;
        // A compaction that meets a damaged block says nothing, but no commit succeeds after it.
        self.begin()?.commit(&CommitRecord::about("compact", ""))?;
        self.flush()
    }

    /// Rewrites the files of these families, and of all others with deleted rows but those of `numbers`: what was deleted
    /// from them, or replaced, is in no table and no log after it.
    ///
    /// # Errors
    /// [`StoreError::Held`] when this process shows an earlier moment, which the files are kept for; otherwise as
    /// [`StoreWriter::compact`].
    pub fn rewrite(
        &mut self,
        families: &[&'static str],
        numbers: &[&'static str],
        context: &Context<'_>,
    ) -> Result<(), StoreError> {
        self.flush()?;
        // Readers see only this moment from here on.
        self.refresh_view()?;
        let oldest = self.db.property_int_value("rocksdb.oldest-snapshot-sequence")?;
        if oldest.is_some_and(|oldest| oldest != 0 && oldest < self.db.latest_sequence_number()) {
            return Err(StoreError::Held);
        }
        let files = self.db.live_files()?;
        let has_deletions = |family: &&str| {
            let mut own = files.iter().filter(|file| file.column_family_name == **family);
            own.any(|file| file.num_deletions > 0)
        };
        let all = self.families.iter().map(|family| family.name);
        let families = all.filter(|family| {
            families.contains(family) || !numbers.contains(family) && has_deletions(family)
        });
        let compacted = compact(&self.db, families, PIECE, context);
        self.refresh_view()?;
        compacted
    }

    /// Removes RocksDB's log files of earlier openings.
    pub fn remove_old_reports(&self) {
        self.place().remove_old_reports();
    }

    /// Directories of dry runs, of openings and of backups: of processes that continue, since those of others were removed
    /// when this writer opened.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn living_copies(&self) -> Result<Vec<String>, StoreError> {
        let mut found = scratch::named(self.place(), scratch::DRY_RUN)?;
        found.extend(scratch::named(self.place(), scratch::LINKS)?);
        Ok(found)
    }

    /// What names the corpus, whatever is moved or copied; a restored one has its own.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn identity(&self) -> Result<String, StoreError> {
        self.place().identity()
    }

    /// Waits until RocksDB's own threads have nothing to do: a compaction is reported as done before the last of them
    /// removed the tables that it replaced.
    fn wait_for_compactions(&self) -> Result<(), StoreError> {
        let failed = |error| damaged_table(&self.db, self.families, error);
        self.db.wait_for_compact(&WaitForCompactOptions::default()).map_err(failed)
    }

    /// The tables of the database. Until the next commit, the directory has no others.
    ///
    /// # Errors
    /// [`StoreError::Rocks`].
    pub fn live_tables(&self) -> Result<Vec<LiveTable>, StoreError> {
        self.wait_for_compactions()?;
        let files = self.db.live_files()?.into_iter();
        let table = |file: LiveFile| LiveTable {
            path: format!("db{}", file.name),
            family: file.column_family_name,
            entries: file.num_entries,
            deletions: file.num_deletions,
            level: file.level,
        };
        Ok(files.map(table).collect())
    }

    /// Removes the checkpoints that migrations made beside the database; answers their names.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn remove_checkpoints(&self) -> Result<Vec<String>, StoreError> {
        self.place().remove_checkpoints()
    }
}

/// A table of the database.
#[derive(Clone, Debug)]
pub struct LiveTable {
    /// Its path within the directory of the corpus.
    pub path: String,
    /// The family whose rows it has.
    pub family: String,
    /// Its entries, with those that newer ones hide and the deletions.
    pub entries: u64,
    /// Its deletions.
    pub deletions: u64,
    /// Its level: tables of level 0 overlap, those of others overlap only tables of other levels.
    pub level: i32,
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        if let Some(mode) = self.mode_for_others {
            // No table comes behind the last look.
            self.db.cancel_all_background_work(true);
            self.place.let_others_write(mode);
        }
    }
}

pub(crate) fn synced() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(true);
    options
}

/// One thing at most.
#[derive(Clone, Default)]
pub(crate) struct CommitCarryOver(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl CommitCarryOver {
    pub(crate) fn replace(&self, kept: Option<Box<dyn Any + Send>>) -> Option<Box<dyn Any + Send>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *held, kept)
    }
}
