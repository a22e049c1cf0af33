//! Identity of records: the hashes under which a later ingest recognises them.
//!
//! A record whose only change is a field is a new document, also where the field is declared: one hash is over its text
//! and all its original metadata, and which field changed cannot be found, since `field set` may have changed the
//! stored ones meanwhile. A change in place would make ids depend on the fields declared when a crawl is ingested
//! again, and would rewrite headers, which nothing else does.

use super::record::{ReadRecord, RecordKey, Reject};
use std::os::unix::ffi::OsStrExt;

/// The first 128 bits of a hash.
#[must_use]
pub fn hash128(hash: &blake3::Hash) -> [u8; 16] {
    let [half @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = *hash.as_bytes();
    half
}

/// Hash of the raw bytes of a text: equal for equal texts, and for no others.
#[must_use]
pub fn text_hash(text: &str) -> [u8; 16] {
    hash128(&blake3::hash(text.as_bytes()))
}

/// The first 64 bits of the hash of a text: they order texts, and find the hashes that are worth comparing.
#[must_use]
pub const fn hash64(hash: &[u8; 16]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *hash;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// Identity of the records of `source` with this key.
#[must_use]
pub fn key_identity(source: &str, key: &str) -> [u8; 16] {
    let mut hasher = IdentityParts::new(source);
    hasher.part(b"key");
    hasher.part(key.as_bytes());
    hasher.end()
}

/// A given key identifies a record within its source; without one, path, number and content do.
#[must_use]
pub fn record_identity(record: &ReadRecord, source: &str, content: &[u8; 16]) -> [u8; 16] {
    let RecordKey::Given(key) = &record.key else {
        let path = record.origin.path.as_os_str().as_bytes();
        return position_identity(source, path, record.origin.number, content);
    };
    key_identity(source, key)
}

/// Identity of a record of `source` that no key was given for: record `number` of that file, with that content.
#[must_use]
pub fn position_identity(source: &str, path: &[u8], number: u64, content: &[u8; 16]) -> [u8; 16] {
    let mut hasher = IdentityParts::new(source);
    hasher.part(b"position");
    hasher.part(path);
    hasher.part(&number.to_le_bytes());
    hasher.part(content);
    hasher.end()
}

/// Identity of a record that could not be read.
#[must_use]
pub fn reject_identity(reject: &Reject, source: &str) -> [u8; 16] {
    let path = reject.origin.path.as_os_str().as_bytes();
    reject_identity_at(source, path, reject.origin.number, &reject.raw)
}

/// Identity of a record of `source` that could not be read: record `number` of that file, with as much of its raw bytes
/// as is kept.
#[must_use]
pub fn reject_identity_at(source: &str, path: &[u8], number: u64, raw: &[u8]) -> [u8; 16] {
    let mut hasher = IdentityParts::new(source);
    hasher.part(b"reject");
    hasher.part(path);
    hasher.part(&number.to_le_bytes());
    hasher.part(raw);
    hasher.end()
}

/// Hashes parts with their lengths, so that no two lists of parts run together.
struct IdentityParts(blake3::Hasher);

impl IdentityParts {
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
        hash128(&self.0.finalize())
    }
}
