//! Removes documents and restores them: the request, its record, and the changes in eligibility.
//!
//! Which documents are kept follows from eligibility and is decided elsewhere.

use super::block_reach;
use super::commits::CommitLoop;
use super::tokenizers::load_to_write;
use crate::corpus::CorpusWriter;
use crate::decide::{
    BlockExtent, BlockKeys, BlockReach, Blocklist, DecisionCounts, DecisionSession,
    LoadedTokenizer, decide,
};
use model::{Context, DocId, Error, ErrorKind, Hint, Standing};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::BTreeMap;
use store::{BlockKind, CommitBatch, CommitRecord, StoreWriter, View};

/// Documents excluded or readmitted in one commit.
pub(super) const CHUNK: usize = 1 << 14;
/// Documents of one commit where each has 64 rows of what is similar to it.
const SIMILAR_CHUNK: usize = 1 << 11;

/// Removed documents by what they block, or blocked before a verb.
pub(crate) type BlocksBefore = BTreeMap<BlockExtent, RoaringTreemap>;

/// The first word of the note of a commit that changes how far removed documents block; the former extents follow.
const BLOCKED: &str = "blocked";

/// Bytes that a reason or a condition on record may have.
const MOST: usize = 4096;

/// What a removal or its undoing did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RemovalReport {
    /// Documents selected.
    pub selected: u64,
    /// Of these, removed (or restored) now.
    pub changed: u64,
    /// Of these, in that state already.
    pub unchanged: u64,
    /// On `restore`, of the selected ones: those of an ingest that was undone, which come back by undoing that.
    pub undone: u64,
    /// Other documents of the same text or key that are blocked now; on `restore`, still blocked.
    pub blocked: u64,
    /// Newly kept documents: restored ones, and others whose witness was removed.
    pub kept_again: u64,
    /// On a removal, remaining copies of its documents: those kept in their place, and the duplicates of these. 0 if
    /// similar texts are blocked.
    pub copies: u64,
    /// On `restore`, of the restored ones: those of an interrupted purge, which continues without them.
    pub spared: u64,
    /// Documents that are no longer kept, with the selected ones.
    pub no_longer_kept: u64,
    /// Candidates, verifications and limits met.
    pub dedup: DecisionCounts,
    /// How many commits were made.
    pub commits: u64,
}

/// How far a removal reaches beyond its documents, and what the records of its commits say of it. Made from a
/// [`BlockReach`], or from whether equal texts and keys are blocked.
///
/// ```
/// use corpusdb::curate::{BlockReach, RemovalRequest};
///
/// let removal = RemovalRequest::new(BlockReach::Exact).because("asked for by their author").at(1_764_000_000_000_000);
/// assert_eq!(removal.reason.as_deref(), Some("asked for by their author"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemovalRequest {
    /// What it keeps out from now on.
    pub reach: BlockReach,
    /// Whether it keeps keys out, where that is not as the reach has it: [`BlockExtent::key`].
    pub(crate) key: Option<bool>,
    /// Why, in the words of who does it.
    pub reason: Option<String>,
    /// The SQL condition that selected the documents, where one did.
    pub condition: Option<String>,
    /// When, in microseconds since 1970 in UTC. The library reads no clock: a program says it, or nothing is on record.
    pub time: Option<i64>,
}

impl RemovalRequest {
    /// A removal of that reach with documents only.
    #[must_use]
    pub fn new(reach: BlockReach) -> Self {
        Self { reach, ..Self::default() }
    }

    fn extent(&self) -> BlockExtent {
        BlockExtent { reach: self.reach, key: self.key }
    }

    /// With the reason on record.
    #[must_use]
    pub fn because(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }

    /// With the SQL condition on record that selected the documents.
    #[must_use]
    pub fn of(self, condition: impl Into<String>) -> Self {
        Self { condition: Some(condition.into()), ..self }
    }

    /// With the time on record: microseconds since 1970 in UTC.
    #[must_use]
    pub fn at(self, time: i64) -> Self {
        Self { time: Some(time), ..self }
    }

