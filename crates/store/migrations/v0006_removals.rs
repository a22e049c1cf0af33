//! Format 6: commits say why, of what and when documents were removed; a family has which ones; snapshots count what was
//! purged of them.

use super::super::{StoreError, record};
use super::MigrationStep;
use crate::database::family::{StoreFamily, corrupt_row, family_handle};
use crate::error::DecodeError;
use crate::records::commits::Commits;
use crate::records::snapshots::Snapshots;
use bincode::{Decode, Encode};
use rocksdb::{DB, IteratorMode, WriteBatch};

/// From format 5 to format 6. The new family is made when the database is opened: of earlier removals it has no row.
pub const STEP: MigrationStep = MigrationStep { to: 6, apply };

#[derive(Decode, Encode)]
struct CommitRecordV5 {
    kind: String,
    subject: String,
    first: u64,
    added: u64,
    kept: u64,
    changed: u64,
    rejected: u64,
}

#[derive(Encode)]
struct CommitRecordV6 {
    old: CommitRecordV5,
    reason: Option<String>,
    condition: Option<String>,
    time: Option<i64>,
}

#[derive(Decode, Encode)]
struct SnapshotRecordV5 {
    name: String,
    commit: u64,
    generation: u32,
    documents: u64,
    kept: u64,
    kept_hash: [u8; 32],
}

#[derive(Encode)]
struct SnapshotRecordV6 {
    old: SnapshotRecordV5,
    purged: u64,
}

fn apply(db: &DB, rows: &mut WriteBatch) -> Result<(), StoreError> {
    rewrite::<Commits>(db, rows, |value| {
        let old = record::decode(value)?;
        Ok(record::encode(
            "commit",
            &CommitRecordV6 { old, reason: None, condition: None, time: None },
        ))
    })?;
    rewrite::<Snapshots>(db, rows, |value| {
        Ok(record::encode("snapshot", &SnapshotRecordV6 { old: record::decode(value)?, purged: 0 }))
    })
}

/// Writes every record of a family again; what stands beside records, behind a zero byte, stays.
#[expect(
    clippy::disallowed_methods,
    reason = "the last item carries the iterator's status: a damaged block is an error here"
)]
fn rewrite<C: StoreFamily>(
    db: &DB,
    rows: &mut WriteBatch,
    anew: impl Fn(&[u8]) -> Result<Result<Vec<u8>, StoreError>, DecodeError>,
) -> Result<(), StoreError> {
    let family = family_handle::<C>(db)?;
    for row in db.iterator_cf(&family, IteratorMode::Start) {
        let (key, value) = row?;
        let is_beside = C::NAME == Snapshots::NAME && key.contains(&0);
        if !is_beside {
            let value = anew(&value).map_err(|why| corrupt_row::<C>("record", &key, why))?;
            rows.put_cf(&family, &key, value?);
        }
    }
    Ok(())
}
