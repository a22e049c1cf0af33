//! `Corpus`, the handle that users hold, and `CorpusWriter`, its one writer.
//!
//! They open the store, give views and commit, and know the store alone. What a verb of theirs does stands in the room
//! of that verb, and what takes several rooms in `workflow`.

mod backups;
#[cfg(feature = "generated")]
mod generated;
mod machine;
mod options;
mod outputs;
mod remote_backups;
mod shards;

pub use backups::Backups;
pub use options::CorpusOptions;
pub(crate) use outputs::shown_destination;
pub use shards::{Corpora, ShardError};
pub(crate) use shards::{mixed, parts, whole, wholes};

use model::{Context, Error, FieldKind, Policy, note_little_room};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use store::{
    self, DryRunCorpus, EpochRecord, OpenedJournal, RejectIter, SnapshotRecord, StoreWriter, View,
    WriterLock,
};

/// A corpus opened for reading: its last commit at the time of opening, also beside a writer.
pub struct Corpus {
    path: PathBuf,
    view: View,
    journal: Arc<OpenedJournal>,
    /// The further corpora that epochs draw from.
    others: Arc<[Corpus]>,
    /// All corpora, made when an epoch is first asked for.
    corpora: OnceLock<Corpora>,
    /// Bytes that caches and work in memory may take.
    memory: u64,
    /// Threads of a call whose context names none.
    threads: usize,
    /// A corpus that a writer gave out keeps the database open, so nobody else may write until it is dropped. Dropped
    /// last.
    _lock: Option<Arc<WriterLock>>,
}

impl Corpus {
    /// Makes a new corpus at `path`, which must be absent or an empty directory.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when the directory is in use, or a field's name is taken or
    /// malformed, or the
    /// keep order needs a field that is not declared as a number; [`Error`] when
    /// settings do not
    /// go together.
    pub fn init(
        path: impl AsRef<Path>,
        policy: &Policy,
        declared: &[(String, FieldKind)],
    ) -> Result<(), Error> {
        policy.check()?;
        let fields = store::declare_fields(declared)?;
        store::check_keep_order(&policy.keep, &fields)?;
        Ok(store::create(path.as_ref(), policy, &fields)?)
    }

    /// How much of the machine a corpus may take, to be said before it is opened.
    pub fn options() -> CorpusOptions {
        CorpusOptions::default()
    }

    /// Opens the corpus at `path` for reading, as [`CorpusOptions::open`] does with all defaults.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError): no corpus, another format, lost commits, corruption.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::options().open(path)
    }

    /// The path of the corpus, as it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The state of the store that this corpus reads: that of its last commit when it was opened.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether nothing was committed since it was opened, and its folder still stands at its path: then opening it again
    /// would show the same. It goes on showing the folder that was opened, wherever that is by now. Reads the end of one
    /// file.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when that cannot be read.
    pub fn is_current(&self) -> Result<bool, Error> {
        Ok(self.journal.ends_with(&self.path, self.view.commit())?)
    }

    /// Whether the corpus's folder still stands at its path, and those of its further corpora at theirs; if not,
    /// another corpus is there.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when nobody can look.
    pub fn is_in_place(&self) -> Result<bool, Error> {
        for one in std::iter::once(self).chain(self.others.iter()) {
            if !one.journal.is_at(&one.path)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The journal at the time of opening.
    pub(crate) fn journal(&self) -> &OpenedJournal {
        &self.journal
    }

    /// Bytes of the journals of the corpora at these places. Every commit appends to one of them, so nothing was
    /// committed while their sum stays the same: the cheapest look that there is.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when a journal cannot be looked at.
    pub fn journal_bytes(paths: &[impl AsRef<Path>]) -> Result<u64, Error> {
        let mut bytes = 0_u64;
        for path in paths {
            bytes = bytes.saturating_add(store::journal_bytes(path.as_ref())?);
        }
        Ok(bytes)
    }

    /// The stored plans.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when they cannot be read.
    pub fn epochs(&self) -> Result<Vec<EpochRecord>, Error> {
        Ok(self.view.epochs()?)
    }

    /// The first `limit` records that could not be read, by source, path and number.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when rows cannot be read.
    pub fn rejects(&self, limit: usize) -> Result<RejectIter<'_>, Error> {
        Ok(self.view.rejects(limit)?)
    }

    /// One hash over what the corpus means; equal for equal input, however it was split or interrupted.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when a row cannot be read.
    pub fn digest(&self, context: &Context<'_>) -> Result<String, Error> {
        let answer = store::digest(&self.view, context)?;
        context.progress.end();
        Ok(answer)
    }

    /// The context of a call of this handle.
    pub(crate) fn within<'a>(&self, context: &Context<'a>) -> Context<'a> {
        context.within(self.memory, self.threads)
    }

    /// Bytes that caches and work in memory may take.
    pub(crate) const fn memory(&self) -> u64 {
        self.memory
    }
}

