//! Removing documents and taking that back: eligibility changes, the rest follows.

use super::decided::decide;
use super::equals;
use super::error::CurateError;
use super::removal::Removal;
use crate::decide::{
    BlockKeys, BlockReach, Blocklist, DecisionCounts, DecisionSession, LoadedTokenizer,
};
use crate::model::{Context, DocId, MatchKind, Standing};
use crate::store::{Batch, Blocked, CommitRecord, Writer};
use roaring::RoaringTreemap;
use serde::Serialize;

/// Documents excluded or readmitted in one commit.
const CHUNK: usize = 1 << 14;
/// The same where each has 64 rows of what is similar to it.
const SIMILAR_CHUNK: usize = 1 << 11;

/// What a removal or its undoing did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RemovalReport {
    /// Documents asked for.
    pub selected: u64,
    /// Of these, removed (or restored) now.
    pub changed: u64,
    /// Of these, in that state already.
    pub unchanged: u64,
    /// Other documents of the same text or key that are blocked now; on `restore`, still blocked.
    pub blocked: u64,
    /// Documents that are kept now and were not: the restored ones, and others whose witness went.
    pub kept_again: u64,
    /// Documents that are not kept any more, the selected ones included.
    pub no_longer_kept: u64,
    /// Candidates, verifications and limits met.
    pub dedup: DecisionCounts,
    /// How many commits were made.
    pub commits: u64,
}

/// Removes documents: they stay stored and are not kept. What the removal reaches is stored as `blocked` from now on,
/// until they are restored: it keeps out what is stored already and what comes in. A removal that reaches further than
/// an earlier one of the same documents extends that.
///
/// # Errors
/// [`CurateError`]; what was committed before it stays, and the same call goes on from there.
pub fn remove(
    writer: &mut Writer,
    tokenizers: &[LoadedTokenizer],
    selection: &RoaringTreemap,
    removal: &Removal,
    context: &Context<'_>,
) -> Result<RemovalReport, CurateError> {
    let reach = removal.reach;
    let record = removal.record("remove")?;
    let mut report = RemovalReport { selected: selection.len(), ..RemovalReport::default() };
    let purged = writer.view().documents_standing(Standing::Purged)?;
    let before = writer.view().documents_standing(Standing::Removed)? | &purged;
    report.unchanged = selection.intersection_len(&before);
    let documents =
        if reach > BlockReach::Exact { selection - &purged } else { selection - &before };
    let mut met = equals::Removed::new(reach);
    let size = if reach == BlockReach::Similar { SIMILAR_CHUNK } else { CHUNK };
    in_chunks(writer, &documents, size, context, |writer, chunk, rest| {
        // Once for many commits, before the first of them: what is stored now is all that can be met.
        met.look_up(writer.view(), chunk, rest, selection)?;
        let mut batch = writer.begin()?;
        let view = batch.view().clone();
        let mut session = DecisionSession::begin(&batch, context.interrupt);
        let mut blockade = Blocklist::new(&view)?;
        let is_hit = |document: &&DocId| !before.contains(document.0);
        batch.put_removal(chunk.iter().filter(is_hit).copied())?;
        for document in chunk {
            let header = view.expect_header(*document)?;
            if !before.contains(document.0) {
                session.exclude(*document, Standing::Removed)?;
            }
            if reach == BlockReach::Nothing {
                continue;
            }
            let blockable = BlockKeys::of(&view, *document, &header, reach == BlockReach::Similar)?;
            // A superseded document gave its key away.
            let gave_key_away =
                view.match_of(*document)?.is_some_and(|found| found.kind == MatchKind::Superseded);
            for (what, hash) in blockable.keys() {
                let is_meant = match what {
                    Blocked::Text => true,
                    Blocked::Identity => !gave_key_away,
                    Blocked::Normalised => reach >= BlockReach::Normalised,
                    Blocked::Similar => reach >= BlockReach::Similar,
                };
                if is_meant {
                    blockade.change(what, hash, |by| {
                        by.insert(*document);
                    })?;
                }
            }
        }
        for document in met.take(chunk) {
            let standing = view.standing(document)?;
            if standing.is_eligible() || standing == Standing::Empty {
                session.exclude(document, Standing::Blocked)?;
                report.blocked += 1;
            }
        }
        blockade.write(&mut batch)?;
        let changed = chunk.iter().filter(is_hit).count() as u64;
        report.changed += changed;
        let record = CommitRecord { changed, ..record.clone() };
        finish(batch, session, tokenizers, &record, &mut report)
    })?;
    Ok(report)
}

