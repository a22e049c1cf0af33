//! Format 8: what people decided about items of suites and texts, in a family of its own.

use super::super::StoreError;
use super::MigrationStep;
use rocksdb::{DB, WriteBatch};

/// From format 7 to format 8. The new family is made when the database is opened; nothing was decided before.
pub const STEP: MigrationStep = MigrationStep { to: 8, apply };

fn apply(_: &DB, _: &mut WriteBatch) -> Result<(), StoreError> {
    Ok(())
}
