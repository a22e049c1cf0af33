//! Records to documents-to-be: hashes, fingerprint, indexed values. Parallel; looks at nothing stored.

use super::produce::{Chunk, Piece};
use super::read::Item;
use crate::dedup::{Fingerprint, Fingerprinter};
use crate::model::Reject;
use crate::model::{FieldDeclaration, Policy, Record, half, record_identity, reject_identity};
use crate::store::{Indexed, indexed};
use rayon::prelude::*;

/// A record with everything that is known of it alone.
pub(super) struct Prepared {
    pub(super) record: Record,
    pub(super) raw: [u8; 16],
    pub(super) content: [u8; 16],
    pub(super) identity: [u8; 16],
    pub(super) fingerprint: Fingerprint,
    pub(super) chars: u64,
    pub(super) indexed: Indexed,
}

pub(super) enum Ready {
    Document(Box<Prepared>),
    Reject(Reject, [u8; 16]),
}

/// A chunk with its items prepared; `pieces` and `items` run in parallel.
pub(super) struct PreparedChunk {
    pub(super) chunk: Chunk,
    pub(super) items: Vec<Vec<Ready>>,
}

/// Prepares every record of a chunk, in parallel.
pub(super) fn prepare(
    mut chunk: Chunk,
    source: &str,
    policy: &Policy,
    fields: &[FieldDeclaration],
) -> PreparedChunk {
    let items = chunk.pieces.iter_mut().map(|piece: &mut Piece| {
        std::mem::take(&mut piece.items)
            .into_par_iter()
            .with_min_len(8)
            .map_init(
                || Fingerprinter::new(policy),
                |craft, item| match item {
                    Item::Record(record) => {
                        Ready::Document(Box::new(one(record, source, fields, craft)))
                    }
                    Item::Reject(reject) => {
                        let identity = reject_identity(&reject, source);
                        Ready::Reject(reject, identity)
                    }
                },
            )
            .collect()
    });
    let items = items.collect();
    PreparedChunk { chunk, items }
}

fn one(
    record: Record,
    source: &str,
    fields: &[FieldDeclaration],
    craft: &mut Fingerprinter,
) -> Prepared {
    // In every mode: a later change of mind finds the sketches it needs.
    let fingerprint = craft.fingerprint(&record.text);
    let raw = half(&blake3::hash(record.text.as_bytes()));
    let content = content_hash(&raw, &record.metadata);
    Prepared {
        raw,
        content,
        identity: record_identity(&record, source, &content),
        fingerprint,
        chars: record.text.chars().count() as u64,
        indexed: indexed(&record.metadata, fields),
        record,
    }
}

fn content_hash(raw: &[u8; 16], metadata: &str) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(raw);
    hasher.update(metadata.as_bytes());
    half(&hasher.finalize())
}
