//! Undoes an ingest, and takes that back.
//!
//! The documents of the ingest are removed, what they superseded is readmitted, and the next ingest does not know their
//! records and files.
//!
//! An ingest needs more than the verbs there are: commits of the kind `undo` remove its documents and readmit what they
//! superseded; rows of `keys` lead to that or go; its files are overtaken by file 0, so that the next ingest reads them
//! as it reads one that another file overtook. What no row tells afterwards is noted with the commit.

use super::erase::identity_of;
use super::remove::{CHUNK, ChunkedChange, KeptChanges, RemovalReport};
use crate::decide::{Blocklist, DecisionSession, LoadedTokenizer};
use model::{CommitSeq, Context, DocId, Error, MatchKind, Standing};
use roaring::RoaringTreemap;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use store::{CommitBatch, CommitRecord, StoreWriter, View};

/// Documents of an ingest whose predecessors are looked up at once: one passage through all matches.
const WINDOW: usize = 1 << 20;

/// The note of commits that bring documents of an ingest back: to undo these commits is to undo the ingest.
pub(super) const INGEST: &str = "ingest";

/// Takes the documents of an ingest out: nothing is blocked for their sake, what they superseded comes back, and files
/// of theirs count as unread. Answers how many files these are, too. The same call continues after a stop.
///
/// # Errors
/// [`Error`]; earlier commits stay.
pub(crate) fn undo_ingest(
    writer: &mut StoreWriter,
    tokenizers: &[LoadedTokenizer],
    own: &RoaringTreemap,
    record: &CommitRecord,
    context: &Context<'_>,
) -> Result<(RemovalReport, u64), Error> {
    let left = own - writer.view().documents_standing(Standing::Removed)?;
    let mut report = RemovalReport { selected: own.len(), ..RemovalReport::default() };
    report.unchanged = own.len() - left.len();
    let (mut files, mut kept) = (0, KeptChanges::default());
    let mut ids = left.iter();
    loop {
        let window: RoaringTreemap = ids.by_ref().take(WINDOW).collect();
        let (Some(first), Some(last)) = (window.min(), window.max()) else { break };
        let superseded = superseded_by(writer.view(), own, first..last + 1)?;
        let (documents, before) = (&window, None);
        let of = ChunkedChange { documents, size: CHUNK, record, before, tokenizers, context };
        of.decide(writer, &mut report, &mut kept, |batch, session, chunk, _, _| {
            batch.put_removal(chunk.iter().copied())?;
            take_out(batch, session, chunk, &superseded)?;
            files += forget_files(batch, chunk, &record.subject)?;
            Ok(chunk.len() as u64)
        })?;
    }
    Ok((report, files))
}

/// The older documents that documents of a range superseded and that did not come with them: pairs of successor and
/// older one, ascending.
fn superseded_by(
    view: &View,
    own: &RoaringTreemap,
    range: Range<u64>,
) -> Result<Vec<(DocId, DocId)>, Error> {
    let mut found = Vec::new();
    for row in view.matched()? {
        let (old, _, by) = row?;
        if by.kind == MatchKind::Superseded && range.contains(&by.witness.0) && !own.contains(old.0)
        {
            found.push((by.witness, old));
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn take_out(
    batch: &mut CommitBatch<'_>,
    session: &mut DecisionSession,
    chunk: &[DocId],
    superseded: &[(DocId, DocId)],
) -> Result<(), Error> {
    let view = batch.view().clone();
    let mut back = Vec::new();
    for document in chunk {
        session.exclude(*document, Standing::Removed)?;
        let identity = identity_of(&view, *document)?;
        batch.forget_identity(identity, *document)?;
        let first = superseded.partition_point(|(successor, _)| successor < document);
        let own = superseded.iter().skip(first).take_while(|(by, _)| by == document);
        for (_, old) in own {
            let standing = view.standing(*old)?;
            if standing == Standing::Purged {
                continue;
            }
            session.forget_successor(*old)?;
            batch.put_identity(identity_of(&view, *old)?, *old);
            if standing != Standing::Removed {
                back.push(*old);
            }
        }
    }
    let (blocklist, _) = Blocklist::new(&view)?.lift(&[])?.readmit(session, back)?;
    blocklist.write(batch)
}

/// The files of documents count as unread, in their sources and in that of their ingest. Answers how many did not.
fn forget_files(batch: &mut CommitBatch<'_>, chunk: &[DocId], ingest: &str) -> Result<u64, Error> {
    let view = batch.view().clone();
    let ingest = view.source_named(ingest).map(|(source, _)| source);
    let mut files = BTreeSet::new();
    for document in chunk {
        let place = view.place(*document)?;
        files.insert((place.source, place.file));
    }
    let mut paths = BTreeSet::new();
    for (source, file) in files {
        let Some(path) = view.file_bytes(source, file)? else { continue };
        for source in [Some(source), ingest].into_iter().flatten() {
            if batch.forget_reading(source, &path)? {
                paths.insert(path.clone());
            }
        }
    }
    Ok(paths.len() as u64)
}

/// Brings the documents of an undone ingest back: they supersede again what they superseded. Files that count as unread
/// stay so: the next ingest reads them, and knows their records. The same call continues after a stop.
///
/// # Errors
/// [`Error`]; earlier commits stay.
pub(crate) fn redo_ingest(
    writer: &mut StoreWriter,
    tokenizers: &[LoadedTokenizer],
    documents: &RoaringTreemap,
    record: &CommitRecord,
    context: &Context<'_>,
) -> Result<RemovalReport, Error> {
    let left = documents & writer.view().documents_standing(Standing::Removed)?;
    let mut report = RemovalReport { selected: documents.len(), ..RemovalReport::default() };
    report.unchanged = documents.len() - left.len();
    let (documents, before, mut kept) = (&left, Some(INGEST), KeptChanges::default());
    let of = ChunkedChange { documents, size: CHUNK, record, before, tokenizers, context };
    of.decide(writer, &mut report, &mut kept, |batch, session, chunk, _, _| {
        batch.put_removal(chunk.iter().copied())?;
        let view = batch.view().clone();
        let mut hashes = Vec::with_capacity(chunk.len());
        for document in chunk {
            hashes.push(identity_of(&view, *document)?);
        }
        let stored = view.identities(&hashes)?;
        let mut newest: HashMap<[u8; 16], DocId> = HashMap::new();
        for ((document, identity), stored) in chunk.iter().zip(hashes).zip(stored) {
            let holder = newest.insert(identity, *document).or(stored);
            if let Some(old) = holder.filter(|old| old != document) {
                session.supersede(old, *document)?;
            }
            batch.put_identity(identity, *document);
        }
        let lifted = Blocklist::new(&view)?.lift(chunk)?;
        let (blocklist, _) = lifted.readmit(session, chunk.iter().copied())?;
        blocklist.write(batch)?;
        Ok(chunk.len() as u64)
    })?;
    Ok(report)
}

/// The record of the commits that undo an ingest of a source.
pub(crate) fn undo_record(source: &str, undone: CommitSeq, time: Option<i64>) -> CommitRecord {
    CommitRecord { reason: Some(undo_reason(undone)), time, ..CommitRecord::about("undo", source) }
}

/// Why a verb changes something that undoes another.
pub(crate) fn undo_reason(undone: CommitSeq) -> String {
    format!("undo of commit {}", undone.0)
}
