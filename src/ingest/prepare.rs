//! Records to documents-to-be: hashes, fingerprint, indexed values. Parallel; looks at nothing stored.

use super::produce::{Chunk, Piece};
use super::read::Item;
use crate::dedup::{Fingerprint, Fingerprinter};
use crate::model::{DedupMode, FieldDeclaration, Policy, Record, RecordKey, Reject};
use crate::store::{Indexed, indexed};
use rayon::prelude::*;
use std::os::unix::ffi::OsStrExt;

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
                        Ready::Document(Box::new(one(record, source, policy, fields, craft)))
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
    policy: &Policy,
    fields: &[FieldDeclaration],
    craft: &mut Fingerprinter,
) -> Prepared {
    let fingerprint = if policy.mode == DedupMode::Witness {
        craft.fingerprint(&record.text)
    } else {
        Fingerprint { tokens: 0, normalised: [0; 16], shingles: Vec::new(), sketch: None }
    };
    let raw = half(blake3::hash(record.text.as_bytes()));
    let content = content_hash(&raw, &record.metadata);
    Prepared {
        raw,
        content,
        identity: identity(&record, source, &content),
        fingerprint,
        chars: record.text.chars().count() as u64,
        indexed: indexed(&record.metadata, fields),
        record,
    }
}

fn half(hash: blake3::Hash) -> [u8; 16] {
    let [half @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = *hash.as_bytes();
    half
}

fn content_hash(raw: &[u8; 16], metadata: &str) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(raw);
    hasher.update(metadata.as_bytes());
    half(hasher.finalize())
}

/// A given key identifies a record within its source; without one, path, number and content do.
fn identity(record: &Record, source: &str, content: &[u8; 16]) -> [u8; 16] {
    let mut hasher = Parts::new(source);
    match &record.key {
        RecordKey::Given(key) => {
            hasher.part(b"key");
            hasher.part(key.as_bytes());
        }
        RecordKey::Position => {
            hasher.part(b"position");
            hasher.part(record.origin.path.as_os_str().as_bytes());
            hasher.part(&record.origin.number.to_le_bytes());
            hasher.part(content);
        }
    }
    hasher.end()
}

fn reject_identity(reject: &Reject, source: &str) -> [u8; 16] {
    let mut hasher = Parts::new(source);
    hasher.part(b"reject");
    hasher.part(reject.origin.path.as_os_str().as_bytes());
    hasher.part(&reject.origin.number.to_le_bytes());
    hasher.part(&reject.raw);
    hasher.end()
}

/// Hashes parts with their lengths, so that no two lists of parts run together.
struct Parts(blake3::Hasher);

impl Parts {
    fn new(source: &str) -> Self {
        let mut parts = Self(blake3::Hasher::new());
        parts.part(source.as_bytes());
        parts
    }

    fn part(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn end(self) -> [u8; 16] {
        half(self.0.finalize())
    }
}
