//! A corpus to try an ingest on: hard links to the tables of the real one, removed at the end.

use crate::error::Error;
use crate::store;
use std::path::Path;

/// A throw-away twin of a corpus. It shares the tables' files, so making it is quick; what an
/// ingest adds takes room of its own until the twin is dropped. The corpus itself is not changed, nor
/// migrated: a corpus of an older format is migrated in the twin only. One whose process was killed is removed by
/// the next writer.
#[derive(Debug)]
pub struct DryRun {
    twin: store::Twin,
}

impl DryRun {
    /// Makes the twin inside the corpus directory. Needs the writer's lock while it is made.
    ///
    /// # Errors
    /// [`Error::Store`]: no corpus, another writer, or no room.
    pub fn begin(corpus: &Path) -> Result<Self, Error> {
        Ok(Self { twin: store::Twin::make(corpus)? })
    }

    /// The twin's directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.twin.path()
    }
}
