//! The family `removals`: documents that commits removed, restored or purged, traces of purged ones, a pending purge.
//!
//! A trace is what is left to know of a purged document: the hashes by which it is recognised.

use crate::batch::CommitBatch;
use crate::bytes::bitmap_block::{decode_treemap, put_treemap};
use crate::bytes::cursor::ByteCursor;
use crate::bytes::key::{RemovalKey, RemovalPart};
use crate::database::PinnedMoment;
use crate::database::family::store_family;
use crate::error::{DecodeError, StoreError};
use crate::view::View;
use model::{CommitSeq, DocId};
use roaring::RoaringTreemap;

const FORMAT: u8 = 1;
const HAS_IDENTITY: u8 = 1;

/// What is left to know of a purged document: hashes, by which nobody reads it and everybody recognises it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeTrace {
    /// Its id.
    pub document: DocId,
    /// blake3-128 of its text.
    pub raw: [u8; 16],
    /// blake3-128 of its source and key, if a key was given.
    pub identity: Option<[u8; 16]>,
    /// Runs of its bytes.
    pub runs: Vec<TraceRun>,
}

/// A run of bytes of a purged document, hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceRun {
    /// Its length in bytes.
    pub width: u8,
    /// What of the document it is of.
    pub of: TracePart,
    /// Its polynomial hash, which can be rolled over a file.
    pub rolled: u64,
    /// The first 8 bytes of its blake3, little-endian.
    pub hash: u64,
}

/// What of a document a run is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TracePart {
    /// Its text.
    Text = 0,
    /// Its key.
    Key = 1,
    /// Its token ids, as they are stored.
    Tokens = 2,
    /// Its other fields.
    Metadata = 3,
}

impl TracePart {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Text, Self::Key, Self::Tokens, Self::Metadata];
}

/// The stored form of traces.
pub(crate) fn encode_traces(traces: &[PurgeTrace]) -> Vec<u8> {
    let mut out = vec![FORMAT];
    for trace in traces {
        out.extend_from_slice(&trace.document.0.to_le_bytes());
        out.push(if trace.identity.is_some() { HAS_IDENTITY } else { 0 });
        out.extend_from_slice(&trace.raw);
        out.extend_from_slice(trace.identity.as_ref().map_or(&[], |identity| identity.as_slice()));
        let runs = u16::try_from(trace.runs.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&runs.to_le_bytes());
        for run in trace.runs.iter().take(runs.into()) {
            out.extend_from_slice(&[run.of as u8, run.width]);
            out.extend_from_slice(&run.rolled.to_le_bytes());
            out.extend_from_slice(&run.hash.to_le_bytes());
        }
    }
    out
}

fn decode_traces(bytes: &[u8]) -> Result<Vec<PurgeTrace>, DecodeError> {
    let mut cursor = ByteCursor::new(bytes);
    let format = cursor.u8()?;
    if format != FORMAT {
        return Err(DecodeError::at(0, format!("format {format} of traces, not {FORMAT}")));
    }
    let mut traces = Vec::new();
    while cursor.end().is_err() {
        let document = DocId(cursor.u64()?);
        let flags = cursor.u8()?;
        let raw = cursor.array()?;
        let identity = if flags & HAS_IDENTITY == 0 { None } else { Some(cursor.array()?) };
        let mut runs = Vec::new();
        for _ in 0..cursor.u16()? {
            let (at, of, width) = (cursor.offset(), cursor.u8()?, cursor.u8()?);
            let of = TracePart::ALL.get(usize::from(of)).copied();
            let of = of.ok_or_else(|| DecodeError::at(at, "a run of nothing that is known"))?;
            runs.push(TraceRun { width, of, rolled: cursor.u64()?, hash: cursor.u64()? });
        }
        traces.push(PurgeTrace { document, raw, identity, runs });
    }
    Ok(traces)
}

fn decode_purge(commit: CommitSeq, bytes: &[u8]) -> Result<PendingPurge, DecodeError> {
    let (reach, bytes) = bytes.split_first().ok_or_else(|| DecodeError::at(0, "empty purge"))?;
    Ok(PendingPurge { commit, reach: *reach, documents: decode_treemap(bytes, 1)? })
}

store_family! {
    /// Which documents were removed, restored and purged by a commit. Written by these; read by queries and `purge`.
    Removals = "removals", Small,
    RemovalKey, "commit u64, part u8"
    => {
        /// The documents that a commit was about.
        RemovalDocuments = "removal", commit: CommitSeq [RemovalKey { commit, part: RemovalPart::Documents }]
        => RoaringTreemap, |_, bytes| decode_treemap(bytes, 0);
        /// What is left to know of those it purged.
        RemovalTraces = "trace", commit: CommitSeq [RemovalKey { commit, part: RemovalPart::Traces }]
        => Vec<PurgeTrace>, |_, bytes| decode_traces(bytes);
        /// A purge that has not ended.
        UnendedPurges = "purge", commit: CommitSeq [RemovalKey { commit, part: RemovalPart::Unended }]
        => PendingPurge, |commit, bytes| decode_purge(*commit, bytes);
    }
    "part 0: the documents it was about, roaring treemap; 1: what is left to know of those it purged, see below; 2, while a purge has not ended: u8 (what is blocked: 0 nothing, 1 equal texts and keys, 2 also normalised texts, 3 also similar ones), all its documents, roaring treemap"
}

/// A purge that was begun and has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingPurge {
    /// The commit that began it, whose record says why and when.
    pub commit: CommitSeq,
    /// What of it is kept from coming in again: 0 nothing, 1 equal texts and keys, 2 also what is equal when
    /// normalised, 3 also what is similar.
    pub reach: u8,
    /// All its documents.
    pub documents: RoaringTreemap,
}

