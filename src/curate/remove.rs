//! Removing documents and taking that back: eligibility changes, the rest follows.

use super::error::CurateError;
use crate::decide::{Counts, LoadedTokenizer, Session, encode_kept_again};
use crate::model::{DocId, Interrupt, MatchKind, Progress, Standing, key_identity};
use crate::store::{Batch, Blocked, CommitRecord, Header, View, Writer};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// Documents excluded or readmitted in one commit.
const CHUNK: usize = 1 << 14;

/// What a removal or its undoing did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RemovalReport {
    /// `remove` or `restore`.
    pub r#type: &'static str,
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
    pub dedup: Counts,
    /// Commits made.
    pub commits: u64,
    /// Nothing was changed: `--dry-run`.
    pub dry_run: bool,
}

/// Removes documents: they stay stored and are not kept. Unless `block` is false, what has their raw
/// text or their given key is stored as `blocked` from now on, until they are restored.
///
/// # Errors
/// [`CurateError`]; what was committed before it stays, and the same call goes on from there.
pub fn remove(
    writer: &mut Writer,
    tokenizers: &[LoadedTokenizer],
    selection: &RoaringTreemap,
    block: bool,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<RemovalReport, CurateError> {
    let mut report =
        RemovalReport { r#type: "remove", selected: selection.len(), ..RemovalReport::default() };
    let before = writer.view().documents_standing(Standing::Removed)?;
    report.unchanged = selection.intersection_len(&before);
    in_chunks(writer, &(selection - before), progress, interrupt, |writer, chunk| {
        let mut batch = writer.begin()?;
        let view = batch.view().clone();
        let mut session = Session::new(&batch);
        session.heed(interrupt);
        let mut texts = HashSet::new();
        let mut blocks = Blocks { view: &view, rows: BTreeMap::new() };
        for document in chunk {
            let header = view.expect_header(*document)?;
            session.exclude(*document, Standing::Removed)?;
            if block {
                blocks.change(Blocked::Text, header.raw, |by| by.push(*document))?;
                texts.insert(header.raw);
                // A superseded document gave its key away.
                let superseded = view.match_of(*document)?;
                if superseded.is_none_or(|found| found.kind != MatchKind::Superseded)
                    && let Some(identity) = given_identity(&view, &header)
                {
                    blocks.change(Blocked::Identity, identity, |by| by.push(*document))?;
                }
            }
            report.changed += 1;
        }
        report.blocked += block_equals(&view, &mut session, &texts, chunk)?;
        blocks.write(&mut batch)?;
        finish(batch, session, tokenizers, "remove", &mut report)
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
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<RemovalReport, CurateError> {
    let mut report =
        RemovalReport { r#type: "restore", selected: selection.len(), ..RemovalReport::default() };
    let removed = selection & writer.view().documents_standing(Standing::Removed)?;
    report.unchanged = selection.len() - removed.len();
    in_chunks(writer, &removed, progress, interrupt, |writer, chunk| {
        let mut batch = writer.begin()?;
        let view = batch.view().clone();
        let mut session = Session::new(&batch);
        session.heed(interrupt);
        let mut blocks = Blocks { view: &view, rows: BTreeMap::new() };
        let mut freed = HashSet::new();
        for document in chunk {
            let header = view.expect_header(*document)?;
            for (what, hash) in blockable(&view, &header) {
                blocks.change(what, hash, |by| by.retain(|other| other != document))?;
                freed.insert((what, hash));
            }
            report.changed += 1;
        }
        let blocked: Vec<DocId> =
            view.documents_standing(Standing::Blocked)?.iter().map(DocId).collect();
        for document in chunk.iter().chain(&blocked) {
            let header = view.expect_header(*document)?;
            let identity = given_identity(&view, &header).map(|hash| (Blocked::Identity, hash));
            let mut is_freed = false;
            let mut is_blocked = false;
            for (what, hash) in identity.into_iter().chain([(Blocked::Text, header.raw)]) {
                is_freed |= freed.contains(&(what, hash));
                is_blocked |= blocks.by(what, hash)?.iter().any(|other| other != document);
            }
            if is_freed {
                report.blocked += u64::from(is_blocked);
                session.readmit(*document, is_blocked)?;
            }
        }
        blocks.write(&mut batch)?;
        finish(batch, session, tokenizers, "restore", &mut report)
    })?;
    Ok(report)
}

fn in_chunks(
    writer: &mut Writer,
    documents: &RoaringTreemap,
    progress: &dyn Progress,
    interrupt: &Interrupt,
    mut each: impl FnMut(&mut Writer, &[DocId]) -> Result<(), CurateError>,
) -> Result<(), CurateError> {
    progress.begin("changing", Some(documents.len()));
    let documents: Vec<DocId> = documents.iter().map(DocId).collect();
    let mut done = 0;
    for chunk in documents.chunks(CHUNK) {
        each(writer, chunk)?;
        done += chunk.len() as u64;
        progress.advance(done);
        if interrupt.is_raised() && done < documents.len() as u64 {
            return Err(CurateError::Interrupted);
        }
    }
    writer.flush()?;
    progress.end();
    Ok(())
}

/// Documents stored with one of these texts are blocked; answers how many.
fn block_equals(
    view: &View,
    session: &mut Session,
    texts: &HashSet<[u8; 16]>,
    removed: &[DocId],
) -> Result<u64, CurateError> {
    if texts.is_empty() {
        return Ok(0);
    }
    let mut equal = Vec::new();
    view.for_each_header(0..view.documents(), |document, header| {
        if texts.contains(&header.raw) && removed.binary_search(&document).is_err() {
            equal.push(document);
        }
        Ok::<(), CurateError>(())
    })?;
    let mut blocked = 0;
    for document in equal {
        let standing = view.standing(document)?;
        if standing.is_eligible() || standing == Standing::Empty {
            session.exclude(document, Standing::Blocked)?;
            blocked += 1;
        }
    }
    Ok(blocked)
}

/// What a document can block, or be blocked by: its text, and its key if one was given.
fn blockable(view: &View, header: &Header) -> impl Iterator<Item = (Blocked, [u8; 16])> {
    let identity = given_identity(view, header).map(|hash| (Blocked::Identity, hash));
    identity.into_iter().chain([(Blocked::Text, header.raw)])
}

fn given_identity(view: &View, header: &Header) -> Option<[u8; 16]> {
    header.key.as_ref().map(|key| key_identity(view.source_name(header.source), key))
}

fn finish(
    mut batch: Batch<'_>,
    mut session: Session,
    tokenizers: &[LoadedTokenizer],
    kind: &str,
    report: &mut RemovalReport,
) -> Result<(), CurateError> {
    session.settle()?;
    let kept_again = session.newly_kept(true);
    report.kept_again += kept_again.len() as u64;
    report.no_longer_kept += session.no_longer_kept().len() as u64;
    report.dedup += session.apply(&mut batch)?;
    for tokenizer in tokenizers {
        encode_kept_again(&mut batch, tokenizer, &kept_again)?;
    }
    batch.commit(&CommitRecord {
        kind: kind.to_owned(),
        changed: report.changed,
        ..CommitRecord::default()
    })?;
    report.commits += 1;
    Ok(())
}

/// Block rows as this commit will leave them.
struct Blocks<'v> {
    view: &'v View,
    rows: BTreeMap<(u8, [u8; 16]), (Blocked, Vec<DocId>)>,
}

impl Blocks<'_> {
    fn change(
        &mut self,
        what: Blocked,
        hash: [u8; 16],
        change: impl FnOnce(&mut Vec<DocId>),
    ) -> Result<(), CurateError> {
        let row = match self.rows.entry((what as u8, hash)) {
            std::collections::btree_map::Entry::Occupied(row) => &mut row.into_mut().1,
            std::collections::btree_map::Entry::Vacant(slot) => {
                &mut slot.insert((what, self.view.blockers(what, hash)?)).1
            }
        };
        change(row);
        row.sort_unstable();
        row.dedup();
        Ok(())
    }

    fn by(&self, what: Blocked, hash: [u8; 16]) -> Result<Vec<DocId>, CurateError> {
        match self.rows.get(&(what as u8, hash)) {
            Some((_, by)) => Ok(by.clone()),
            None => Ok(self.view.blockers(what, hash)?),
        }
    }

    fn write(self, batch: &mut Batch<'_>) -> Result<(), CurateError> {
        for ((_, hash), (what, by)) in self.rows {
            batch.block(what, hash, &by)?;
        }
        Ok(())
    }
}
