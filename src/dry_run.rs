//! A corpus to try an ingest on: hard links to the tables of the real one, removed at the end.

use crate::error::Error;
use crate::store;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A throw-away twin of a corpus. It shares the tables' files, so making it is quick; what an
/// ingest adds takes room of its own until the twin is dropped.
#[derive(Debug)]
pub struct DryRun {
    path: PathBuf,
}

impl DryRun {
    /// Makes the twin inside the corpus directory. Needs the writer's lock while it is made.
    ///
    /// # Errors
    /// [`Error::Store`]: no corpus, another writer, or no room.
    pub fn begin(corpus: &Path, memory: u64) -> Result<Self, Error> {
        static TWINS: AtomicU32 = AtomicU32::new(0);
        let number = TWINS.fetch_add(1, Ordering::Relaxed);
        let path = corpus.join(format!("dry-run-{}-{number}", std::process::id()));
        let twin = Self { path };
        store::twin(corpus, &twin.path, store::Memory::within(memory))?;
        Ok(twin)
    }

    /// The twin's directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for DryRun {
    fn drop(&mut self) {
        // Nothing of the corpus is in it; what cannot be removed now does no harm.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
