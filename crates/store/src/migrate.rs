//! The store format, and converting a corpus of the one before: a copy that takes the place of the old database.

#[path = "../migrations/mod.rs"]
mod migrations;

use crate::database::Database;
use crate::database::family::{StoreFamily, corrupt_row, damaged_family, family_handle};
use crate::database::tuning::MemoryBudget;
use crate::error::{DecodeError, StoreError};
use crate::files::directory::CorpusDirectory;
use crate::meta::{self, Meta};
use migrations::v0009;
use rocksdb::DB;
use std::sync::Arc;

pub(crate) use migrations::v0009::{FROM as CONVERTED, before, finish};

/// The format version this release writes.
#[must_use]
pub const fn current() -> u32 {
    9
}

/// Version of an open database; 0 when it was never written.
pub(crate) fn version(db: &DB) -> Result<u32, StoreError> {
    let family = family_handle::<Meta>(db)?;
    let damaged = |error| damaged_family(Meta::NAME, error);
    let Some(bytes) = db.get_pinned_cf(&family, "format").map_err(damaged)? else {
        return Ok(0);
    };
    meta::version(&bytes).map_err(|why| corrupt_row::<Meta>("format", b"format", why))
}

/// The last commit of a database of any format.
pub(crate) fn commit(db: &DB) -> Result<u64, StoreError> {
    Ok(extent(db)?.0)
}

/// The last commit of a database of any format, and how many documents it has.
pub(crate) fn extent(db: &DB) -> Result<(u64, u64), StoreError> {
    let family = family_handle::<Meta>(db)?;
    let damaged = |error| damaged_family(Meta::NAME, error);
    let Some(bytes) = db.get_pinned_cf(&family, "state").map_err(damaged)? else {
        return Ok((0, 0));
    };
    // In every format the record begins with its own format byte, the commit and the documents.
    let number = |from: usize| {
        let bytes = bytes.get(from..from + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u64::from_le_bytes).ok_or_else(|| {
            let why = DecodeError::at(0, "shorter than 17 bytes");
            corrupt_row::<Meta>("state", b"state", why)
        })
    };
    Ok((number(1)?, number(9)?))
}

/// The row of the format version.
pub(crate) fn format_row() -> Vec<u8> {
    let mut row = current().to_le_bytes().to_vec();
    row.extend_from_slice(env!("CARGO_PKG_VERSION").as_bytes());
    row
}

/// Converts a corpus of the format before, or goes on with that.
///
/// # Errors
/// [`StoreError`]: `refuse` refuses the old database, a row of it cannot be read, there is no room.
pub(crate) fn convert(
    place: CorpusDirectory,
    (memory, threads): (MemoryBudget, usize),
    refuse: impl FnOnce(&DB) -> Result<(), StoreError>,
) -> Result<CorpusDirectory, StoreError> {
    let old = Arc::new(Database::from(v0009::open_old(&place.database(), memory)?));
    refuse(&old)?;
    v0009::copy(&old, &v0009::making(&place), (memory, threads), v0009::CopyLimits::default())?;
    drop(old);
    v0009::mark(&place)?;
    finish(place)
}