/// A corpus opened for writing. One process at a time; readers may continue.
pub struct CorpusWriter {
    path: PathBuf,
    writer: StoreWriter,
    journal: Arc<OpenedJournal>,
    /// The further corpora that epochs draw from.
    others: Arc<[Corpus]>,
    /// Bytes that caches and work in memory may take.
    memory: u64,
    /// Threads of a call whose context names none.
    threads: usize,
}

impl CorpusWriter {
    /// Opens the corpus at `path` for writing, as [`CorpusOptions::open_writer`] does with all defaults.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError): no corpus, a newer format, another writer, lost commits, corruption;
    /// [`Error`]: sketches that this release does not make.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Corpus::options().open_writer(path)
    }

    /// The corpus as it is committed now, to be read without a second opening. It shows this moment even when the
    /// writer writes on; call again for a later one. It keeps the database open: until it is dropped too, no other
    /// writer can be opened.
    #[must_use]
    pub fn corpus(&self) -> Corpus {
        let (path, view) = (self.path.clone(), self.view().clone());
        let Self { memory, threads, .. } = *self;
        let (journal, others) = (Arc::clone(&self.journal), Arc::clone(&self.others));
        let (corpora, lock) = (OnceLock::new(), Some(self.writer.lock()));
        Corpus { path, view, journal, others, corpora, memory, threads, _lock: lock }
    }

    /// The path of the corpus, as it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The last committed moment.
    #[must_use]
    pub fn view(&self) -> &View {
        self.writer.view()
    }

    /// Closes the database and opens it again, under the same lock: RocksDB then writes its list of files from scratch.
    /// After [`CorpusWriter::purge`] the old list may still have single keys and values of what was erased. No corpus
    /// that this writer gave out may be alive.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when it cannot be opened; then the lock is free.
    pub fn reopen(self) -> Result<Self, Error> {
        let Self { writer, threads, .. } = self;
        let writer = writer.reopen(threads)?;
        Ok(Self { writer, ..self })
    }

    /// A throw-away copy of what is committed, to try things on; this writer keeps its lock.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError): what the file system and RocksDB say.
    pub fn dry_run_copy(&mut self) -> Result<DryRunCorpus, Error> {
        Ok(self.writer.dry_run_copy()?)
    }

    /// Names this moment, durably.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when the name is taken or malformed.
    pub fn create_snapshot(&mut self, name: &str) -> Result<SnapshotRecord, Error> {
        Ok(self.store().create_snapshot(name)?)
    }

    /// Gives a snapshot another name.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when there is no such snapshot, a stored plan draws from it, or the
    /// new name is taken or
    /// malformed.
    pub fn rename_snapshot(&mut self, old: &str, new: &str) -> Result<SnapshotRecord, Error> {
        Ok(self.store().rename_snapshot(old, new)?)
    }

    /// Forgets a snapshot. No document is forgotten with it, and no token. Refused while stored plans draw from it,
    /// unless `force`: these pin their documents and give the same rows as before; a recipe that names the snapshot
    /// cannot be planned any more. Answers what it was, and the numbers of those plans; its name is not given again
    /// while there are any.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when there is no such snapshot, or plans draw from it.
    pub fn drop_snapshot(
        &mut self,
        name: &str,
        force: bool,
    ) -> Result<(SnapshotRecord, Vec<u32>), Error> {
        Ok(self.store().drop_snapshot(name, force)?)
    }

    /// Rewrites the files of the corpus into their most compact form. What is stored stays the same, also after an
    /// interrupt, which is heard between pieces of some 256 MiB of tables: those before stay compact.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when the disk refuses, or for an interrupt.
    pub fn compact(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let context = self.within(context);
        // The old tables of a family are deleted once the new ones exist.
        let largest = self.view().disk_usage()?.iter().map(|(_, bytes)| *bytes).max();
        note_little_room("compacting", &self.path, largest.unwrap_or(0), &context);
        Ok(self.store().compact(&context)?)
    }

    /// The context of a call of this handle.
    pub(crate) fn within<'a>(&self, context: &Context<'a>) -> Context<'a> {
        context.within(self.memory, self.threads)
    }

    /// Bytes that caches and work in memory may take.
    pub(crate) const fn memory(&self) -> u64 {
        self.memory
    }

    /// The store's writer, for a verb that has begun.
    pub(crate) const fn continuing(&mut self) -> &mut StoreWriter {
        &mut self.writer
    }

    /// The store's writer, for the beginning of a verb of this handle.
    pub(crate) const fn store(&mut self) -> &mut StoreWriter {
        self.writer.begin_verb();
        &mut self.writer
    }
}

impl std::fmt::Debug for Corpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Corpus")
            .field("path", &self.path)
            .field("commit", &self.view.commit())
            .finish()
    }
}

impl std::fmt::Debug for CorpusWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CorpusWriter").field("commit", &self.view().commit()).finish()
    }
}