    /// The record of a commit of this removal.
    ///
    /// # Errors
    /// [`Error`] when the reason is too long to be on record.
    pub(super) fn record(&self, kind: &str) -> Result<CommitRecord, Error> {
        if let Some(reason) = self.reason.as_ref().filter(|reason| reason.len() > MOST) {
            let bytes = reason.len();
            let message = format!("the reason has {bytes} bytes; at most {MOST} are stored");
            let hint = Hint::text("name a document with the details instead");
            return Err(Error::of(ErrorKind::Failed, message).with_hint(hint));
        }
        let condition = self.condition.as_ref().map(|condition| shortened(condition));
        let (reason, time) = (self.reason.clone(), self.time);
        Ok(CommitRecord { reason, condition, time, ..CommitRecord::about(kind, "") })
    }
}

impl From<BlockReach> for RemovalRequest {
    fn from(reach: BlockReach) -> Self {
        Self::new(reach)
    }
}

impl From<BlockExtent> for RemovalRequest {
    fn from(BlockExtent { reach, key }: BlockExtent) -> Self {
        Self { reach, key, ..Self::default() }
    }
}

impl From<bool> for RemovalRequest {
    fn from(blocks: bool) -> Self {
        Self::new(blocks.into())
    }
}
impl CorpusWriter {
    /// Removes documents; see [`RemovalReport`]. What the removal reaches is stored as `blocked` from now on: `true`
    /// stands for equal texts and equal keys. Its reason, condition and time are kept with its commits.
    ///
    /// # Errors
    /// [`Error`]; earlier commits stay.
    pub fn remove(
        &mut self,
        selection: &RoaringTreemap,
        removal: impl Into<RemovalRequest>,
        context: &Context<'_>,
    ) -> Result<RemovalReport, Error> {
        let loaded = load_to_write(self.store())?;
        let removal = removal.into();
        let context = self.within(context);
        remove(self.store(), &loaded, selection, &removal, &context)
    }

    /// Takes removals back.
    ///
    /// # Errors
    /// [`Error`]; earlier commits stay.
    pub fn restore(
        &mut self,
        selection: &RoaringTreemap,
        context: &Context<'_>,
    ) -> Result<RemovalReport, Error> {
        let loaded = load_to_write(self.store())?;
        let context = self.within(context);
        restore(self.store(), &loaded, selection, &context)
    }
}

/// Removes documents: they stay stored and are not kept. What the removal reaches is stored as `blocked` from now on,
/// until they are restored: it keeps out what is stored already and what comes in. What an earlier removal of the same
/// documents did not reach is added to it; nothing that it blocked is let in again.
///
/// # Errors
/// [`Error`]; earlier commits stay, and the same call continues from there.
pub fn remove(
    writer: &mut StoreWriter,
    tokenizers: &[LoadedTokenizer],
    selection: &RoaringTreemap,
    removal: &RemovalRequest,
    context: &Context<'_>,
) -> Result<RemovalReport, Error> {
    let (reach, extent) = (removal.reach, removal.extent());
    let record = removal.record("remove")?;
    let mut report = RemovalReport { selected: selection.len(), ..RemovalReport::default() };
    let purged = writer.view().documents_standing(Standing::Purged)?;
    let before = writer.view().documents_standing(Standing::Removed)? | &purged;
    report.unchanged = selection.intersection_len(&before);
    let mut documents = selection - &before;
    if reach > BlockReach::Nothing {
        let removed = (selection & &before) - &purged;
        documents |= removed_that(writer.view(), &removed, reach, |blocklist, document, of| {
            blocklist.lacks(document, of, extent)
        })?;
    }
    let mut met = block_reach::ReachSearch::new(extent);
    let size = if reach == BlockReach::Similar { SIMILAR_CHUNK } else { CHUNK };
    let (documents, record) = (&documents, &record);
    let of = ChunkedChange { documents, size, record, before: None, tokenizers, context };
    let mut kept = KeptChanges::default();
    of.decide(writer, &mut report, &mut kept, |batch, session, chunk, rest, report| {
        let view = batch.view().clone();
        // The search is made once for many commits, before the first: only what is stored now can match.
        met.look_up(&view, chunk, rest, selection)?;
        let mut blocklist = Blocklist::new(&view)?;
        let is_hit = |document: &&DocId| !before.contains(document.0);
        batch.put_removal(chunk.iter().filter(is_hit).copied())?;
        for document in chunk {
            if !before.contains(document.0) {
                session.exclude(*document, Standing::Removed)?;
            }
            if reach > BlockReach::Nothing {
                let with_key = extent.key != Some(false);
                let keys = BlockKeys::of_removed(&view, *document, (reach, with_key))?;
                blocklist.block(*document, &keys, extent)?;
            }
        }
        for document in met.take(chunk) {
            let standing = view.standing(document)?;
            if standing.is_eligible() || standing == Standing::Empty {
                session.exclude(document, Standing::Blocked)?;
                report.blocked += 1;
            }
        }
        blocklist.write(batch)?;
        let changed = chunk.iter().filter(is_hit).count();
        if changed < chunk.len() {
            let removed = chunk.iter().filter(|document| before.contains(document.0));
            let removed = removed.map(|document| document.0).collect();
            batch.note_before(blocked_words(&by_extent(&view, &removed)?));
        }
        Ok(changed as u64)
    })?;
    // A block of what is similar has reached them.
    for document in kept.again.iter().map(DocId).filter(|_| reach < BlockReach::Similar) {
        report.copies += 1 + writer.view().members(document)?.len() as u64;
    }
    Ok(report)
}

