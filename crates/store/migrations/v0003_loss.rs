//! Format 3: a family for what of a document is trained on.

use super::super::StoreError;
use super::MigrationStep;
use rocksdb::{DB, WriteBatch};

/// From format 2 to format 3. The new family is made when the database is opened; stored documents
/// have no row in it, which says what was true of them: all of their tokens are trained on.
pub const STEP: MigrationStep = MigrationStep { to: 3, apply };

fn apply(_: &DB, _: &mut WriteBatch) -> Result<(), StoreError> {
    Ok(())
}
