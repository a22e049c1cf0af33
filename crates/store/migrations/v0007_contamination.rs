//! Format 7: suites of evaluation items, and what stored texts have of them, in families of their own.

use super::super::StoreError;
use super::MigrationStep;
use rocksdb::{DB, WriteBatch};

/// From format 6 to format 7. The new families are made when the database is opened; a corpus without suites has no row
/// of them.
pub const STEP: MigrationStep = MigrationStep { to: 7, apply };

fn apply(_: &DB, _: &mut WriteBatch) -> Result<(), StoreError> {
    Ok(())
}
