//! Format 2: exact rows belong to a policy generation; families for removals and for band runs.

use super::super::StoreError;
use super::MigrationStep;
use crate::database::family::handle_named;
use rocksdb::{DB, IteratorMode, WriteBatch};

/// From format 1 to format 2. The new families are made when the database is opened.
pub const STEP: MigrationStep = MigrationStep { to: 2, apply };

/// Kind and hash: the key of format 1, which had one generation, number 0.
const OLD_KEY: usize = 17;
/// Rows rewritten at a time; a row that is rewritten already has a longer key.
const ROWS: usize = 1 << 16;

#[expect(
    clippy::disallowed_methods,
    reason = "the last item carries the iterator's status: a damaged block is an error here"
)]
fn apply(db: &DB, _: &mut WriteBatch) -> Result<(), StoreError> {
    let exact = handle_named(db, "exact")?;
    let mut rows = WriteBatch::default();
    for row in db.iterator_cf(&exact, IteratorMode::Start) {
        let (key, value) = row?;
        if key.len() != OLD_KEY {
            continue;
        }
        let mut under = vec![0_u8; 4];
        under.extend_from_slice(&key);
        rows.put_cf(&exact, under, value);
        rows.delete_cf(&exact, key);
        if rows.len() >= ROWS {
            db.write(std::mem::take(&mut rows))?;
        }
    }
    db.write(rows)?;
    Ok(())
}
