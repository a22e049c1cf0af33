//! One moment of the database's files, held by links while they are opened: a writer that deletes them takes
//! nothing away.

use crate::store::error::StoreError;
use crate::store::files::directory::CorpusDirectory;
use crate::store::files::grown::Grown;
use crate::store::files::scratch::Scratch;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// What directories of this kind are called.
pub(in crate::store) const KIND: &str = "opening";
/// Rounds after which it is given up: a manifest that changes during each of them.
const ROUNDS: usize = 64;

/// The links, removed when they are no longer needed: whoever has opened a file keeps it.
pub(in crate::store) struct Held(Scratch);

impl Held {
    /// Links the tables and logs and copies the manifest; none where links cannot be made, or when the
    /// manifest changes faster than that.
    pub(in crate::store) fn take(place: &CorpusDirectory) -> Option<Self> {
        let held = Self(Scratch::make(place, KIND).ok()?);
        held.fill(place).ok()?.then_some(held)
    }

    pub(in crate::store) fn path(&self) -> &Path {
        self.0.path()
    }

    fn fill(&self, place: &CorpusDirectory) -> Result<bool, StoreError> {
        for _ in 0..ROUNDS {
            let Some(before) = Grown::now(place) else { continue };
            self.link(place)?;
            // A file that the manifest names is deleted after the manifest has said so, never before: if it
            // said the same all the while, every file that it names has been linked.
            if Grown::now(place) == Some(before) && self.copy_manifest(place, before)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn link(&self, place: &CorpusDirectory) -> Result<(), StoreError> {
        let database = place.database();
        for entry in std::fs::read_dir(&database).map_err(StoreError::io("reading", &database))? {
            let entry = entry.map_err(StoreError::io("reading", &database))?;
            let name = entry.file_name();
            if !Path::new(&name).extension().is_some_and(|end| end == "sst" || end == "log") {
                continue;
            }
            let to = self.path().join(&name);
            match std::fs::hard_link(entry.path(), &to) {
                Err(error)
                    if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) =>
                {
                    return Err(StoreError::io("linking", &to)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Copies the manifest as long as it was; false when another has replaced it.
    fn copy_manifest(&self, place: &CorpusDirectory, found: Grown) -> Result<bool, StoreError> {
        let from = place.database().join(found.name());
        let file = match std::fs::File::open(&from) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(StoreError::io("opening", &from)(error)),
        };
        let mut bytes = Vec::new();
        file.take(found.length)
            .read_to_end(&mut bytes)
            .map_err(StoreError::io("reading", &from))?;
        for (name, bytes) in
            [(found.name(), bytes), ("CURRENT".to_owned(), format!("{}\n", found.name()).into())]
        {
            let to = self.path().join(name);
            std::fs::write(&to, bytes).map_err(StoreError::io("writing", &to))?;
        }
        Ok(true)
    }
}
