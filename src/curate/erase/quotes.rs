//! What else has something of purged documents: snapshots, rejected records, values of fields, words of users.

use super::PurgeReport;
use super::spellings::any;
use super::traces::TraceSearch;
use super::words;
use crate::curate::commits::CommitLoop;
use crate::curate::error::CurateError;
use crate::model::{CommitSeq, TermId};
use crate::store::{CommitRecord, StoreWriter, TracePart, TraceRun, View};
use roaring::RoaringTreemap;

/// Rows taken away in one commit.
const CHUNK: usize = 1 << 12;

/// Takes the documents out of the snapshots that show them as kept.
pub(super) fn snapshots(
    writer: &mut StoreWriter,
    documents: &RoaringTreemap,
    record: &CommitRecord,
    (commits, report): (&mut CommitLoop<'_>, &mut PurgeReport),
) -> Result<(), CurateError> {
    for snapshot in writer.view().snapshots()? {
        if writer.view().snapshot_kept(&snapshot.name)?.is_disjoint(documents) {
            continue;
        }
        let mut batch = commits.batch(writer)?;
        batch.purge_from_snapshot(snapshot, documents)?;
        report.snapshots += 1;
        commits.commit_next(batch, record)?;
    }
    Ok(())
}

/// Forgets the values of fields that no document has any more.
pub(super) fn values(
    writer: &mut StoreWriter,
    record: &CommitRecord,
    (commits, report): (&mut CommitLoop<'_>, &mut PurgeReport),
) -> Result<(), CurateError> {
    let mut from = Some(TermId(0));
    while let Some(term) = from {
        let (unused, next) = writer.view().unused_terms(term, CHUNK)?;
        from = next;
        if !unused.is_empty() {
            let mut batch = commits.batch(writer)?;
            batch.drop_terms(&unused)?;
            report.values += unused.len() as u64;
            commits.commit_next(batch, record)?;
        }
    }
    Ok(())
}

/// Forgets what was decided about texts that no document has any more.
pub(super) fn verdicts(
    writer: &mut StoreWriter,
    record: &CommitRecord,
    (commits, report): (&mut CommitLoop<'_>, &mut PurgeReport),
) -> Result<(), CurateError> {
    for (suite, _) in writer.view().clone().suites()? {
        let orphaned = writer.view().orphaned_verdicts(*suite)?;
        for chunk in orphaned.chunks(CHUNK) {
            let mut batch = commits.batch(writer)?;
            for of in chunk {
                batch.put_verdict(*suite, *of, None)?;
            }
            report.verdicts += chunk.len() as u64;
            commits.commit_next(batch, record)?;
        }
    }
    Ok(())
}

/// Takes away the rejected records that quote a text or a key, and the words of commits that do. `most` runs are
/// searched for at a time.
pub(super) fn quotes(
    writer: &mut StoreWriter,
    begun: CommitSeq,
    record: &mut CommitRecord,
    most: usize,
    (commits, report): (&mut CommitLoop<'_>, &mut PurgeReport),
) -> Result<(), CurateError> {
    let mut after = begun;
    loop {
        let (runs, last) = some_runs(writer.view(), after, most)?;
        if runs.is_empty() && last == after {
            return Ok(());
        }
        after = last;
        let search = TraceSearch::of(runs.iter());
        let mut has = |bytes: &[u8]| search.any(bytes);
        words::redact(writer, &mut has, record, (commits, report))?;
        rejects(writer, &search, record, (commits, report))?;
    }
}

/// The runs of texts and keys of the next commits after `after`, and the last one of these.
fn some_runs(
    view: &View,
    after: CommitSeq,
    most: usize,
) -> Result<(Vec<TraceRun>, CommitSeq), CurateError> {
    let (mut runs, mut last) = (Vec::new(), after);
    for traces in view.traces()? {
        let (commit, traces) = traces?;
        if commit <= after {
            continue;
        }
        if runs.len() >= most {
            break;
        }
        last = commit;
        let quoted = |run: &TraceRun| matches!(run.of, TracePart::Text | TracePart::Key);
        runs.extend(traces.into_iter().flat_map(|trace| trace.runs).filter(quoted));
    }
    Ok((runs, last))
}

fn rejects(
    writer: &mut StoreWriter,
    search: &TraceSearch,
    record: &CommitRecord,
    (commits, report): (&mut CommitLoop<'_>, &mut PurgeReport),
) -> Result<(), CurateError> {
    loop {
        let mut quoting = Vec::new();
        for reject in writer.view().keyed_rejects()? {
            let (hash, reject) = reject?;
            let mut has = |bytes: &[u8]| search.any(bytes);
            if any(&reject.raw, &mut has) || has(reject.reason.as_bytes()) {
                quoting.push(hash);
                if quoting.len() >= CHUNK {
                    break;
                }
            }
        }
        if quoting.is_empty() {
            return Ok(());
        }
        let mut batch = commits.batch(writer)?;
        for hash in &quoting {
            batch.forget_reject(*hash)?;
        }
        report.rejects += quoting.len() as u64;
        commits.commit_next(batch, record)?;
    }
}
