//! Runs the migration ladder: from the version found to the one this release writes.

#[path = "../migrations/mod.rs"]
mod migrations;

use crate::bytes::record;
use crate::database::family::{StoreFamily, corrupt_row, damaged_family, family_handle};
use crate::error::{DecodeError, StoreError};
use crate::meta::{self, Meta};
use migrations::STEPS;
use rocksdb::{DB, WriteBatch, WriteOptions};

/// The format version this release writes.
#[must_use]
pub fn current() -> u32 {
    STEPS.last().map_or(0, |step| step.to)
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

/// Runs every step above the version found; each is one synced batch that also raises the version.
pub(crate) fn run_migrations(db: &DB) -> Result<(), StoreError> {
    let found = version(db)?;
    for step in STEPS.iter().filter(|step| step.to > found) {
        let mut rows = WriteBatch::default();
        (step.apply)(db, &mut rows)?;
        let mut format = step.to.to_le_bytes().to_vec();
        format.extend_from_slice(env!("CARGO_PKG_VERSION").as_bytes());
        rows.put_cf(&family_handle::<Meta>(db)?, "format", format);
        let mut options = WriteOptions::default();
        options.set_sync(true);
        db.write_opt(rows, &options)?;
    }
    Ok(())
}
