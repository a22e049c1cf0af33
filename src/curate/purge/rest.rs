//! What else has something of purged documents: snapshots, rejected records, values of fields, records of commits.

use super::PurgeReport;
use super::search::Search;
use super::spellings;
use crate::curate::error::CurateError;
use crate::model::{CommitSeq, TermId};
use crate::store::{CommitRecord, HashedRun, RunOf, View, Writer};
use roaring::RoaringTreemap;

/// Rows taken away in one commit.
const CHUNK: usize = 1 << 12;
/// What stands in the place of words that quoted a purged document.
const REDACTED: &str = "(quoted what was purged)";

/// Takes the documents out of the snapshots that show them as kept.
pub(super) fn snapshots(
    writer: &mut Writer,
    documents: &RoaringTreemap,
    record: &CommitRecord,
    report: &mut PurgeReport,
) -> Result<(), CurateError> {
    for snapshot in writer.view().snapshots()? {
        if writer.view().snapshot_kept(&snapshot.name)?.is_disjoint(documents) {
            continue;
        }
        let mut batch = writer.begin()?;
        batch.purge_from_snapshot(snapshot, documents)?;
        batch.commit(record)?;
        report.snapshots += 1;
        report.commits += 1;
    }
    Ok(())
}

/// Forgets the values of fields that no document has any more.
pub(super) fn values(
    writer: &mut Writer,
    record: &CommitRecord,
    report: &mut PurgeReport,
) -> Result<(), CurateError> {
    let mut from = Some(TermId(0));
    while let Some(term) = from {
        let (unused, next) = writer.view().unused_terms(term, CHUNK)?;
        from = next;
        if !unused.is_empty() {
            let mut batch = writer.begin()?;
            batch.drop_terms(&unused)?;
            batch.commit(record)?;
            report.values += unused.len() as u64;
            report.commits += 1;
        }
    }
    Ok(())
}

/// Forgets what was decided about texts that no document has any more.
pub(super) fn verdicts(
    writer: &mut Writer,
    record: &CommitRecord,
    report: &mut PurgeReport,
) -> Result<(), CurateError> {
    for (suite, _) in writer.view().clone().suites()? {
        let orphaned = writer.view().orphaned_verdicts(*suite)?;
        for chunk in orphaned.chunks(CHUNK) {
            let mut batch = writer.begin()?;
            for of in chunk {
                batch.judge(*suite, *of, None)?;
            }
            batch.commit(record)?;
            report.verdicts += chunk.len() as u64;
            report.commits += 1;
        }
    }
    Ok(())
}

/// Takes away the rejected records that quote a text or a key, and the words of commits that do. `most` runs are
/// searched for at a time.
pub(super) fn quotes(
    writer: &mut Writer,
    begun: CommitSeq,
    record: &mut CommitRecord,
    most: usize,
    report: &mut PurgeReport,
) -> Result<(), CurateError> {
    let mut after = begun;
    loop {
        let (runs, last) = some_runs(writer.view(), after, most)?;
        if runs.is_empty() && last == after {
            return Ok(());
        }
        after = last;
        let search = Search::of(runs.iter());
        words(writer, &search, record, report)?;
        rejects(writer, &search, record, report)?;
    }
}

/// The runs of texts and keys of the next commits after `after`, and the last one of these.
fn some_runs(
    view: &View,
    after: CommitSeq,
    most: usize,
) -> Result<(Vec<HashedRun>, CommitSeq), CurateError> {
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
        let quoted = |run: &HashedRun| matches!(run.of, RunOf::Text | RunOf::Key);
        runs.extend(traces.into_iter().flat_map(|trace| trace.runs).filter(quoted));
    }
    Ok((runs, last))
}

fn rejects(
    writer: &mut Writer,
    search: &Search,
    record: &CommitRecord,
    report: &mut PurgeReport,
) -> Result<(), CurateError> {
    loop {
        let mut quoting = Vec::new();
        for reject in writer.view().keyed_rejects()? {
            let (hash, reject) = reject?;
            let mut has = |bytes: &[u8]| search.any(bytes);
            if spellings::any(&reject.raw, &mut has) || has(reject.reason.as_bytes()) {
                quoting.push(hash);
                if quoting.len() >= CHUNK {
                    break;
                }
            }
        }
        if quoting.is_empty() {
            return Ok(());
        }
        let mut batch = writer.begin()?;
        for hash in &quoting {
            batch.forget_reject(*hash)?;
        }
        batch.commit(record)?;
        report.rejects += quoting.len() as u64;
        report.commits += 1;
    }
}

fn words(
    writer: &mut Writer,
    search: &Search,
    record: &mut CommitRecord,
    report: &mut PurgeReport,
) -> Result<(), CurateError> {
    let redacted = |words: &mut Option<String>| {
        let mut has = |bytes: &[u8]| search.any(bytes);
        let quotes = words.as_ref().is_some_and(|words| spellings::any(words.as_bytes(), &mut has));
        if quotes {
            *words = Some(REDACTED.to_owned());
        }
        quotes
    };
    redacted(&mut record.reason);
    redacted(&mut record.condition);
    let mut anew = Vec::new();
    for (commit, mut written) in writer.view().commits()? {
        if redacted(&mut written.reason) | redacted(&mut written.condition) {
            anew.push((commit, written));
        }
    }
    if anew.is_empty() {
        return Ok(());
    }
    let mut batch = writer.begin()?;
    for (commit, written) in &anew {
        batch.redact(*commit, written)?;
    }
    batch.commit(record)?;
    report.commits += 1;
    Ok(())
}
