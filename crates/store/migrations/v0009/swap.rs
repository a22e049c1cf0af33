//! Puts the converted database into the place of the old one, and goes on where that was stopped.

use super::copy::open_made;
use crate::error::StoreError;
use crate::files::directory::{CorpusDirectory, write_whole};
use crate::files::held_folder::DATABASE;
use crate::files::journal::{Journal, JournalContents, JournalEntry};
use crate::files::wal;
use crate::migrate;
use model::{IoError, sync_directory};
use std::path::PathBuf;

/// Stands while the databases change places.
const MIGRATED: &str = "migrated";

/// The new database while it is made.
pub(crate) fn making(place: &CorpusDirectory) -> PathBuf {
    place.name().join("migrating-9")
}

/// The old database, when it has left its place.
pub(crate) fn before() -> &'static str {
    "before-format-9"
}

/// The new database is whole.
pub(crate) fn mark(place: &CorpusDirectory) -> Result<(), StoreError> {
    sync_directory(&making(place))?;
    write_whole(place.name(), MIGRATED, b"9\n")
}

/// Ends a swap that was begun; nothing where there is none. Each step may be the first that is left. Answers the corpus
/// as it stands then: the folder of the database is another one.
///
/// # Errors
/// [`StoreError::Io`].
pub(crate) fn finish(place: CorpusDirectory) -> Result<CorpusDirectory, StoreError> {
    let mark = place.name().join(MIGRATED);
    if !mark.exists() {
        return Ok(place);
    }
    // Not the folder that is held, which keeps its contents under another name.
    let (new, database) = (making(&place), place.name().join(DATABASE));
    if new.exists() {
        let aside = place.name().join(before());
        if !aside.exists() {
            std::fs::rename(&database, &aside).map_err(IoError::of("renaming", &database))?;
        }
        std::fs::rename(&new, &database).map_err(IoError::of("renaming", &new))?;
        sync_directory(place.name())?;
    }
    let place = CorpusDirectory::new(&place.root).hold()?;
    // What they say is of files of the old database.
    for path in [place.journal(), place.manifest_note(), place.band_filter()] {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(IoError::of("removing", &path)(error).into());
            }
            _ => {}
        }
    }
    let nothing = JournalContents::default();
    let (commit, documents) = migrate::extent(&open_made(&place.database())?)?;
    Journal::open(&place.journal(), &nothing)?
        .append(JournalEntry { commit, documents }, wal::newest(&place)?)?;
    place.write_format(migrate::current())?;
    std::fs::remove_file(&mark).map_err(IoError::of("removing", &mark))?;
    sync_directory(place.name())?;
    Ok(place)
}
