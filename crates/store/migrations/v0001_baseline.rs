//! Format 1: the first released layout. Its record types are frozen here, apart from the current ones.

use super::super::StoreError;
use super::MigrationStep;
use crate::database::family::handle_named;
use bincode::Encode;
use rocksdb::{DB, WriteBatch};

/// From an empty database to format 1.
pub const STEP: MigrationStep = MigrationStep { to: 1, apply };

#[derive(Encode, Default)]
struct StoreStateV1 {
    commit: u64,
    documents: u64,
    kept: u64,
    generation: u32,
    next_term: u32,
    next_source: u32,
    next_tokenizer: u16,
    next_dictionary: u16,
    next_epoch: u32,
    rejects: u64,
}

fn apply(db: &DB, rows: &mut WriteBatch) -> Result<(), StoreError> {
    let meta = handle_named(db, "meta")?;
    if db.get_pinned_cf(&meta, "state")?.is_none() {
        let first = StoreStateV1 { next_dictionary: 1, next_epoch: 1, ..StoreStateV1::default() };
        rows.put_cf(&meta, "state", super::super::record::encode("state", &first)?);
    }
    Ok(())
}