impl PinnedMoment {
    /// The documents that were purged, by what is left to know of them.
    pub(crate) fn purged_documents(&self) -> Result<RoaringTreemap, StoreError> {
        let mut purged = RoaringTreemap::new();
        for traces in self.scan::<RemovalTraces>(&[], None)?.filter_map(|_, traces| Some(traces)) {
            purged.extend(traces?.iter().map(|trace| trace.document.0));
        }
        Ok(purged)
    }
}

impl View {
    /// The commits that removed, restored or purged documents, oldest first, each with these. Removals before format 6
    /// are not among them.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub fn removals(
        &self,
    ) -> Result<
        impl Iterator<Item = Result<(CommitSeq, RoaringTreemap), StoreError>> + use<'_>,
        StoreError,
    > {
        let rows = self.pinned().scan::<RemovalDocuments>(&[], None)?;
        Ok(rows.filter_map(|commit, documents| Some((commit, documents))))
    }

    /// Documents that ingests brought which were undone, and not brought back since: their records are unknown to later
    /// ingests.
    #[doc(hidden)]
    pub fn undone(&self) -> Result<RoaringTreemap, StoreError> {
        let mut undone = RoaringTreemap::new();
        for row in self.removals()? {
            let (commit, documents) = row?;
            match self.commit_record(commit)?.map(|record| record.kind).as_deref() {
                Some("undo") => undone |= documents,
                Some("restore") => undone -= documents,
                _ => {}
            }
        }
        Ok(undone)
    }

    /// The traces of purged documents, one commit after the other.
    #[doc(hidden)]
    pub fn traces(
        &self,
    ) -> Result<
        impl Iterator<Item = Result<(CommitSeq, Vec<PurgeTrace>), StoreError>> + use<'_>,
        StoreError,
    > {
        let rows = self.pinned().scan::<RemovalTraces>(&[], None)?;
        Ok(rows.filter_map(|commit, traces| Some((commit, traces))))
    }

    /// A purge that was begun and has not ended: the oldest one.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn unended_purge(&self) -> Result<Option<PendingPurge>, StoreError> {
        let rows = self.pinned().scan::<UnendedPurges>(&[], None)?;
        rows.filter_map(|_, purge| Some(purge)).next().transpose()
    }

    /// The documents that a commit removed, restored or purged.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn removed_by(&self, commit: CommitSeq) -> Result<Option<RoaringTreemap>, StoreError> {
        self.pinned().read::<RemovalDocuments, _>(&commit)
    }
}

impl CommitBatch<'_> {
    /// Stores which documents this commit removes, restores or purges.
    ///
    /// # Errors
    /// [`StoreError`] when the bitmap cannot be written.
    pub fn put_removal(
        &mut self,
        documents: impl IntoIterator<Item = DocId>,
    ) -> Result<(), StoreError> {
        let documents: RoaringTreemap = documents.into_iter().map(|document| document.0).collect();
        let bytes = put_treemap(&documents, Vec::new())?;
        self.put::<Removals>(&self.removal(RemovalPart::Documents), &bytes)
    }

    /// Stores what is left to know of the documents that this commit purges.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn put_traces(&mut self, traces: &[PurgeTrace]) -> Result<(), StoreError> {
        self.put::<Removals>(&self.removal(RemovalPart::Traces), &encode_traces(traces))
    }

    /// Stores that this commit begins a purge of these documents.
    ///
    /// # Errors
    /// [`StoreError`] when the bitmap cannot be written.
    pub fn begin_purge(&mut self, documents: &RoaringTreemap, reach: u8) -> Result<(), StoreError> {
        let bytes = put_treemap(documents, vec![reach])?;
        self.put::<Removals>(&self.removal(RemovalPart::Unended), &bytes)
    }

    /// The purge that `commit` began has ended.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn end_purge(&mut self, commit: CommitSeq) -> Result<(), StoreError> {
        self.delete::<Removals>(&RemovalKey { commit, part: RemovalPart::Unended })
    }

    /// A purge that has not ended continues with these documents of its own alone.
    ///
    /// # Errors
    /// [`StoreError`] when the bitmap cannot be written.
    pub fn go_on_with(&mut self, purge: &PendingPurge) -> Result<(), StoreError> {
        let key = RemovalKey { commit: purge.commit, part: RemovalPart::Unended };
        let bytes = put_treemap(&purge.documents, vec![purge.reach])?;
        self.put::<Removals>(&key, &bytes)
    }

    fn removal(&self, part: RemovalPart) -> RemovalKey {
        RemovalKey { commit: self.commit_seq(), part }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::family::RowKind;

    #[test]
    fn golden_bytes() {
        let run = TraceRun { width: 32, of: TracePart::Tokens, rolled: 258, hash: 3 };
        let trace = PurgeTrace {
            document: DocId(5),
            raw: [1; 16],
            identity: Some([2; 16]),
            runs: vec![run],
        };
        let mut expected = vec![1, 5, 0, 0, 0, 0, 0, 0, 0, 1];
        expected.extend([1; 16]);
        expected.extend([2; 16]);
        expected.extend([1, 0, 2, 32, 2, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(encode_traces(std::slice::from_ref(&trace)), expected);
        assert_eq!(decode_traces(&expected), Ok(vec![trace]));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_an_error_or_a_row(bytes: Vec<u8>, part in 0..3_usize) {
            let parts = [RemovalPart::Documents, RemovalPart::Traces, RemovalPart::Unended];
            let _ = Removals::decode(&RemovalKey { commit: CommitSeq(1), part: parts[part] }, &bytes);
        }
    }
}