/// Takes removals back: the documents and what they blocked are decided again.
///
/// # Errors
/// [`CurateError`]; what was committed before it stays, and the same call goes on from there.
pub fn restore(
    writer: &mut Writer,
    tokenizers: &[LoadedTokenizer],
    selection: &RoaringTreemap,
    context: &Context<'_>,
) -> Result<RemovalReport, CurateError> {
    let mut report = RemovalReport { selected: selection.len(), ..RemovalReport::default() };
    let purged = selection.intersection_len(&writer.view().documents_standing(Standing::Purged)?);
    if purged > 0 {
        return Err(CurateError::Purged { documents: purged });
    }
    let removed = selection & writer.view().documents_standing(Standing::Removed)?;
    report.unchanged = selection.len() - removed.len();
    let mut met = equals::Restored::default();
    let size = if writer.view().has_blocks(Blocked::Similar)? { SIMILAR_CHUNK } else { CHUNK };
    in_chunks(writer, &removed, size, context, |writer, chunk, rest| {
        met.look_up(writer.view(), chunk, rest)?;
        let mut batch = writer.begin()?;
        let view = batch.view().clone();
        let mut session = DecisionSession::begin(&batch, context.interrupt);
        let mut blockade = Blocklist::new(&view)?;
        let with_sketch = blockade.has(Blocked::Similar);
        batch.put_removal(chunk.iter().copied())?;
        for document in chunk {
            let header = view.expect_header(*document)?;
            let blockable = BlockKeys::of(&view, *document, &header, with_sketch)?;
            for (what, hash) in blockable.keys() {
                blockade.change(what, hash, |by| {
                    by.remove(document);
                })?;
            }
        }
        for document in chunk.iter().copied().chain(met.take(chunk)) {
            let header = view.expect_header(document)?;
            let blockable = BlockKeys::of(&view, document, &header, with_sketch)?;
            let is_blocked = blockade.keeps_out(&blockable, Some(document), |craft| {
                Ok(craft.shingles(&view.compared_text(document)?).into())
            })?;
            report.blocked += u64::from(is_blocked);
            session.readmit(document, is_blocked)?;
        }
        blockade.write(&mut batch)?;
        let changed = chunk.len() as u64;
        report.changed += changed;
        let kind = "restore".to_owned();
        let record = CommitRecord { kind, changed, ..CommitRecord::default() };
        finish(batch, session, tokenizers, &record, &mut report)
    })?;
    Ok(report)
}

/// Hands out documents chunk by chunk, with an iterator over those behind the chunk.
fn in_chunks(
    writer: &mut Writer,
    documents: &RoaringTreemap,
    size: usize,
    context: &Context<'_>,
    mut each: impl FnMut(
        &mut Writer,
        &[DocId],
        &mut dyn Iterator<Item = DocId>,
    ) -> Result<(), CurateError>,
) -> Result<(), CurateError> {
    context.progress.begin("changing", Some(documents.len()));
    let mut done = 0;
    let mut ids = documents.iter().map(DocId);
    loop {
        let chunk: Vec<DocId> = ids.by_ref().take(size).collect();
        if chunk.is_empty() {
            break;
        }
        each(writer, &chunk, &mut ids.clone())?;
        done += chunk.len() as u64;
        context.progress.advance(done);
        if context.interrupt.is_raised() && done < documents.len() {
            return Err(CurateError::Interrupted);
        }
    }
    writer.flush()?;
    context.progress.end();
    Ok(())
}

/// Decides and commits.
fn finish(
    mut batch: Batch<'_>,
    session: DecisionSession,
    tokenizers: &[LoadedTokenizer],
    record: &CommitRecord,
    report: &mut RemovalReport,
) -> Result<(), CurateError> {
    let decided = decide(&mut batch, session, tokenizers, true)?;
    report.kept_again += decided.newly_kept.len() as u64;
    report.no_longer_kept += decided.no_longer_kept.len() as u64;
    report.dedup += decided.counts;
    batch.commit(record)?;
    report.commits += 1;
    Ok(())
}
