//! Format 2: the family `band_runs`. Opening makes it; it begins empty.

use super::super::StoreError;
use super::Step;
use rocksdb::{DB, WriteBatch};

/// From format 1 to format 2.
pub const STEP: Step = Step { to: 2, apply };

fn apply(db: &DB, _rows: &mut WriteBatch) -> Result<(), StoreError> {
    let missing =
        StoreError::Missing { what: "column family", family: "band_runs", key: String::new() };
    db.cf_handle("band_runs").map(drop).ok_or(missing)
}
