//! Options for opening a corpus: memory and threads.

use super::machine;
use super::{Corpus, CorpusWriter};
use model::Error;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use store::{self, MemoryBudget, OpenedJournal, StoreWriter};

/// What an opened corpus may take of the machine; [`Corpus::options`] begins with the defaults.
///
/// ```
/// # use corpusdb::{Corpus, DedupMode, Policy};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("corpus");
/// # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
/// let corpus = Corpus::options().memory(256 << 20).threads(2).open(&path)?;
/// assert_eq!(corpus.count(None)?, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct CorpusOptions {
    memory: Option<u64>,
    threads: Option<usize>,
}

impl CorpusOptions {
    /// About how many bytes caches and work in memory may take together. By default a quarter of the memory that there
    /// is: the machine's, or the limit of the control group (of a container) that the process runs in, where that is
    /// less.
    pub const fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// How many threads fingerprint, encode and export, and flush, compact and load in the background of a writer.
    /// By default one a core that the process may run on, by its affinity and the quota of its control group.
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Opens the corpus at `path` for reading: its last commit, also beside a writer. Every table of it is held open,
    /// one file for some 64 MB, so the process's limit of open files is raised towards its hard limit.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError): no corpus, another format, lost commits, corruption.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Corpus, Error> {
        let (path, memory) = (path.as_ref(), self.memory_bytes());
        let journal = Arc::new(OpenedJournal::hold(path));
        let view = store::read(path, self.claim())?;
        let (path, others, threads) = (path.to_path_buf(), Arc::default(), self.thread_count());
        let corpora = OnceLock::new();
        Ok(Corpus { path, view, journal, others, corpora, memory, threads, _lock: None })
    }

    /// As [`CorpusOptions::open`], with further corpora at `shards`, which share the memory: see
    /// [`Corpus::with_shards`].
    ///
    /// # Errors
    /// As [`CorpusOptions::open`] and [`Corpus::with_shards`].
    pub fn open_with(
        self,
        path: impl AsRef<Path>,
        shards: &[impl AsRef<Path>],
    ) -> Result<Corpus, Error> {
        let each = self.among(shards.len());
        each.open(path)?.with_shards(each.open_all(shards)?)
    }

    /// Opens the corpus at `path` for writing. One process at a time; readers may continue. The limit of open files is
    /// raised as by [`CorpusOptions::open`].
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError): no corpus, a newer format, another writer, lost commits, corruption;
    /// [`Error`]: sketches that this release does not make.
    pub fn open_writer(self, path: impl AsRef<Path>) -> Result<CorpusWriter, Error> {
        let (path, memory, threads) = (path.as_ref(), self.memory_bytes(), self.thread_count());
        let journal = Arc::new(OpenedJournal::hold(path));
        let writer = StoreWriter::open(path, self.claim(), threads)?;
        // Sketches of two versions must not come into one corpus.
        writer.view().policy().check()?;
        Ok(CorpusWriter {
            path: path.to_path_buf(),
            writer,
            journal,
            others: Arc::default(),
            memory,
            threads,
        })
    }

    /// As [`CorpusOptions::open_writer`], with further corpora at `shards`, which are read only and share the memory:
    /// see [`CorpusWriter::with_shards`].
    ///
    /// # Errors
    /// As [`CorpusOptions::open_writer`] and [`CorpusWriter::with_shards`].
    pub fn open_writer_with(
        self,
        path: impl AsRef<Path>,
        shards: &[impl AsRef<Path>],
    ) -> Result<CorpusWriter, Error> {
        let each = self.among(shards.len());
        // An unreadable corpus is an error at once, before waiting for another writer.
        let others = each.open_all(shards)?;
        each.open_writer(path)?.with_shards(others)
    }

    /// Opens several corpora for reading, each with these options.
    ///
    /// # Errors
    /// As [`CorpusOptions::open`].
    pub fn open_all(self, paths: &[impl AsRef<Path>]) -> Result<Vec<Corpus>, Error> {
        paths.iter().map(|path| self.open(path)).collect()
    }

    /// The options for each of several corpora that share the memory: one, and `others` more.
    pub fn among(mut self, others: usize) -> Self {
        if others > 0 {
            self.memory = Some(self.memory_bytes() / (others as u64 + 1));
        }
        self
    }

    /// The bytes that a corpus opened with these options may take.
    #[must_use]
    pub fn memory_bytes(self) -> u64 {
        self.memory.unwrap_or_else(|| machine::memory_within(Path::new("/")) / 4)
    }

    /// The threads that a corpus opened with these options may use.
    #[must_use]
    pub fn thread_count(self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.filter(|threads| *threads > 0).unwrap_or_else(cores)
    }

    /// The memory of the store, after room for open files is made. Whatever opens a corpus asks for it.
    pub(crate) fn claim(self) -> MemoryBudget {
        machine::raise_open_files();
        MemoryBudget::within(self.memory_bytes())
    }
}
