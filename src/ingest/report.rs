//! What an ingest did, in numbers.

use crate::decide::Counts;
use crate::model::Tally;
use serde::Serialize;
use std::collections::BTreeMap;

/// Seconds each stage was busy; stages overlap, so they add up to more than the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StageSeconds {
    /// Reading, decompressing, parsing.
    pub read: f64,
    /// Normalising, hashing, sketching.
    pub fingerprint: f64,
    /// Candidates, verification, standing.
    pub decide: f64,
    /// Token ids and compression of texts.
    pub encode: f64,
    /// Building and writing the batch, synced.
    pub commit: f64,
}

/// The report of an ingest. `added` counts stored documents, kept or removed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IngestReport {
    /// Always `ingest`.
    pub r#type: &'static str,
    /// The source.
    pub source: String,
    /// Records read, bad ones included.
    pub read: u64,
    /// Documents stored.
    pub added: u64,
    /// Of these, kept when they arrived.
    pub kept: u64,
    /// Of these, removed with raw bytes equal to a kept document's.
    pub exact_duplicates: u64,
    /// Of these, removed for similarity.
    pub near_duplicates: u64,
    /// Of these, without a single token.
    pub empty: u64,
    /// Records seen before with the same content, and those of files skipped unread.
    pub unchanged: u64,
    /// Of the added, those that superseded an earlier document of their key.
    pub updated: u64,
    /// Records set aside as unreadable and not known as such before.
    pub rejected: u64,
    /// Tokens encoded, by tokenizer.
    pub tokens: BTreeMap<String, u64>,
    /// Bytes of text read.
    pub bytes: u64,
    /// Wall time.
    pub seconds: f64,
    /// Commits made.
    pub commits: u64,
    /// The corpus's policy, in words.
    pub policy: String,
    /// Candidates, verifications and limits met.
    pub dedup: Counts,
    /// Where the time went.
    pub stages: StageSeconds,
    /// Nothing was changed: `--dry-run`.
    pub dry_run: bool,
}

impl IngestReport {
    pub(super) fn tally(&self, input_bytes: u64) -> Tally {
        Tally {
            input_bytes,
            records: self.read,
            kept: self.kept,
            duplicates: self.exact_duplicates + self.near_duplicates,
        }
    }
}
