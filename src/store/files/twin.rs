//! A twin of a corpus, to try things on: the tables are shared by hard links, the rest is copied. The corpus
//! itself is not opened, so nothing in it changes, not even its format.

use crate::store::error::StoreError;
use crate::store::files::directory::CorpusDirectory;
use crate::store::files::grown::refuse_shorter;
use crate::store::files::scratch::{Scratch, sweep};
use std::path::Path;

/// What directories of this kind are called.
pub(in crate::store) const KIND: &str = "dry-run";

/// A throw-away twin of a corpus. It shares the tables' files, so making it is quick; what an
/// ingest adds takes room of its own until the twin is dropped. The corpus itself is not changed, nor
/// migrated: a corpus of an older format is migrated in the twin only. One whose process was killed is removed by
/// the next writer.
#[derive(Debug)]
pub struct Twin {
    scratch: Scratch,
}

impl Twin {
    /// Makes the twin of a corpus of format `supported` or an older one.
    pub(in crate::store) fn of(corpus: &Path, supported: u32) -> Result<Self, StoreError> {
        let place = CorpusDirectory::new(corpus);
        place.read_format(supported)?;
        // Who has the lock is alone: no file changes while it is copied.
        let _lock = place.lock()?;
        sweep(&place, &[crate::store::files::held::KIND, KIND]);
        refuse_shorter(&place)?;
        let twin = Self { scratch: Scratch::make(&place, KIND)? };
        let target = CorpusDirectory::new(twin.path());
        std::fs::create_dir(target.database())
            .map_err(StoreError::io("creating", &target.database()))?;
        share(&place.database(), &target.database())?;
        for (from, to) in [
            (place.journal(), target.journal()),
            (place.manifest_note(), target.manifest_note()),
            (place.band_filter(), target.band_filter()),
            (place.format(), target.format()),
        ] {
            if from.exists() {
                std::fs::copy(&from, &to).map_err(StoreError::io("copying", &from))?;
            }
        }
        Ok(twin)
    }

    /// The twin's directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.scratch.path()
    }
}

/// Links the tables, which never change; copies what does.
fn share(from: &Path, to: &Path) -> Result<(), StoreError> {
    for entry in std::fs::read_dir(from).map_err(StoreError::io("reading", from))? {
        let entry = entry.map_err(StoreError::io("reading", from))?;
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
        done.map_err(StoreError::io("copying", &path))?;
    }
    Ok(())
}