/// Documents newly kept, and those no longer kept, over the commits of a verb: a later commit may remove what an
/// earlier one kept again.
#[derive(Default)]
pub(super) struct KeptChanges {
    again: RoaringTreemap,
    no_longer: RoaringTreemap,
}

impl KeptChanges {
    /// Adds the changes of a commit.
    fn add(&mut self, again: &[DocId], no_longer: &[DocId]) {
        for DocId(document) in again {
            if !self.no_longer.remove(*document) {
                self.again.insert(*document);
            }
        }
        for DocId(document) in no_longer {
            if !self.again.remove(*document) {
                self.no_longer.insert(*document);
            }
        }
    }
}

/// The removed documents for which `is_one` holds.
fn removed_that(
    view: &View,
    removed: &RoaringTreemap,
    reach: BlockReach,
    is_one: impl Fn(&Blocklist<'_>, DocId, &BlockKeys) -> Result<bool, Error>,
) -> Result<RoaringTreemap, Error> {
    let blocklist = Blocklist::new(view)?;
    let mut found = RoaringTreemap::new();
    for document in removed.iter().map(DocId) {
        let of = BlockKeys::of_removed(view, document, (reach, true))?;
        if is_one(&blocklist, document, &of)? {
            found.insert(document.0);
        }
    }
    Ok(found)
}

/// Takes removals back: the documents and what they blocked are decided again.
///
/// # Errors
/// [`Error`]; earlier commits stay, and the same call continues from there.
pub fn restore(
    writer: &mut StoreWriter,
    tokenizers: &[LoadedTokenizer],
    selection: &RoaringTreemap,
    context: &Context<'_>,
) -> Result<RemovalReport, Error> {
    let mut report = RemovalReport { selected: selection.len(), ..RemovalReport::default() };
    let purged = selection.intersection_len(&writer.view().documents_standing(Standing::Purged)?);
    if purged > 0 {
        let message = format!("{purged} of these documents were purged and cannot be restored");
        let hint = Hint::text("select others (`standing = 'removed'`)");
        return Err(Error::of(ErrorKind::Failed, message).with_hint(hint));
    }
    let mut removed = selection & writer.view().documents_standing(Standing::Removed)?;
    let undone = &removed & writer.view().undone()?;
    removed -= &undone;
    report.undone = undone.len();
    report.unchanged = selection.len() - removed.len() - undone.len();
    let (mut blocked, mut kept) = (RoaringTreemap::new(), KeptChanges::default());
    let mut unended = writer.view().unended_purge()?;
    let size = if writer.view().has_blocks(BlockKind::Similar)? { SIMILAR_CHUNK } else { CHUNK };
    let record = CommitRecord::about("restore", "");
    for (extent, documents) in &by_extent(writer.view(), &removed)? {
        let (mut met, before) = (block_reach::UnblockSearch::default(), extent.name());
        let before = Some(before.as_str());
        let of = ChunkedChange { documents, size, record: &record, before, tokenizers, context };
        of.decide(writer, &mut report, &mut kept, |batch, session, chunk, rest, report| {
            met.look_up(&batch.view().clone(), chunk, rest)?;
            batch.put_removal(chunk.iter().copied())?;
            if let Some(purge) = &mut unended {
                let before = purge.documents.len();
                for document in chunk {
                    purge.documents.remove(document.0);
                }
                let spared = before - purge.documents.len();
                if spared > 0 {
                    batch.go_on_with(purge)?;
                    report.spared += spared;
                }
            }
            let decided_again = chunk.iter().copied().chain(met.take(chunk));
            blocked |= lift_blocks(batch, session, chunk, decided_again)?;
            Ok(chunk.len() as u64)
        })?;
    }
    // A later commit freed some of these documents.
    report.blocked = (blocked & writer.view().documents_standing(Standing::Blocked)?).len();
    Ok(report)
}

/// The extents to which removed documents block, as a note has them: `blocked exact 3 5 exact+key 6 similar 7`.
fn blocked_words(parts: &BlocksBefore) -> String {
    let mut words = BLOCKED.to_owned();
    for (extent, documents) in parts {
        words = format!("{words} {}", extent.name());
        documents.iter().for_each(|document| words.push_str(&format!(" {document}")));
    }
    words
}

/// Parses the note of [`blocked_words`].
pub(super) fn blocked_before(note: &str) -> Option<BlocksBefore> {
    let (mut parts, mut extent) = (BlocksBefore::new(), None);
    for word in note.strip_prefix(BLOCKED)?.split_whitespace() {
        match BlockExtent::named(word) {
            None => drop(parts.entry(extent?).or_default().insert(word.parse().ok()?)),
            named => extent = named,
        }
    }
    Some(parts)
}

/// Makes removed documents block as far as each did before, and no further.
///
/// # Errors
/// [`Error`]; earlier commits stay, and the same call continues from there.
pub(crate) fn block_as_before(
    writer: &mut StoreWriter,
    tokenizers: &[LoadedTokenizer],
    before: &BlocksBefore,
    record: &CommitRecord,
    context: &Context<'_>,
) -> Result<(), Error> {
    let mut documents = RoaringTreemap::new();
    before.values().for_each(|part| documents |= part);
    lift(writer, tokenizers, &documents, record, context)?;
    for (extent, documents) in before {
        if extent.reach > BlockReach::Nothing {
            let (reason, time) = (record.reason.clone(), record.time);
            let removal = RemovalRequest { reason, time, ..RemovalRequest::from(*extent) };
            remove(writer, tokenizers, documents, &removal, context)?;
        }
    }
    Ok(())
}

/// Removed documents by what each of them blocks: a removal again would block the same.
pub(super) fn by_extent(view: &View, removed: &RoaringTreemap) -> Result<BlocksBefore, Error> {
    let blocklist = Blocklist::new(view)?;
    let mut parts = BlocksBefore::new();
    for document in removed.iter().map(DocId) {
        let of = BlockKeys::of_removed(view, document, (blocklist.reach(), true))?;
        let extent = blocklist.extent_of(document, &of)?;
        parts.entry(extent).or_default().insert(document.0);
    }
    Ok(parts)
}

/// Takes away what removed documents block that are to be erased: those that they kept out are decided again.
pub(super) fn lift(
    writer: &mut StoreWriter,
    tokenizers: &[LoadedTokenizer],
    removed: &RoaringTreemap,
    record: &CommitRecord,
    context: &Context<'_>,
) -> Result<RemovalReport, Error> {
    let mut report = RemovalReport::default();
    let reach = Blocklist::new(writer.view())?.reach();
    let blocking = removed_that(writer.view(), removed, reach, |blocklist, document, of| {
        blocklist.is_blocking(document, of.keys())
    })?;
    let mut met = block_reach::UnblockSearch::default();
    let size = if reach == BlockReach::Similar { SIMILAR_CHUNK } else { CHUNK };
    let (documents, before, mut kept) = (&blocking, None, KeptChanges::default());
    let of = ChunkedChange { documents, size, record, before, tokenizers, context };
    of.decide(writer, &mut report, &mut kept, |batch, session, chunk, rest, _| {
        let view = batch.view().clone();
        met.look_up(&view, chunk, rest)?;
        let lifted = chunk.iter().map(|document| document.0).collect();
        batch.note_before(blocked_words(&by_extent(&view, &lifted)?));
        let kept_out = met.take(chunk).into_iter().filter(|one| !removed.contains(one.0));
        lift_blocks(batch, session, chunk, kept_out)?;
        // Nothing of the documents changes.
        Ok(0)
    })?;
    Ok(report)
}

/// Removed documents block nothing any more, and others are decided again: those that are still blocked.
fn lift_blocks(
    batch: &mut CommitBatch<'_>,
    session: &mut DecisionSession,
    removed: &[DocId],
    decided_again: impl Iterator<Item = DocId>,
) -> Result<RoaringTreemap, Error> {
    let view = batch.view().clone();
    let lifted = Blocklist::new(&view)?.lift(removed)?;
    let (blocklist, still) = lifted.readmit(session, decided_again)?;
    blocklist.write(batch)?;
    Ok(still)
}

/// Documents per commit when many change; each commit decides.
pub(super) struct ChunkedChange<'a> {
    pub(super) documents: &'a RoaringTreemap,
    /// Documents of a commit.
    pub(super) size: usize,
    pub(super) record: &'a CommitRecord,
    /// The note of each commit, by which it is undone.
    pub(super) before: Option<&'a str>,
    pub(super) tokenizers: &'a [LoadedTokenizer],
    pub(super) context: &'a Context<'a>,
}

