//! Settles: decides documents again, with all candidates, whose decision left candidates out.

use super::commits::CommitLoop;
use super::tokenizers::load_to_write;
use crate::corpus::CorpusWriter;
use crate::decide::{DecisionCounts, DecisionSession, LoadedTokenizer, decide};
use model::{Context, DocId, Error};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::ops::RangeInclusive;
use store::{CommitRecord, StoreWriter};

/// Bytes, of what may be kept between commits, for each document decided again in one commit: the fewer commits,
/// the less often a crowd that memory does not hold is passed.
const ROOM: usize = 1 << 13;
/// Documents decided again in one commit, at least and at most.
const CHUNK: RangeInclusive<usize> = 64..=1 << 14;

/// Counts of `dedup settle`: documents decided again with all their candidates.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SettleReport {
    /// Documents that were marked.
    pub crowded: u64,
    /// Of these, decided again with all candidates: their marks are gone.
    pub settled: u64,
    /// Newly kept documents.
    pub kept_again: u64,
    /// Documents that are no longer kept: duplicates that had been missed.
    pub no_longer_kept: u64,
    /// How many commits were made.
    pub commits: u64,
    /// Candidates, verifications and limits met.
    pub dedup: DecisionCounts,
}
impl CorpusWriter {
    /// Decides those documents again whose decision left candidates out, with all of these. After an interrupt the same
    /// call continues with what is left.
    ///
    /// # Errors
    /// [`Error`]; earlier commits stay.
    pub fn settle(&mut self, context: &Context<'_>) -> Result<SettleReport, Error> {
        let loaded = load_to_write(self.store())?;
        let context = self.within(context);
        settle(self.store(), &loaded, &context)
    }
}

/// Decides every marked document again, with all its candidates, in commits of their own. Each commit reads, part by
/// part, the members of crowded buckets that memory does not hold. After an interrupt the same call continues with the
/// documents that are left.
///
/// # Errors
/// [`Error`]; earlier commits stay.
pub fn settle(
    writer: &mut StoreWriter,
    tokenizers: &[LoadedTokenizer],
    context: &Context<'_>,
) -> Result<SettleReport, Error> {
    let mut marked = writer.view().crowded()?;
    let mut report = SettleReport { crowded: marked.len(), ..SettleReport::default() };
    let mut commits = CommitLoop::begin("settling", Some(marked.len()), context);
    while !marked.is_empty() {
        settle_round(writer, tokenizers, &marked, &mut report, (&mut commits, context))?;
        // One that follows an equal text which was settled after it is decided once more.
        let left = writer.view().crowded()?;
        if left.len() >= marked.len() {
            break;
        }
        marked = left;
    }
    report.settled = report.crowded.saturating_sub(writer.view().crowded()?.len());
    report.commits = commits.end();
    if report.commits > 0 {
        writer.flush_if_long()?;
    }
    Ok(report)
}

/// Decides these documents again, chunk by chunk.
fn settle_round(
    writer: &mut StoreWriter,
    tokenizers: &[LoadedTokenizer],
    marked: &RoaringTreemap,
    report: &mut SettleReport,
    (commits, context): (&mut CommitLoop<'_>, &Context<'_>),
) -> Result<(), Error> {
    let mut marked = marked.iter().map(DocId).peekable();
    let mut done = 0;
    while marked.peek().is_some() {
        let mut batch = commits.batch(writer)?;
        let size = (batch.carry_over_budget() / ROOM).clamp(*CHUNK.start(), *CHUNK.end());
        let chunk: Vec<DocId> = marked.by_ref().take(size).collect();
        let mut session = DecisionSession::begin(&batch, context.interrupt);
        session.compare_with_all();
        for document in &chunk {
            session.reconsider(*document)?;
        }
        let (newly_kept, decided) = decide(&mut batch, session, tokenizers, true)?;
        report.kept_again += newly_kept.len() as u64;
        report.no_longer_kept += decided.no_longer_kept.len() as u64;
        report.dedup += decided.counts;
        let changed = chunk.len() as u64;
        done += changed;
        let record = CommitRecord { changed, ..CommitRecord::about("settle", "") };
        commits.commit(batch, &record, done)?;
    }
    Ok(())
}
