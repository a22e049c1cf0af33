//! Format 4: a tokenizer's record says which library its ids are equal to and what it was made of.

use super::super::{StoreError, record};
use super::MigrationStep;
use crate::database::family::{corrupt_row, handle_named};
use crate::records::tokenizers::Tokenizers;
use bincode::{Decode, Encode};
use rocksdb::{DB, IteratorMode, WriteBatch};

/// From format 3 to format 4. Every release before it had one reference library.
pub const STEP: MigrationStep = MigrationStep { to: 4, apply };

const REFERENCE: &str = "tokenizers 0.23.2";
/// What the fast encoder of these releases is called now.
const FAST: &str = "fast, tokenizers 1.0.0-rc.3";
/// Tokenizer and part.
const KEY: usize = 3;

#[derive(Decode, Encode)]
struct TokenizerRecordV3 {
    name: String,
    hash: [u8; 32],
    vocab_size: u32,
    lineage: String,
    backend: String,
    encoded_to: u64,
}

#[derive(Encode)]
struct TokenizerRecordV4 {
    old: TokenizerRecordV3,
    reference: String,
    base: Option<u16>,
    originals: Vec<(String, [u8; 32])>,
    dropped: bool,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the last item carries the iterator's status: a damaged block is an error here"
)]
fn apply(db: &DB, rows: &mut WriteBatch) -> Result<(), StoreError> {
    let tokenizers = handle_named(db, "tokenizers")?;
    for row in db.iterator_cf(&tokenizers, IteratorMode::Start) {
        let (key, value) = row?;
        if key.len() != KEY || key.last() != Some(&0) {
            continue;
        }
        let mut old: TokenizerRecordV3 = record::decode(&value)
            .map_err(|why| corrupt_row::<Tokenizers>("tokenizer", &key, why))?;
        if old.backend == "fast" {
            old.backend = FAST.to_owned();
        }
        let reference = REFERENCE.to_owned();
        let new =
            TokenizerRecordV4 { old, reference, base: None, originals: Vec::new(), dropped: false };
        rows.put_cf(&tokenizers, &key, record::encode("tokenizer", &new)?);
    }
    Ok(())
}