impl ChunkedChange<'_> {
    /// `change` puts what changes with a chunk into batch, session and report, is given the documents behind the chunk
    /// too, and answers how many documents the record says are changed. What is kept now and was not is added to `kept`.
    pub(super) fn decide(
        &self,
        writer: &mut StoreWriter,
        report: &mut RemovalReport,
        kept: &mut KeptChanges,
        mut change: impl FnMut(
            &mut CommitBatch<'_>,
            &mut DecisionSession,
            &[DocId],
            &mut dyn Iterator<Item = DocId>,
            &mut RemovalReport,
        ) -> Result<u64, Error>,
    ) -> Result<(), Error> {
        let Self { documents, size, record, before, tokenizers, context } = *self;
        let mut commits = CommitLoop::begin("changing", Some(documents.len()), context);
        let (mut ids, mut done) = (documents.iter().map(DocId), 0);
        loop {
            let chunk: Vec<DocId> = ids.by_ref().take(size).collect();
            if chunk.is_empty() {
                break;
            }
            let mut batch = commits.batch(writer)?;
            let mut session = DecisionSession::begin(&batch, context.interrupt);
            let changed = change(&mut batch, &mut session, &chunk, &mut ids.clone(), report)?;
            let (kept_again, decided) = decide(&mut batch, session, tokenizers, true)?;
            kept.add(&kept_again, &decided.no_longer_kept);
            report.changed += changed;
            report.dedup += decided.counts;
            done += chunk.len() as u64;
            if let Some(before) = before {
                batch.note_before(before);
            }
            commits.commit(batch, &CommitRecord { changed, ..record.clone() }, done)?;
        }
        report.commits += commits.end();
        report.kept_again = kept.again.len();
        report.no_longer_kept = kept.no_longer.len();
        Ok(writer.flush_if_long()?)
    }
}

/// A condition of a million ids says no more than its beginning.
fn shortened(condition: &str) -> String {
    if condition.len() <= MOST {
        return condition.to_owned();
    }
    let end = condition.floor_char_boundary(MOST - 3);
    format!("{}…", condition.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_reasons_are_bounded() {
        let long = "ä".repeat(MOST);
        let record =
            RemovalRequest::new(BlockReach::Nothing).of(long.clone()).record("remove").unwrap();
        let condition = record.condition.unwrap();
        assert!(condition.len() <= MOST && condition.starts_with("ää") && condition.ends_with('…'));
        let error =
            RemovalRequest::new(BlockReach::Nothing).because(long).record("remove").unwrap_err();
        assert!(error.to_string().contains("8192 bytes"), "{error}");
        let record =
            RemovalRequest::from(true).because("they asked").at(7).record("remove").unwrap();
        assert_eq!((record.reason.as_deref(), record.time), (Some("they asked"), Some(7)));
    }
}
