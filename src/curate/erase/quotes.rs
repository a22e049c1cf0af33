//! Erases quotations of purged documents elsewhere: in snapshots, rejected records, values of fields, words of users.

use super::PurgeProcedure;
use super::spellings::any;
use super::traces::TraceSearch;
use super::values::ValueQuotes;
use super::words;
use model::{CommitSeq, DocId, Error, TermId};
use roaring::RoaringTreemap;
use store::{TracePart, TraceRun, View};

/// Rows taken away in one commit.
const CHUNK: usize = 1 << 12;

/// Takes the documents out of the snapshots that show them as kept.
pub(super) fn snapshots(
    purge: &mut PurgeProcedure<'_, '_>,
    documents: &RoaringTreemap,
) -> Result<(), Error> {
    for snapshot in purge.writer.view().snapshots()? {
        if purge.writer.view().snapshot_kept(&snapshot.name)?.is_disjoint(documents) {
            continue;
        }
        let mut batch = purge.commits.batch(purge.writer)?;
        batch.purge_from_snapshot(snapshot, documents)?;
        purge.report.snapshots += 1;
        purge.commits.commit_next(batch, &purge.record)?;
    }
    Ok(())
}

/// Forgets the values of fields that no document has any more.
pub(super) fn values(purge: &mut PurgeProcedure<'_, '_>) -> Result<(), Error> {
    let mut from = Some(TermId(0));
    while let Some(term) = from {
        let (unused, next) = purge.writer.view().unused_terms(term, CHUNK)?;
        from = next;
        if !unused.is_empty() {
            let mut batch = purge.commits.batch(purge.writer)?;
            batch.drop_terms(&unused)?;
            purge.report.values += unused.len() as u64;
            purge.commits.commit_next(batch, &purge.record)?;
        }
    }
    Ok(())
}

/// Forgets what was decided about texts that no document has any more.
pub(super) fn verdicts(purge: &mut PurgeProcedure<'_, '_>) -> Result<(), Error> {
    for (suite, _) in purge.writer.view().clone().suites()? {
        let orphaned = purge.writer.view().orphaned_verdicts(*suite)?;
        for chunk in orphaned.chunks(CHUNK) {
            let mut batch = purge.commits.batch(purge.writer)?;
            for of in chunk {
                batch.put_verdict(*suite, *of, None)?;
            }
            purge.report.verdicts += chunk.len() as u64;
            purge.commits.commit_next(batch, &purge.record)?;
        }
    }
    Ok(())
}

/// Takes away the rejected records that quote a text or a key, and the words of commits that do. `most` runs are
/// searched for at a time.
pub(super) fn quotes(
    purge: &mut PurgeProcedure<'_, '_>,
    begun: CommitSeq,
    most: usize,
) -> Result<(), Error> {
    let mut after = begun;
    loop {
        let (runs, last) = some_runs(purge.writer.view(), after, most)?;
        if runs.is_empty() && last == after {
            return Ok(());
        }
        after = last;
        let search = TraceSearch::of(runs.iter());
        let mut has = |bytes: &[u8]| search.any(bytes);
        words::redact(purge, &mut has)?;
        rejects(purge, &mut has)?;
    }
}

/// Takes away, while they are at hand, what quotes values that only these documents have.
pub(super) fn of_values(
    purge: &mut PurgeProcedure<'_, '_>,
    documents: &RoaringTreemap,
    memory: u64,
) -> Result<(), Error> {
    let most = TraceSearch::capacity(memory);
    let mut some = documents.iter().map(DocId).peekable();
    while some.peek().is_some() {
        let view = purge.writer.view().clone();
        let own = purge.record.clone();
        let quotes = ValueQuotes::of(&view, &mut some, documents, most, &mut |look| {
            words::each(&view, look)?;
            for words in [&own.reason, &own.condition].into_iter().flatten() {
                look(words.as_bytes());
            }
            for reject in view.keyed_rejects()? {
                let (_, reject) = reject?;
                look(&reject.raw);
                look(reject.reason.as_bytes());
            }
            Ok(())
        })?;
        if !quotes.is_empty() {
            let mut has = |bytes: &[u8]| quotes.are_in(bytes);
            words::redact(purge, &mut has)?;
            rejects(purge, &mut has)?;
        }
    }
    Ok(())
}

/// The runs of texts and keys of the next commits after `after`, and the last one of these.
fn some_runs(
    view: &View,
    after: CommitSeq,
    most: usize,
) -> Result<(Vec<TraceRun>, CommitSeq), Error> {
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
    purge: &mut PurgeProcedure<'_, '_>,
    has: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<(), Error> {
    loop {
        let mut quoting = Vec::new();
        for reject in purge.writer.view().keyed_rejects()? {
            let (hash, reject) = reject?;
            if any(&reject.raw, has) || has(reject.reason.as_bytes()) {
                quoting.push(hash);
                if quoting.len() >= CHUNK {
                    break;
                }
            }
        }
        if quoting.is_empty() {
            return Ok(());
        }
        let mut batch = purge.commits.batch(purge.writer)?;
        for hash in &quoting {
            batch.forget_reject(*hash)?;
        }
        purge.report.rejects += quoting.len() as u64;
        purge.commits.commit_next(batch, &purge.record)?;
    }
}
